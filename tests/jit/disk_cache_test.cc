// Compiled kernels across processes: what one has compiled the next one reads, and never anything else.
//
// Children are this program again, asked for the test DiskCacheChild.DISABLED_Runs, with what they are to do in the
// environment.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/disk_cache.h"
#include "jit/builder.h"
#include "jit/compile_cache.h"
#include "slipway/array.h"
#include "slipway/compile_history.h"
#include "slipway/device.h"
#include "slipway/disk_cache.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/hooks.h"
#include "slipway/kernel_cache.h"
#include "slipway/stream.h"

extern char** environ;

namespace slipway {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Kernel number k over x = 1, 2, 3; its value is checked.
bool RunKernel(const Device& device, const Stream& stream, int k) {
  const auto x = Array<float, 1>::From(device, {1, 2, 3}).value();
  const auto formula = Elementwise::Parse(absl::StrCat("y = x * x + ", k), {}, absl::StrCat("kernel_", k)).value();
  const absl::StatusOr<AnyArray> y = formula(stream, x);
  if (!y.ok() || !stream.Synchronize().ok()) return false;
  const float first = static_cast<float>(k);
  return y->ToVector<float>().value() == std::vector<float>{1 + first, 4 + first, 9 + first};
}

TEST(DiskCacheChild, DISABLED_Runs) {
  const char* const work = std::getenv("SLIPWAY_DISK_CACHE_TEST_CHILD");
  int kernels = 0;
  ASSERT_TRUE(work != nullptr && absl::SimpleAtoi(work, &kernels));
  std::atomic<int> compiles{0};
  const HookRegistration hook = AddHook(HookPoint::kBeforeCompile, [&](const HookEvent&) { ++compiles; }).value();
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  for (int k = 0; k < kernels; ++k) ASSERT_TRUE(RunKernel(device, stream, k)) << k;
  const DiskCacheCounters counters = GetDiskCacheCounters();
  std::printf("compiled %d, hits %d, stores %d\n", compiles.load(), static_cast<int>(counters.hits),
              static_cast<int>(counters.stores));
}

class JitDiskCacheTest : public testing::Test {
 protected:
  JitDiskCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "slipway-jit-cache-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    folder_ = root_ + "/cache";
  }
  ~JitDiskCacheTest() override {
    SetDiskCacheFolder("off").IgnoreError();
    ClearKernelCache();
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  // Starts a child that runs so many kernels, with its output in a file.
  pid_t Start(int kernels, const std::string& output, const std::vector<std::string>& more = {}) {
    std::string self = fs::read_symlink("/proc/self/exe").string(), filter = "--gtest_filter=DiskCacheChild.*",
                disabled = "--gtest_also_run_disabled_tests";
    char* argv[] = {self.data(), filter.data(), disabled.data(), nullptr};
    std::vector<std::string> variables = more;
    variables.push_back(absl::StrCat("SLIPWAY_DISK_CACHE_TEST_CHILD=", kernels));
    variables.push_back(absl::StrCat("SLIPWAY_CACHE_DIR=", folder_));
    for (char** each = environ; *each != nullptr; ++each) {
      if (!absl::StartsWith(*each, "SLIPWAY_CACHE_DIR=")) variables.push_back(*each);
    }
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, argv[0], &actions, nullptr, argv, environment.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  static std::string Read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // What a child said of itself.
  std::string Run(int kernels, const std::vector<std::string>& more = {}) {
    const std::string output = root_ + "/output";
    EXPECT_EQ(Wait(Start(kernels, output, more)), 0) << Read(output);
    const std::string text = Read(output);
    const size_t at = text.find("compiled ");
    return at == text.npos ? text : text.substr(at, text.find('\n', at) - at);
  }
  std::vector<DiskCacheEntry> List() {
    EXPECT_TRUE(SetDiskCacheFolder(folder_).ok());
    std::vector<DiskCacheEntry> entries = ListDiskCache().value();
    SetDiskCacheFolder("off").IgnoreError();
    return entries;
  }
  // One entry of each kind for each kernel, all sound, and nothing else.
  void ExpectWhole(int kernels) {
    int ptx = 0, host = 0, others = 0;
    for (const DiskCacheEntry& entry : List()) {
      EXPECT_TRUE(entry.status.ok()) << entry.file << ": " << entry.status;
      ++(entry.kind == "ptx" ? ptx : host);
    }
    for (const auto& file : fs::directory_iterator(folder_)) {
      others += file.path().extension() != ".entry";
    }
    EXPECT_EQ(ptx, kernels);
    EXPECT_EQ(host, kernels);
    EXPECT_EQ(others, 0);
  }

  std::string root_, folder_;
};

// FC-24: a key that changes by itself.
TEST_F(JitDiskCacheTest, TheNextProcessCompilesNothing) {
  EXPECT_EQ(Run(5), "compiled 5, hits 0, stores 10");
  ExpectWhole(5);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Run(5, {absl::StrCat("AAA=", i), "LC_ALL=C"}), "compiled 0, hits 10, stores 0");
  }
  EXPECT_EQ(Run(6), "compiled 1, hits 10, stores 2");
  ExpectWhole(6);
}

