// Loads from where an index says, of each width and sign, by loops over threads of all lengths. Against the same by
// hand.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver/cpu/program.h"
#include "gtest/gtest.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

constexpr uint32_t kMostThreads = 72;

struct alignas(16) Params {
  uint32_t* out;
  const uint32_t* table;  // Its middle.
  const std::byte* index;
};

struct Index {
  const char* name;  // PTX's type.
  size_t bytes;
  bool is_signed;
};
constexpr Index kIndices[] = {{"s8", 1, true},  {"u8", 1, false},  {"s16", 2, true}, {"u16", 2, false},
                              {"s32", 4, true}, {"u32", 4, false}, {"s64", 8, true}};

class PtxGather : public testing::TestWithParam<Index> {};
INSTANTIATE_TEST_SUITE_P(Types, PtxGather, testing::ValuesIn(kIndices),
                         [](const auto& info) { return std::string(info.param.name); });

// out[t] = table[index[t]], and the index is only that, or a value as well.
TEST_P(PtxGather, OfEachLength) {
  const Index index = GetParam();
  const std::string load =
      index.bytes == 8
          ? "ld.global.s64 %l2, [%l1];"
          : "ld.global." + std::string(index.name) +
                (index.bytes < 4
                     ? " %h1, [%l1]; cvt.s64." +
                           std::string(index.bytes == 1 ? (index.is_signed ? "s16" : "u16") : index.name) + " %l2, %h1;"
                     : " %r2, [%l1]; cvt.s64." + std::string(index.name) + " %l2, %r2;");
  for (const bool is_value : {false, true}) {
    const auto program = LoadOrDie(
        ".visible .entry k(.param .u64 out, .param .u64 table, .param .u64 index)\n{\n"
        ".reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %l<8>; mov.u32 %r1, %tid.x;\n"
        "ld.param.u64 %l0, [index]; mul.wide.u32 %l1, %r1, " +
        std::to_string(index.bytes) + "; add.s64 %l1, %l0, %l1;\n" + load +
        "\nld.param.u64 %l3, [table]; shl.b64 %l4, %l2, 2; add.s64 %l3, %l3, %l4; ld.global.u32 %r3, [%l3];\n" +
        (is_value ? "cvt.u32.u64 %r4, %l2; add.s32 %r3, %r3, %r4;\n" : "") +
        "ld.param.u64 %l5, [out]; mul.wide.u32 %l6, %r1, 4; add.s64 %l5, %l5, %l6; st.global.u32 [%l5], %r3; "
        "ret;\n}\n");
    ASSERT_NE(program, nullptr);
    std::vector<uint32_t> table(512);
    for (uint32_t i = 0; i < 512; ++i) table[i] = i * 2654435761U;
    std::vector<int64_t> at(kMostThreads);
    std::vector<std::byte> stored(kMostThreads * index.bytes);
    for (uint32_t t = 0; t < kMostThreads; ++t) {
      at[t] = static_cast<int64_t>(t * 37 % 120);
      if (index.is_signed && t % 3 == 0) at[t] = -at[t];
      std::memcpy(stored.data() + t * index.bytes, &at[t], index.bytes);  // The low bytes.
    }
    for (uint32_t threads = 1; threads <= kMostThreads; ++threads) {
      std::vector<uint32_t> out(kMostThreads, 99);
      Params params{out.data(), table.data() + 256, stored.data()};
      CpuLaunch launch;
      launch.params = reinterpret_cast<const std::byte*>(&params);
      launch.block[0] = threads;
      program->kernels()[0].run(&launch, 0, 1, nullptr);
      for (uint32_t t = 0; t < kMostThreads; ++t) {
        const uint32_t value = table[static_cast<size_t>(256 + at[t])] + (is_value ? static_cast<uint32_t>(at[t]) : 0);
        ASSERT_EQ(out[t], t < threads ? value : 99U) << threads << " threads, thread " << t;
      }
    }
  }
}

}  // namespace
}  // namespace slipway::cpu
