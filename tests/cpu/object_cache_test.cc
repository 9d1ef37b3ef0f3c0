// Translated code that is kept: what is kept, for how long, and what is linked from it.
#include "driver/cpu/object_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "driver/cpu/compile.h"
#include "driver/cpu/compiled_module.h"
#include "driver/cpu/linked_code.h"
#include "driver/cpu/settings.h"
#include "gmock/gmock.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ObjectCache::Bytes BytesOf(size_t size, char fill) { return std::make_shared<const std::string>(size, fill); }

TEST(ObjectCache, DropsWhatWasNotUsedForLongest) {
  ObjectCache cache(100);
  for (const char key : {'a', 'b', 'c'}) cache.Store(std::string(1, key), BytesOf(29, key));  // 30 with the key.
  EXPECT_EQ(cache.counts().bytes, 90U);
  EXPECT_EQ(*cache.Lookup("a"), std::string(29, 'a'));
  cache.Store("d", BytesOf(29, 'd'));
  EXPECT_EQ(cache.Lookup("b"), nullptr);
  EXPECT_NE(cache.Lookup("a"), nullptr);
  EXPECT_NE(cache.Lookup("c"), nullptr);
  EXPECT_EQ(cache.counts().entries, 3U);
  EXPECT_EQ(cache.counts().dropped, 1U);
  cache.Store("e", BytesOf(69, 'e'));  // Room for two of the three goes.
  EXPECT_EQ(cache.counts().bytes, 100U);
  EXPECT_NE(cache.Lookup("c"), nullptr);
  EXPECT_EQ(cache.Lookup("d"), nullptr);
  cache.Store("c", BytesOf(9, 'C'));  // In the place of the old one.
  EXPECT_EQ(*cache.Lookup("c"), std::string(9, 'C'));
  EXPECT_EQ(cache.counts().bytes, 80U);
  cache.Clear();
  EXPECT_EQ(cache.counts().bytes, 0U);
  EXPECT_EQ(cache.counts().entries, 0U);
  EXPECT_EQ(cache.Lookup("c"), nullptr);
}

TEST(ObjectCache, WhatDoesNotFitIsNotKeptAndDropsNothing) {
  ObjectCache cache(50);
  cache.Store("a", BytesOf(20, 'a'));
  cache.Store("b", BytesOf(50, 'b'));
  EXPECT_EQ(cache.Lookup("b"), nullptr);
  EXPECT_NE(cache.Lookup("a"), nullptr);
  cache.Store("a", BytesOf(60, 'A'));  // The old bytes are none of this key's any more.
  EXPECT_EQ(cache.Lookup("a"), nullptr);

  ObjectCache none(0);
  none.Store("a", BytesOf(1, 'a'));
  EXPECT_EQ(none.Lookup("a"), nullptr);
  EXPECT_EQ(none.counts().entries, 0U);
}

TEST(ObjectCache, BytesInUseOutliveTheirEntry) {
  ObjectCache cache(50);
  cache.Store("a", BytesOf(40, 'a'));
  const ObjectCache::Bytes held = cache.Lookup("a");
  cache.Store("b", BytesOf(40, 'b'));
  EXPECT_EQ(cache.Lookup("a"), nullptr);
  EXPECT_EQ(*held, std::string(40, 'a'));
}