// "64x20" in the environment is 64 processes and 20 kernels.
std::pair<int, int> Crowd() {
  const char* const given = std::getenv("SLIPWAY_TEST_CROWD");
  const std::vector<std::string> parts = absl::StrSplit(given == nullptr ? "12x4" : given, 'x');
  std::pair<int, int> crowd;
  EXPECT_TRUE(parts.size() == 2 && absl::SimpleAtoi(parts[0], &crowd.first) &&
              absl::SimpleAtoi(parts[1], &crowd.second));
  return crowd;
}

TEST_F(JitDiskCacheTest, ProcessesThatStartAtOnce) {
  const auto [processes, kernels] = Crowd();
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) children.push_back(Start(kernels, absl::StrCat(root_, "/output", i)));
  for (size_t i = 0; i < children.size(); ++i)
    EXPECT_EQ(Wait(children[i]), 0) << Read(absl::StrCat(root_, "/output", i));
  ExpectWhole(kernels);
}

// Every 50 ms a random one of those that are left, until no other is.
TEST_F(JitDiskCacheTest, SomeOfThemKilled) {
  const auto [processes, kernels] = Crowd();
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) children.push_back(Start(kernels, absl::StrCat(root_, "/output", i)));
  std::minstd_rand random(1);
  int killed = 0;
  std::vector<size_t> left(children.size());
  std::iota(left.begin(), left.end(), size_t{0});
  while (left.size() > 1) {
    usleep(50000);
    std::vector<size_t> running;
    const size_t victim = left[random() % left.size()];
    kill(children[victim], SIGKILL);
    for (const size_t i : left) {
      int status = 0;
      const pid_t ended = waitpid(children[i], &status, i == victim ? 0 : WNOHANG);
      if (ended == 0) {
        running.push_back(i);
      } else if (WIFSIGNALED(status) && i == victim) {
        ++killed;
      } else {
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << Read(absl::StrCat(root_, "/output", i));
      }
    }
    left = running;
  }
  for (const size_t i : left) EXPECT_EQ(Wait(children[i]), 0) << Read(absl::StrCat(root_, "/output", i));
  EXPECT_GT(killed, 0);
  EXPECT_EQ(Run(kernels).substr(0, 9), "compiled ");
  ExpectWhole(kernels);
}

// FC-23: damage is noticed, whatever it is, and mended.
TEST_F(JitDiskCacheTest, DamagedEntriesAreMadeAnew) {
  Run(1);
  std::vector<DiskCacheEntry> entries = List();
  ASSERT_EQ(entries.size(), 2u);
  for (const DiskCacheEntry& entry : entries) {
    const std::string good = Read(entry.file);
    for (const std::string& bad : {std::string(), good.substr(0, 1), good.substr(0, good.size() / 2),
                                   good.substr(0, good.size() - 1), std::string(good.size(), '\0')}) {
      std::ofstream(entry.file, std::ios::binary | std::ios::trunc) << bad;
      EXPECT_EQ(Run(1), entry.kind == "ptx" ? "compiled 1, hits 1, stores 1" : "compiled 0, hits 1, stores 1");
      EXPECT_EQ(Read(entry.file).size() > 64, true);
      ExpectWhole(1);
    }
  }
}

