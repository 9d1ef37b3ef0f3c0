// One instruction, or a few, run on given operands.
#ifndef SLIPWAY_TESTS_CPU_PTX_INSTRUCTION_H_
#define SLIPWAY_TESTS_CPU_PTX_INSTRUCTION_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {

inline constexpr char kNewest[] = ".version 9.0\n.target sm_120\n.address_size 64\n";
inline constexpr char kNewestAlone[] =
    ".version 9.0\n.target sm_120a\n.address_size 64\n";  // Not assembled: no sm_120.

// A kernel in which registers i of %l, %r, %h, %f and %d hold what fits of the i-th of eight inputs; the registers of
// `outputs` are stored, 64 bits each.
inline std::string InstructionKernel(const std::string& header, const std::string& body,
                                     const std::vector<std::string>& outputs) {
  std::string text = header +
                     ".visible .const .align 4 .u32 constants[4] = {1, 2, 3, 4};\n"
                     ".visible .global .align 16 .b8 cells[64];\n"
                     ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                     ".shared .align 16 .b8 block[64]; .local .align 16 .b8 mine[64];\n"
                     ".reg .pred %p<9>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %l<16>; .reg .f32 %f<16>;\n"
                     ".reg .f64 %d<16>; .reg .b128 %q<4>; .reg .b64 %in, %out, %t; .reg .b32 %u; .reg .b16 %v, %w;\n"
                     "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    text += "ld.global.b64 %l" + n + ", [%in+" + std::to_string(8 * i) + "]; mov.b64 {%r" + n + ", %u}, %l" + n +
            "; mov.b32 {%h" + n + ", %v}, %r" + n + "; mov.b32 %f" + n + ", %r" + n + "; mov.b64 %d" + n + ", %l" + n +
            ";\n";
  }
  text += body + "\n";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = outputs[i];
    const std::string at = "[%out+" + std::to_string(8 * i) + "]";
    switch (name[1]) {
      case 'h':
        text += "cvt.u64.u16 %t, " + name + "; st.global.b64 " + at + ", %t;\n";
        break;
      case 'r':
      case 'f':
        text += "mov.b32 %u, " + name + "; cvt.u64.u32 %t, %u; st.global.b64 " + at + ", %t;\n";
        break;
      case 'p':
        text += "selp.b64 %t, 1, 0, " + name + "; st.global.b64 " + at + ", %t;\n";
        break;
      default:
        text += "st.global.b64 " + at + ", " + name + ";\n";
    }
  }
  return text + "ret;\n}\n";
}

class Instruction {
 public:
  Instruction(const std::string& header, const std::string& body, std::vector<std::string> outputs)
      : count_(outputs.size()) {
    const std::string text = InstructionKernel(header, body, outputs);
    auto program = Program::Load(text, {.sm = 120});
    EXPECT_TRUE(program.ok()) << program.status() << "\n" << body;
    if (program.ok()) program_ = *std::move(program);
    if (header != kNewestAlone) AssembleAfterTests(text);
  }

  std::vector<uint64_t> operator()(std::vector<uint64_t> inputs = {}) const {
    inputs.resize(8);
    std::vector<uint64_t> out(count_);
    alignas(16) void* params[2] = {inputs.data(), out.data()};
    alignas(128) std::byte shared[1024] = {};
    CpuLaunch launch;
    launch.params = reinterpret_cast<const std::byte*>(params);
    launch.dynamic_shared_bytes = 100;
    launch.grid[1] = 3;
    if (program_ != nullptr) program_->kernels()[0].run(&launch, 0, 1, shared);
    return out;
  }

 private:
  size_t count_;
  std::unique_ptr<Program> program_;
};

inline uint64_t Bits(float value) { return std::bit_cast<uint32_t>(value); }
inline float Float(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

}  // namespace slipway::cpu

#endif  // SLIPWAY_TESTS_CPU_PTX_INSTRUCTION_H_