TEST(ObjectCache, ThreadsThatAskAtTheSameTimeGetOneCompilation) {
  constexpr int kThreads = 8;
  ObjectCache cache(1000);
  std::atomic<int> compiled{0};
  std::atomic<bool> fails{false};
  const auto ask_all = [&] {
    std::atomic<int> asking{0};
    std::vector<absl::StatusOr<ObjectCache::Bytes>> answers(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        ++asking;
        answers[static_cast<size_t>(i)] = cache.GetOrCompile("key", [&]() -> absl::StatusOr<std::string> {
          while (asking < kThreads) std::this_thread::yield();
          ++compiled;
          if (fails) return absl::InvalidArgumentError("line 3: no");
          return std::string("code");
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  };
  for (const auto& answer : ask_all()) EXPECT_EQ(**answer, "code");
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(cache.counts().misses, 1U);
  EXPECT_EQ(cache.counts().hits, kThreads - 1U);

  // A failure is the answer of those that waited for it, and of nobody after them. How many did is the scheduler's.
  cache.Clear();
  fails = true;
  for (const auto& answer : ask_all()) EXPECT_EQ(answer.status(), absl::InvalidArgumentError("line 3: no"));
  EXPECT_EQ(cache.counts().entries, 0U);
  fails = false;
  EXPECT_EQ(**cache.GetOrCompile("key", [] { return std::string("again"); }), "again");
}

TEST(ObjectCache, SettingsSayWhatIsWanted) {
  EXPECT_EXIT(
      {
        setenv("SLIPWAY_CPU_CACHE", "lots", 1);
        _exit(GetSettings().cache_bytes == size_t{64} << 20 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "SLIPWAY_CPU_CACHE='lots' is ignored: want a number of bytes, such as 64M, or 0");
  for (const auto& [text, bytes] : {std::pair<const char*, size_t>("0", 0), {"2M", 2 << 20}}) {
    EXPECT_EXIT(
        {
          setenv("SLIPWAY_CPU_CACHE", text, 1);
          _exit(GetSettings().cache_bytes == bytes ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "")
        << text;
  }
}

// Variables of each kind, initial values that are addresses of variables and of functions, one of them by a byte; a
// kernel that counts its runs, and reads all of that.
constexpr char kWithVariables[] = R"(
    .visible .global .align 4 .u32 runs = 40;
    .visible .const .align 4 .u32 steps[3] = {1, 2, 3};
    .global .align 8 .u64 where[2] = {runs, steps + 8};
    .global .align 1 .u8 low = 0xff(runs);
    .visible .global .align 256 .b8 zeros[1000];
    .func (.param .b32 r) twice(.param .b32 x)
    { .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, %r; st.param.b32 [r], %r; ret; }
    .global .align 8 .u64 code = twice;
    .visible .entry k(.param .u64 out)
    {
      .reg .b32 %r<9>; .reg .b64 %l<9>;
      ld.param.u64 %l0, [out];
      atom.global.add.u32 %r0, [runs], 1; st.global.u32 [%l0], %r0;
      ld.global.u64 %l1, [where]; ld.u32 %r1, [%l1]; st.global.u32 [%l0+4], %r1;
      ld.global.u64 %l2, [where+8]; ld.u32 %r2, [%l2]; st.global.u32 [%l0+8], %r2;
      ld.global.u8 %r3, [low]; mov.u64 %l3, runs; cvt.u32.u64 %r4, %l3; and.b32 %r4, %r4, 255;
      sub.u32 %r3, %r3, %r4; st.global.u32 [%l0+12], %r3;
      ld.global.u64 %l4, [code];
      {
        .param .b32 x; .param .b32 y; st.param.b32 [x], %r0;
        P: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (y), %l4, (x), P;
        ld.param.b32 %r5, [y];
      }
      st.global.u32 [%l0+16], %r5;
      ld.global.u32 %r6, [zeros+996]; st.global.u32 [%l0+20], %r6; st.global.u32 [zeros+996], 7;
      ret;
    })";

std::vector<uint32_t> RunOnce(const Program& program) {
  std::vector<uint32_t> out(6, 99);
  alignas(16) uint32_t* params[2] = {out.data()};
  CpuLaunch launch{.params = reinterpret_cast<const std::byte*>(&params)};
  program.kernels()[0].run(&launch, 0, 1, nullptr);
  return out;
}

TEST(ObjectCache, ProgramsOfOneTextHaveVariablesOfTheirOwn) {
  ObjectCache cache(1 << 20);
  const ProgramOptions options{.cache = &cache};
  const std::string text = std::string(kHeader) + kWithVariables;
  const auto first = LoadText(text, options);
  EXPECT_THAT(RunOnce(*first), ElementsAre(40, 41, 3, 0, 80, 0));
  EXPECT_THAT(RunOnce(*first), ElementsAre(41, 42, 3, 0, 82, 7));
  auto second = LoadText(text, options);
  EXPECT_EQ(cache.counts().misses, 1U);
  EXPECT_EQ(cache.counts().hits, 1U);
  EXPECT_THAT(RunOnce(*second), ElementsAre(40, 41, 3, 0, 80, 0));
  EXPECT_THAT(RunOnce(*first), ElementsAre(42, 43, 3, 0, 84, 7));
  ASSERT_EQ(second->globals().size(), first->globals().size());
  for (size_t i = 0; i < first->globals().size(); ++i) {
    const CpuGlobal& one = first->globals()[i];
    const CpuGlobal& other = second->globals()[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.size, other.size);
    EXPECT_EQ(one.constant, other.constant);
    EXPECT_NE(one.address, other.address);
  }
  EXPECT_TRUE(second->FindGlobal("steps")->constant);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second->FindGlobal("zeros")->address) % 256, 0U);
  second.reset();
  EXPECT_THAT(RunOnce(*first), ElementsAre(43, 44, 3, 0, 86, 7));
}

TEST(ObjectCache, KernelsThatWaitAndTheirDescriptionsComeFromIt) {
  ObjectCache cache(1 << 20);
  const std::string text = std::string(kHeader) + R"(
    .visible .entry k(.param .u64 out, .param .u16 unused) .reqntid 64
    {
      .reg .b32 %r<9>; .reg .b64 %l<9>; .shared .align 4 .b32 s[64];
      ld.param.u64 %l0, [out]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;
      st.shared.u32 [%r3], %r0; bar.sync 0; sub.u32 %r4, 252, %r1; add.u32 %r4, %r2, %r4; ld.shared.u32 %r5, [%r4];
      mul.wide.u32 %l1, %r0, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], %r5; ret;
    })";
  for (int turn = 0; turn < 2; ++turn) {
    const auto program = LoadText(text, {.cache = &cache});
    const CpuKernel& kernel = *program->FindKernel("k");
    EXPECT_EQ(kernel.params_bytes, 10U);
    EXPECT_EQ(kernel.shared_bytes, 256U);
    EXPECT_EQ(kernel.max_threads, 64U);
    EXPECT_EQ(kernel.required_block[0], 64U);
    EXPECT_TRUE(program->ContainsCode(reinterpret_cast<const void*>(kernel.run)));
    std::vector<uint32_t> out(64);
    alignas(16) uint32_t* params[2] = {out.data()};
    CpuLaunch launch{.params = reinterpret_cast<const std::byte*>(&params), .block = {64, 1, 1}};
    alignas(128) std::byte shared[256];
    kernel.run(&launch, 0, 1, shared);
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], 63 - i);
  }
  EXPECT_EQ(cache.counts().misses, 1U);
}