// An entry that is sound as a file and nonsense inside.
TEST_F(JitDiskCacheTest, NonsenseIsDropped) {
  ASSERT_TRUE(SetDiskCacheFolder(folder_).ok());
  ClearKernelCache();
  const auto formula = Elementwise::Parse("y = x + 41", {}, "nonsense").value();
  const Signature types = {
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .layout = Layout::kContiguous}};
  const Target target = {.sm = 90, .ptx_isa = 78};
  const std::string ptx = formula.CompileFor(target, types).value().inspection->ptx;
  const DiskCacheEntry entry = ListDiskCache().value().at(0);
  const std::string bytes = Read(entry.file);
  uint64_t key_bytes = 0;
  std::memcpy(&key_bytes, bytes.data() + 48, 8);  // See Header in disk_cache.cc.
  const std::string key = bytes.substr(64, key_bytes);
  for (const std::string& nonsense : {std::string("hello"), std::string(8, '\0'), std::string(100, '\xff'),
                                      bytes.substr(64 + key_bytes) + "x", std::string("-1\n")}) {
    internal::DropFromDisk("ptx", key);
    internal::StoreOnDisk("ptx", key, nonsense);
    ClearKernelCache();
    EXPECT_EQ(formula.CompileFor(target, types).value().inspection->ptx, ptx);
  }
  ClearKernelCache();
  const uint64_t hits = GetDiskCacheCounters().hits;
  const CompiledKernel again = formula.CompileFor(target, types).value();
  EXPECT_EQ(again.inspection->ptx, ptx);
  EXPECT_EQ(GetDiskCacheCounters().hits, hits + 1);
  EXPECT_EQ(again.inspection->times.at(0).first, "read from disk");
}

// FC-21: each target, and each option, has an entry of its own.
TEST_F(JitDiskCacheTest, TargetsAndOptionsAreApart) {
  ASSERT_TRUE(SetDiskCacheFolder(folder_).ok());
  const Signature types = {
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .layout = Layout::kContiguous}};
  std::vector<CompileOptions> all = {{}};
  const auto with = [&](auto change) {
    CompileOptions options;
    change(options);
    all.push_back(options);
  };
  with([](CompileOptions& o) { o.opt_level = 1; });
  with([](CompileOptions& o) { o.contract = false; });
  with([](CompileOptions& o) { o.max_registers = 32; });
  with([](CompileOptions& o) { o.keep_llvm = false; });
  with([](CompileOptions& o) { o.math = MathLibrary::kLibclc; });
  with([](CompileOptions& o) { o.fast_math.division = true; });
  with([](CompileOptions& o) { o.fast_math.sqrt = true; });
  with([](CompileOptions& o) { o.fast_math.functions = true; });
  with([](CompileOptions& o) { o.fast_math.flush_subnormals = true; });
  with([](CompileOptions& o) { o.fast_math.reassociate = true; });
  with([](CompileOptions& o) { o.fast_math.no_nans = true; });
  with([](CompileOptions& o) { o.fast_math.no_infinities = true; });
  const std::vector<Target> targets = ParseTargets("sm_75,sm_80,sm_90,sm_120").value();
  std::vector<std::string> first;
  for (int round = 0; round < 2; ++round) {
    size_t at = 0;
    ClearKernelCache();
    for (const CompileOptions& options : all) {
      const auto formula = Elementwise::Parse("y = sqrt(x) / (x + 3) * x + 1", {}, "apart", options).value();
      for (const Target& target : targets) {
        const CompiledKernel compiled = formula.CompileFor(target, types).value();
        EXPECT_TRUE(absl::StrContains(compiled.inspection->ptx, absl::StrCat(".target sm_", target.sm)));
        EXPECT_EQ(compiled.inspection->llvm.empty(), !options.keep_llvm);
        if (round == 0) first.push_back(compiled.inspection->ptx);
        EXPECT_EQ(compiled.inspection->ptx, first[at++]);
      }
    }
    EXPECT_EQ(ListDiskCache().value().size(), all.size() * targets.size());
  }
}

