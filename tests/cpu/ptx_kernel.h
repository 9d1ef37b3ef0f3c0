// Handwritten PTX, loaded and run without the runtime around it.
#ifndef SLIPWAY_TESTS_CPU_PTX_KERNEL_H_
#define SLIPWAY_TESTS_CPU_PTX_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/cpu/program.h"
#include "gtest/gtest.h"
#include "tests/assembled.h"

namespace slipway::cpu {

inline constexpr char kHeader[] = ".version 8.4\n.target sm_90\n.address_size 64\n";

inline std::unique_ptr<Program> LoadText(const std::string& text, const ProgramOptions& options = {}) {
  auto program = Program::Load(text, options);
  EXPECT_TRUE(program.ok()) << program.status();
  AssembleAfterTests(text);
  return program.ok() ? *std::move(program) : nullptr;
}
inline std::unique_ptr<Program> LoadOrDie(const std::string& body) { return LoadText(kHeader + body); }

// Runs the only kernel: out[i] for every thread of `blocks` blocks of `threads`, given {out, parameter, n}.
template <class T>
std::vector<T> RunKernel(const Program& program, size_t count, uint64_t parameter, uint32_t blocks, uint32_t threads,
                         uint32_t* trapped = nullptr) {
  std::vector<T> out(count, T{});
  struct alignas(16) {
    T* out;
    uint64_t parameter;
    uint32_t n;
  } params{out.data(), parameter, static_cast<uint32_t>(count)};
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.grid[0] = blocks;
  launch.block[0] = threads;
  alignas(128) static std::byte shared[1 << 16];
  program.kernels()[0].run(&launch, 0, blocks, shared);
  if (trapped != nullptr) *trapped = launch.trapped;
  return out;
}

// A kernel over {out, parameter, n} whose body computes %d (of `type`) from %i, %u (parameter).
inline std::string ElementKernel(const std::string& body, const std::string& type = "b32",
                                 const std::string& before = "",
                                 const std::string& guard = "setp.ge.s32 %p0, %i, %n;") {
  const std::string bytes = type == "b64" ? "8" : "4";
  return before + ".visible .entry k(.param .u64 out, .param .u64 parameter, .param .u32 n)\n{\n" +
         ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %l<20>; .reg .f32 %f<9>; .reg .b32 %i, %n; .reg .b64 %u, "
         "%to;\n" +
         ".reg ." + type + " %d;\n" +
         "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %i, %r0, %r1, %r2;\n" +
         "ld.param.u32 %n, [n]; ld.param.u64 %u, [parameter]; ld.param.u64 %to, [out];\n" + guard +
         "\n@%p0 bra END;\n" + "mul.wide.s32 %l0, %i, " + bytes + "; add.s64 %to, %to, %l0;\n" + body + "\nst.global." +
         type + " [%to], %d;\nEND: ret;\n}\n";
}

}  // namespace slipway::cpu

#endif  // SLIPWAY_TESTS_CPU_PTX_KERNEL_H_