TEST(ObjectCache, EverythingThatMattersIsPartOfTheKey) {
  ObjectCache cache(1 << 20);
  const std::string kernel = ".visible .entry k() { ret; }";
  const std::string text = kHeader + kernel;
  ASSERT_NE(LoadText(text, {.cache = &cache}), nullptr);
  EXPECT_TRUE(Program::Load(text + " ", {.cache = &cache}).ok());
  EXPECT_EQ(cache.counts().misses, 2U);
  // A device that is older, or has an older driver, does not get what a newer one may load.
  EXPECT_EQ(Program::Load(text, {.sm = 80, .cache = &cache}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Program::Load(text, {.max_isa = 80, .cache = &cache}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(cache.counts().entries, 2U);
  // Checked code is other code, and where call stacks are noted a launch copies more.
  const auto buffer_bytes = [&](bool checked, bool stacks) {
    return LoadText(text, {.check_memory = checked, .note_call_stacks = stacks, .cache = &cache})
        ->kernels()[0]
        .buffer_bytes;
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(buffer_bytes(false, false), 16U);
    EXPECT_EQ(buffer_bytes(true, false), 16U);
    EXPECT_GT(buffer_bytes(true, true), 16U);
    EXPECT_EQ(cache.counts().entries, 4U);
  }
}

TEST(ObjectCache, WhatDoesNotCompileSaysSoEachTime) {
  ObjectCache cache(1 << 20);
  const std::string text = std::string(kHeader) + ".entry k() { bogus.u32 %r; }";
  const absl::Status first = Program::Load(text, {.cache = &cache}).status();
  EXPECT_EQ(first, Program::Load(text).status());
  EXPECT_EQ(first, Program::Load(text, {.cache = &cache}).status());
  EXPECT_EQ(cache.counts().misses, 2U);
  EXPECT_EQ(cache.counts().entries, 0U);
}

TEST(ObjectCache, NoMemoryForVariablesIsNoReasonToCompileAgain) {
  ObjectCache cache(1 << 20);
  const std::string text = std::string(kHeader) + kWithVariables;
  ProgramOptions options{.cache = &cache};
  options.allocate = [](size_t, size_t) { return absl::ResourceExhaustedError("none left"); };
  EXPECT_EQ(Program::Load(text, options).status(), absl::ResourceExhaustedError("none left"));
  EXPECT_EQ(Program::Load(text, options).status(), absl::ResourceExhaustedError("none left"));
  EXPECT_EQ(cache.counts().misses, 1U);
}

// --- The form in which it is kept.

CompiledModule Compiled(const std::string& body) {
  absl::StatusOr<CompiledModule> compiled = Compile(kHeader + body, {});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return *std::move(compiled);
}

TEST(CompiledModule, IsTheSameForTheSameText) {  // FC-24: nothing in it may change by itself.
  EXPECT_EQ(Encode(Compiled(kWithVariables)), Encode(Compiled(kWithVariables)));
}

// Checked code, too: what it tells of an access (places, names of variables and kernels) lies in the object.
TEST(CompiledModule, CheckedCodeNamesNoAddressAndLeavesGaps) {
  const auto compiled = [] { return Compile(kHeader + std::string(kWithVariables), {.check_memory = true}); };
  const absl::StatusOr<CompiledModule> checked = compiled();
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(Encode(*checked), Encode(*compiled()));
  EXPECT_NE(checked->object, Compiled(kWithVariables).object);
  for (size_t i = 0; i < checked->variables.size(); ++i) {
    const CompiledVariable& variable = checked->variables[i];
    const uint64_t next =
        i + 1 < checked->variables.size() ? checked->variables[i + 1].offset : checked->variable_bytes;
    EXPECT_GE(next, variable.offset + variable.bytes + 256) << variable.name;
  }
}

TEST(CompiledModule, ComesBackAsItWas) {
  const std::string bytes = Encode(Compiled(kWithVariables));
  const absl::StatusOr<CompiledModule> decoded = Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(Encode(*decoded), bytes);
  EXPECT_EQ(decoded->isa, 84);
  EXPECT_EQ(decoded->sm, 90);
  EXPECT_EQ(decoded->variables.size(), 6U);
  EXPECT_EQ(decoded->addresses.size(), 4U);
}

TEST(CompiledModule, APartOfItIsRefused) {  // FC-23
  const std::string bytes = Encode(Compiled(kWithVariables));
  for (size_t size = 0; size < bytes.size(); size += size < 1500 ? 1 : 97) {
    ASSERT_EQ(Decode(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  EXPECT_EQ(Decode(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Decode("x" + bytes).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Decode("").status().message()),
              HasSubstr("no compiled module of this version of the CPU device, or a part of one"));
}

TEST(CompiledModule, WhatLiesOutsideIsRefused) {
  const CompiledModule sound = Compiled(kWithVariables);
  const auto refused = [&](auto change) {
    CompiledModule module = sound;
    change(module);
    return Decode(Encode(module)).status().code() == absl::StatusCode::kDataLoss;
  };
  EXPECT_FALSE(refused([](CompiledModule&) {}));
  EXPECT_TRUE(refused([](CompiledModule& m) { m.variables[0].offset = m.variable_bytes - 3; }));
  EXPECT_TRUE(refused([](CompiledModule& m) { m.variables[0].bytes = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](CompiledModule& m) { m.initial[0].offset = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](CompiledModule& m) { m.addresses[0].offset = m.variable_bytes - 7; }));
  EXPECT_TRUE(refused([](CompiledModule& m) { m.addresses[0].bytes = 9; }));
  EXPECT_TRUE(refused([](CompiledModule& m) { m.addresses[0].shift = 64; }));
}

TEST(LinkedCode, WhatIsNoObjectOrLacksSomethingSaysSo) {
  EXPECT_THAT(std::string(LinkedCode::Link("no object", nullptr).status().message()),
              HasSubstr("translated code cannot be linked (this is a bug in Slipway; please report it): "));
  const CompiledModule module = Compiled(kWithVariables);
  EXPECT_THAT(std::string(LinkedCode::Link(module.object, nullptr).status().message()),
              HasSubstr("nothing is called 'slipway_cpu_variables'"));
  alignas(256) static std::byte memory[4096];
  const auto code = LinkedCode::Link(module.object, memory);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_TRUE((*code)->Find(KernelSymbol(0)).ok());
  EXPECT_THAT(std::string((*code)->Find("missing").status().message()), HasSubstr("nothing is called 'missing'"));
}

}  // namespace
}  // namespace slipway::cpu