// FC-21, FC-24: whatever shapes the code changes the key, in memory and on disk; what does not, does not.
TEST_F(JitDiskCacheTest, TenThousandChangedKeys) {
  const auto kernel = [](const std::string& name, float constant, DType dtype, Layout layout, bool twice) {
    ir::Builder b(name);
    const ir::ParamId y =
        b.AddArray({.name = "y", .kind = ParamKind::kArray, .dtype = dtype, .rank = 1, .layout = layout});
    const ir::ValueId zero = b.Literal(int64_t{0});
    const ir::ValueId value = b.Cast(dtype, b.Literal(double{constant}));
    b.Store(y, {zero}, twice ? b.Apply(ir::Op::kAdd, {b.Load(y, {zero}), value}) : value);
    return std::move(b).Finish().value();
  };
  std::set<std::string> memory, disk;
  size_t keys = 0;
  const auto add = [&](const ir::Kernel& k, const Target& target, const CompileOptions& options) {
    const std::vector<std::string> both = CacheKeysOf(k, target, options);
    EXPECT_EQ(CacheKeysOf(k, target, options), both);
    memory.insert(both[0]);
    disk.insert(both[1]);
    ++keys;
  };
  const Target target = {.sm = 90, .ptx_isa = 78};
  const auto plain = [&](const std::string& name = "k", float constant = 1.5f) {
    return kernel(name, constant, DType::kFloat32, Layout::kStrided, false);
  };
  // Constants.
  for (int i = 0; i < 4000; ++i) add(plain("k", 1.0f + static_cast<float>(i) / 4096), target, {});
  // Names, types, layouts, operations.
  for (int i = 0; i < 400; ++i) add(plain(absl::StrCat("k", i)), target, {});
  for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt32, DType::kUInt8}) {
    for (const Layout layout : {Layout::kStrided, Layout::kContiguous}) {
      for (const bool twice : {false, true}) add(kernel("k", 1, dtype, layout, twice), target, {});
    }
  }
  // Targets.
  const ir::Kernel same = plain("targets");
  for (int sm = 70; sm <= 121; ++sm) {
    for (int isa = 63; isa < 93; ++isa) {
      add(same, {.sm = sm, .ptx_isa = isa}, {});
    }
  }
  // Options, all with all.
  const ir::Kernel options_kernel = plain("options");
  for (int bits = 0; bits < 1 << 12; ++bits) {
    CompileOptions options;
    options.fast_math = {.division = (bits & 1) != 0,
                         .sqrt = (bits & 2) != 0,
                         .functions = (bits & 4) != 0,
                         .flush_subnormals = (bits & 8) != 0,
                         .reassociate = (bits & 16) != 0,
                         .no_nans = (bits & 32) != 0,
                         .no_infinities = (bits & 64) != 0};
    options.contract = (bits & 128) != 0;
    options.keep_llvm = (bits & 256) != 0;
    options.opt_level = bits >> 9 & 3;
    options.max_registers = (bits & 2048) != 0 ? 64 : 0;
    add(options_kernel, target, options);
  }
  EXPECT_GT(keys, 10000u);
  EXPECT_EQ(memory.size(), keys);
  EXPECT_EQ(disk.size(), keys);
  // Where a function comes from the math library, that is part of it; versions are of all.
  ir::Builder b("math");
  const ir::ParamId y = b.AddArray({.name = "y", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1});
  const ir::ValueId zero = b.Literal(int64_t{0});
  b.Store(y, {zero}, b.Apply(ir::Op::kSin, {b.Load(y, {zero})}));
  const ir::Kernel math = std::move(b).Finish().value();
  EXPECT_THAT(CacheKeysOf(math, target, {})[1],
              AllOf(HasSubstr("; math "), HasSubstr("; LLVM "), HasSubstr("; sources ")));
  EXPECT_THAT(CacheKeysOf(same, target, {})[1], Not(HasSubstr("; math ")));
}

// What cannot be compiled is not tried again until the cache is cleared.
TEST_F(JitDiskCacheTest, FailuresAreRemembered) {
  ClearKernelCache();
  ClearCompileHistory();
  std::atomic<int> compiles{0};
  const HookRegistration hook = AddHook(HookPoint::kBeforeCompile, [&](const HookEvent&) { ++compiles; }).value();
  const auto compile = [] {
    return MakeKernel("impossible", [](ArrayVar<float, 1> y) { y[0] = 1.0f; })
        .CompiledFor(Target{.sm = 7, .ptx_isa = 63})
        .status();
  };
  const absl::Status first = compile();
  EXPECT_EQ(first.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(compile(), first);
  EXPECT_EQ(compiles, 1);
  ASSERT_EQ(CompileHistory("impossible").size(), 1u);
  EXPECT_EQ(CompileHistory("impossible")[0].status, first);
  ClearKernelCache();
  EXPECT_EQ(compile(), first);
  EXPECT_EQ(compiles, 2);
  EXPECT_EQ(CompileHistory("impossible")[1].why, "it failed before");
}

TEST_F(JitDiskCacheTest, TheHistorySaysWhereAndWhy) {
  ASSERT_TRUE(SetDiskCacheFolder(folder_).ok());
  ClearKernelCache();
  ClearCompileHistory();
  const auto formula = Elementwise::Parse("y = x + 43", {}, "historic").value();
  const auto compile = [&](DType dtype, int sm) {
    const Signature types = {
        {.name = "x", .kind = ParamKind::kArray, .dtype = dtype, .rank = 1, .layout = Layout::kContiguous}};
    ASSERT_TRUE(formula.CompileFor(Target{.sm = sm, .ptx_isa = 78}, types).ok());
  };
  compile(DType::kFloat32, 90);
  compile(DType::kFloat32, 90);
  compile(DType::kFloat32, 80);
  compile(DType::kFloat64, 80);
  ClearKernelCache();
  compile(DType::kFloat32, 90);
  const std::vector<CompileRecord> history = CompileHistory("historic");
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(history[0].kind, "ptx");
  EXPECT_EQ(history[0].why, "the first of its name");
  EXPECT_EQ(history[0].found_again, 1u);
  EXPECT_EQ(history[1].why, "target was sm_90:7.8 and is sm_80:7.8");
  EXPECT_THAT(history[2].why, testing::MatchesRegex("signature was .*float32.* and is .*float64.*"));
  EXPECT_FALSE(history[2].from_disk);
  EXPECT_TRUE(history[3].from_disk);
  EXPECT_EQ(history[3].why, "it was there and is not kept in memory any more");
  for (const CompileRecord& record : history) EXPECT_GT(record.microseconds, 0);
}

// Ahead of the first call, which then compiles and loads nothing.
TEST_F(JitDiskCacheTest, Precompile) {
  ClearKernelCache();
  std::atomic<int> compiles{0}, loads{0};
  const HookRegistration hook =
      AddHook(HookPoint::kBeforeCompile | HookPoint::kBeforeLoad, [&](const HookEvent& event) {
        ++(event.point == HookPoint::kBeforeCompile ? compiles : loads);
      }).value();
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const auto formula = Elementwise::Parse("y = x + 44", {}, "ahead").value();
  const auto array = [](DType dtype) {
    return ParamSpec{.name = "x",
                     .kind = ParamKind::kArray,
                     .dtype = dtype,
                     .rank = 1,
                     .layout = Layout::kContiguous,
                     .index = IndexWidth::kIndex32};
  };
  ASSERT_TRUE(formula.Precompile(device, {{array(DType::kFloat32)}, {array(DType::kFloat64)}}).ok());
  // For arrays that are aligned, and for others.
  EXPECT_EQ(compiles, 4);
  EXPECT_EQ(loads, 4);
  const auto x = Array<float, 1>::From(device, {1, 2, 3, 4, 5, 6}).value();
  EXPECT_THAT(formula(stream, x).value().ToVector<float>().value(), ElementsAre(45, 46, 47, 48, 49, 50));
  const ArrayView<const float, 1> unaligned(device, x.data() + 1, {5});
  EXPECT_THAT(formula(stream, unaligned).value().ToVector<float>().value(), ElementsAre(46, 47, 48, 49, 50));
  EXPECT_THAT(formula(stream, Array<double, 1>::From(device, {2}).value()).value().ToVector<double>().value(),
              ElementsAre(46));
  EXPECT_EQ(compiles, 4);
  EXPECT_EQ(loads, 4);
  EXPECT_THAT(formula.Precompile(device, {{array(DType::kFloat32)}, {}}).message(), HasSubstr("x"));

  const auto kernel = MakeKernel("both_forms", [](ArrayVar<float, 1> y) { y[0] = 1.0f; });
  ASSERT_TRUE(kernel.Precompile(device).ok());
  EXPECT_EQ(kernel.compiles(), 2u);
  auto y = Array<float, 1>::From(device, {0}).value();
  ASSERT_TRUE(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y).ok());
  EXPECT_EQ(kernel.compiles(), 2u);
}

// FC-22: one name, other code; alternating, both alive, in memory and from disk.
TEST_F(JitDiskCacheTest, OneNameOtherCode) {
  for (const bool disk : {false, true}) {
    ASSERT_TRUE(SetDiskCacheFolder(disk ? folder_ : "off").ok());
    const Device device = Device::Open("cpu").value();
    const Stream stream = device.CreateStream().value();
    const auto x = Array<float, 1>::From(device, {0, 1, 2}).value();
    for (int round = 0; round < 2; ++round) {
      ClearKernelCache();
      const auto twice = Elementwise::Parse("y = x * 2", {}, "f").value();
      const auto more = Elementwise::Parse("y = x + 100", {}, "f").value();
      for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(twice(stream, x).value().ToVector<float>().value(), ElementsAre(0, 2, 4));
        EXPECT_THAT(more(stream, x).value().ToVector<float>().value(), ElementsAre(100, 101, 102));
      }
    }
  }
}

// Numbers that a kernel captured are not a part of what is found.
TEST_F(JitDiskCacheTest, CapturedNumbers) {
  ASSERT_TRUE(SetDiskCacheFolder(folder_).ok());
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  auto y = Array<float, 1>::From(device, {1}).value();
  for (const float k : {2.0f, 3.0f, 5.0f}) {
    ClearKernelCache();
    const auto kernel = MakeKernel("captured_disk", [k](ArrayVar<float, 1> out) { out[0] = k; });
    ASSERT_TRUE(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y).ok());
    ASSERT_TRUE(stream.Synchronize().ok());
    EXPECT_THAT(y.ToVector().value(), ElementsAre(k));
  }
  EXPECT_EQ(ListDiskCache().value().size(), 2u);
}

// Messages of checks are, and come back with the code.
TEST_F(JitDiskCacheTest, MessagesOfChecks) {
  ASSERT_TRUE(SetDiskCacheFolder(folder_).ok());
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  auto y = Array<float, 1>::From(device, {1}).value();
  ClearCompileHistory();
  for (const bool from_disk : {false, true}) {
    ClearKernelCache();
    for (const std::string message : {"one", "two"}) {
      const auto kernel = MakeKernel("checked_disk", [&](ArrayVar<float, 1> out) {
        Check(out[0] > 1, message + ": %g", out[0]);
        out[0] = 2;
      });
      ASSERT_TRUE(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y).ok());
      EXPECT_EQ(stream.Synchronize(),
                absl::InvalidArgumentError("checked_disk: " + message + ": 1 (element 0, block 0, thread 0)"));
    }
    const std::vector<CompileRecord> history = CompileHistory("checked_disk");
    EXPECT_EQ(history.back().from_disk, from_disk);
  }
}

}  // namespace
}  // namespace slipway
