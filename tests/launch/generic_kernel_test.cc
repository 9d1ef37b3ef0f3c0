// Kernels that are specialised by their arguments: what the maker is told, when one is made again, and what is refused.
// The bytes that they launch with are packing_test.cc's; many threads at once, threads_test.cc's.
#include "slipway/generic_kernel.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using enum absl::StatusCode;

class GenericKernelTest : public testing::Test {
 protected:
  using View = ArrayView<float, 1>;

  // A kernel whose maker makes what it is asked for, and notes that. It writes its first argument at most.
  GenericKernel Noting(const std::string& name = "scale") {
    return GenericKernel(name, [this, name](const Device& device, Signature signature) {
      asked_.push_back(signature);
      for (size_t i = 1; i < signature.size(); ++i) signature[i].read_only = signature[i].kind == ParamKind::kArray;
      return Kernel::Load(device, EmptyKernel(signature, name));
    });
  }
  View Vector(int64_t size, int64_t stride = 1) { return View(device_, data_, {size}, {stride}); }

  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  float* const data_ = reinterpret_cast<float*>(0x10000);
  const LaunchConfig config_{.grid = {4}, .block = {32}};
  std::vector<Signature> asked_;
};

TEST_F(GenericKernelTest, MakersAreToldWhatTheArgumentsAre) {
  const GenericKernel kernel = Noting();
  const ArrayView<const double, 2> columns(device_, reinterpret_cast<const double*>(0x2000), {3, 4}, {1, 3});
  const ArrayView<int8_t, 0> point(device_, reinterpret_cast<int8_t*>(0x3001), {});
  ASSERT_TRUE(kernel(stream_, config_, columns, point, 2.0f, data_, Blob<24, 8>{}, CUdeviceptr{5}).ok());
  ASSERT_THAT(asked_, SizeIs(1));
  EXPECT_EQ(
      Describe(asked_[0]),
      "(const float64[:,:] index32, int8[] contiguous index32, float32, float32*, struct of 24 bytes aligned to 8, "
      "uint64)");
  EXPECT_EQ(kernel.name(), "scale");
  ASSERT_THAT(kernel.variants(), SizeIs(1));
  EXPECT_EQ(Describe(kernel.variants()[0].signature()[1]), "p1: const int8[] contiguous index32");
}

TEST_F(GenericKernelTest, MadeOnceForEachKindOfArguments) {
  const GenericKernel kernel = Noting();
  const auto made = [&](const auto&... args) {
    asked_.clear();
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = kernel(stream_, config_, args...);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_TRUE(kernel.Launch(stream_, config_, {args...}).ok());
    }
    EXPECT_THAT(TakeRecordedLaunches(), SizeIs(4));
    return asked_.size();
  };
  EXPECT_EQ(made(Vector(10), Vector(10), 2.0f), 1u);
  // Neither values nor addresses nor shapes nor constness are kinds of arguments.
  EXPECT_EQ(made(Vector(77), Vector(5), -1.0f), 0u);
  EXPECT_EQ(made(View(device_, data_ + 4, {10}), ArrayView<const float, 1>(Vector(10)), 2.0f), 0u);
  // But whether all arrays are at multiples of 16 bytes is one.
  EXPECT_EQ(made(View(device_, data_ + 3, {10}), Vector(10), 2.0f), 1u);
  EXPECT_EQ(Describe(asked_.back()), "(float32[:] contiguous index32, float32[:] contiguous index32, float32)");
  EXPECT_EQ(made(Vector(10), View(device_, data_ + 1, {10}), 2.0f), 0u);
  EXPECT_EQ(made(View(device_, data_ + 3, {10}), View(device_, data_ + 1, {10}), 2.0f), 0u);
}

TEST_F(GenericKernelTest, WhatMakesAnotherKind) {
  const GenericKernel kernel = Noting();
  const ArrayView<double, 1> doubles(device_, reinterpret_cast<double*>(0x2000), {10});
  const ArrayView<float, 2> matrix(device_, data_, {2, 5});
  const absl::Status statuses[] = {
      kernel(stream_, config_, Vector(10), 2.0f),
      kernel(stream_, config_, Vector(10), 2.0),
      kernel(stream_, config_, doubles, 2.0f),
      kernel(stream_, config_, matrix, 2.0f),
      kernel(stream_, config_, Vector(10, 2), 2.0f),
      kernel(stream_, config_, Vector(10)),
      kernel(stream_, config_, data_, 2.0f),
      kernel(stream_, config_, Vector(int64_t{1} << 32), 2.0f),
      kernel(stream_, config_),
  };
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(asked_, SizeIs(std::size(statuses)));
  EXPECT_EQ(Describe(asked_[4]), "(float32[:] index32, float32)");
  EXPECT_EQ(Describe(asked_[6]), "(float32*, float32)");
  EXPECT_EQ(Describe(asked_[7]), "(float32[:] contiguous vector, float32)");
  EXPECT_EQ(Describe(asked_[8]), "()");
  EXPECT_THAT(kernel.variants(), SizeIs(std::size(statuses)));
}

// Each call gets the kernel for its own arguments, whatever the one before it was.
TEST_F(GenericKernelTest, CallsInTurn) {
  const GenericKernel kernel = Noting();
  const View dense = Vector(10), gaps = Vector(10, 2), large = Vector(int64_t{1} << 32);
  for (int round = 0; round < 3; ++round) {
    for (const View& view : {dense, gaps, large}) {
      for (const View& other : {dense, gaps, large}) {
        ASSERT_TRUE(kernel(stream_, config_, view, other).ok());
        const auto launches = TakeRecordedLaunches();
        ASSERT_THAT(launches, SizeIs(1));
        const Kernel own = kernel.For(device_, {view, other}).value();
        EXPECT_EQ(launches[0].function, own.plan().function);
        EXPECT_THAT(launches[0].buffer, SizeIs(own.buffer_size()));
        const bool narrow = view.shape(0) == 10 && other.shape(0) == 10;
        for (size_t i = 0; i < 2; ++i) {
          const ParamSpec& param = own.signature()[i];
          EXPECT_EQ(param.index, narrow ? IndexWidth::kIndex32 : IndexWidth::kIndex64);
          EXPECT_EQ(param.layout == Layout::kContiguous, (i == 0 ? view : other).is_contiguous());
        }
      }
    }
  }
  // With 32-bit indices: 2 x 2, each array contiguous or not. With 64-bit ones at least one is the large one: 3.
  EXPECT_THAT(asked_, SizeIs(7));
  EXPECT_EQ(kernel.counters().compiles, 7u);
}

// So many kinds of arguments that what launches look at grows several times: each call gets its own kernel, with the
// kinds in one order and in the other, as arguments whose types the compiler knows and as ones that it does not, and
// again after all is forgotten.
TEST_F(GenericKernelTest, ManyTypesInTurn) {
  const GenericKernel kernel = Noting();
  testing::internal::CaptureStderr();  // Of so many specialisations a warning is given.
  const auto launches_its_own = [&](const auto&... args) {
    ASSERT_TRUE(kernel(stream_, config_, args...).ok());
    const auto launches = TakeRecordedLaunches();
    ASSERT_THAT(launches, SizeIs(1));
    const Kernel own = kernel.For(device_, {args...}).value();
    EXPECT_EQ(launches[0].function, own.plan().function) << Describe(own.signature());
    EXPECT_THAT(launches[0].buffer, SizeIs(own.buffer_size()));
  };
  const auto call = [&]<class A, class B>(A, B) {
    launches_its_own(A{}, B{});
    const ArrayView<A, 1> dense(device_, reinterpret_cast<A*>(0x10000), {10});
    const ArrayView<A, 2> gaps(device_, reinterpret_cast<A*>(0x10000), {10, 4}, {8, 2});
    launches_its_own(B{}, dense);
    launches_its_own(dense, gaps, B{});
    launches_its_own(AnyArrayView(dense), B{});
  };
  const std::tuple<int8_t, uint16_t, int32_t, uint64_t, float, double> all;
  const auto call_with_all = [&](auto a) { std::apply([&](auto... b) { (call(a, b), ...); }, all); };
  for (int round = 0; round < 3; ++round) {
    std::apply([&](auto... a) { (call_with_all(a), ...); }, all);
  }
  EXPECT_EQ(kernel.counters().compiles, 4u * 6 * 6);
  kernel.Clear();
  std::apply([&](auto... a) { (call_with_all(a), ...); }, all);
  EXPECT_EQ(kernel.counters().compiles, 8u * 6 * 6);
  testing::internal::GetCapturedStderr();
}

// Constness is no kind of arguments, so one specialisation meets both.
TEST_F(GenericKernelTest, ConstArraysAreNotWritten) {
  const GenericKernel kernel = Noting();  // Which writes its first argument at most.
  const ArrayView<const float, 1> fixed(Vector(10));
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(kernel(stream_, config_, Vector(10), Vector(10)).ok());
    EXPECT_TRUE(kernel(stream_, config_, Vector(10), fixed).ok());
    EXPECT_THAT(kernel(stream_, config_, fixed, Vector(10)).message(), HasSubstr("const"));
    EXPECT_THAT(kernel(stream_, config_, View(device_, data_, {10}, {0}), Vector(10)).message(),
                HasSubstr("argument 'p0' (#1): "));
    TakeRecordedLaunches();
  }
}

TEST_F(GenericKernelTest, CopiesShareWhatIsMade) {
  const GenericKernel kernel = Noting();
  const GenericKernel copy = kernel;
  EXPECT_TRUE(kernel(stream_, config_, Vector(10)).ok());
  EXPECT_TRUE(copy(stream_, config_, Vector(10)).ok());
  EXPECT_THAT(asked_, SizeIs(1));
  EXPECT_THAT(copy.variants(), SizeIs(1));
}

absl::StatusOr<Kernel> MakeEmpty(const Device& device, const Signature& signature) {
  return Kernel::Load(device, EmptyKernel(signature));
}

// With a name that is a literal and a maker that is small, nothing is made before the first use.
TEST_F(GenericKernelTest, CopiedAndMovedBeforeAndAfterTheFirstUse) {
  for (const bool used : {false, true}) {
    GenericKernel first("first", &MakeEmpty);
    EXPECT_TRUE(!used || first(stream_, config_, 1.0f).ok());
    const GenericKernel copy = first;
    ASSERT_TRUE(copy(stream_, config_, 2).ok());
    EXPECT_THAT(first.variants(), SizeIs(used ? 2 : 1));

    GenericKernel moved = std::move(first);
    EXPECT_EQ(moved.name(), "first");
    EXPECT_THAT(moved.variants(), SizeIs(used ? 2 : 1));

    GenericKernel other("other", &MakeEmpty);
    EXPECT_TRUE(!used || other(stream_, config_, 1.0f).ok());
    moved = std::move(other);
    EXPECT_EQ(moved.name(), "other");
    EXPECT_THAT(moved.variants(), SizeIs(used ? 1 : 0));
    moved = copy;
    EXPECT_EQ(moved.name(), "first");
    EXPECT_EQ(copy.counters().compiles, used ? 2u : 1u);
  }
  TakeRecordedLaunches();
}

TEST_F(GenericKernelTest, OneThatWasMovedFromMakesNothing) {
  GenericKernel kernel("kernel", &MakeEmpty);
  const GenericKernel moved = std::move(kernel);
  EXPECT_THAT(kernel(stream_, config_, 1.0f).ToString(),
              HasSubstr("its maker is empty"));  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved(stream_, config_, 1.0f).ok());
  TakeRecordedLaunches();
}

TEST_F(GenericKernelTest, NamesOfEveryKind) {
  const std::string text = "a_name_that_no_string_keeps_in_itself";
  char array[8] = "array";
  const char* const pointer = "pointer";
  const GenericKernel of_array(array, &MakeEmpty);
  array[0] = 'X';  // It was copied.
  EXPECT_EQ(of_array.name(), "array");
  EXPECT_EQ(GenericKernel(text, &MakeEmpty).name(), text);
  EXPECT_EQ(GenericKernel(text + "!", &MakeEmpty).name(), text + "!");
  EXPECT_EQ(GenericKernel(pointer, &MakeEmpty).name(), "pointer");
  EXPECT_EQ(GenericKernel("literal", &MakeEmpty).name(), "literal");
}

TEST_F(GenericKernelTest, SmallMakersKeepWhatTheyCapture) {
  int64_t calls = 0;
  const GenericKernel by_reference("k", [&calls](const Device& device, const Signature& signature) {
    ++calls;
    return MakeEmpty(device, signature);
  });
  const float number = 7;
  const GenericKernel by_value("k", [number](const Device&, const Signature&) -> absl::StatusOr<Kernel> {
    return absl::UnimplementedError(absl::StrCat("captured ", number));
  });
  ASSERT_TRUE(by_reference(stream_, config_, 1.0f).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(by_value(stream_, config_, 1.0f), absl::UnimplementedError("captured 7"));
  TakeRecordedLaunches();
}

TEST_F(GenericKernelTest, PreparedAheadAndBound) {
  const GenericKernel generic = Noting();
  const Kernel kernel = generic.For(device_, {Vector(10), 1.0f}).value();
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  BoundLaunch bound = kernel.Bind(config_, {Vector(10), 1.0f}).value();
  ASSERT_TRUE(bound.Set(1, 2.0f).ok());
  EXPECT_TRUE(bound.Launch(stream_).ok());
  EXPECT_TRUE(generic(stream_, config_, Vector(10), 2.0f).ok());
  const auto launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(2));
  EXPECT_EQ(launches[0].buffer, launches[1].buffer);
  EXPECT_EQ(launches[0].function, launches[1].function);
  EXPECT_THAT(asked_, SizeIs(1));
}

// A launch finds what was made for the signature that its arguments have.
TEST_F(GenericKernelTest, PrecompiledForSignatures) {
  const GenericKernel kernel = Noting();
  const ArrayView<const double, 2> columns(device_, reinterpret_cast<const double*>(0x2000), {3, 4}, {1, 3});
  const ArrayView<int8_t, 0> point(device_, reinterpret_cast<int8_t*>(0x3001), {});
  const auto launch = [&] {
    for (const absl::Status& status :
         {kernel(stream_, config_, Vector(10), columns, point, 2.0f, data_, Blob<24, 8>{}, CUdeviceptr{5}),
          kernel(stream_, config_, Vector(10, 2)), kernel(stream_, config_, Vector(int64_t{1} << 32)),
          kernel(stream_, config_)}) {
      EXPECT_TRUE(status.ok()) << status;
    }
  };
  launch();
  std::vector<Signature> signatures = asked_;
  const uint64_t compiles = kernel.counters().compiles;
  EXPECT_EQ(compiles, 4u);
  // What is there stays; alignment that is not said may be either way. Of the first, with a matrix, two more are made,
  // of the second, an array with gaps, one; the others say all or have no arrays.
  for (const Signature& signature : signatures) ASSERT_TRUE(kernel.Precompile(device_, {signature}).ok());
  EXPECT_EQ(kernel.counters().compiles, compiles + 3);
  ASSERT_TRUE(kernel.Precompile(device_, signatures).ok());
  EXPECT_EQ(kernel.counters().compiles, compiles + 3);

  kernel.Clear();
  EXPECT_THAT(kernel.variants(), IsEmpty());
  asked_.clear();
  // One array that needs 64 bits has all of them so; a point is contiguous however it is described; names are nothing.
  signatures[0][0].index = IndexWidth::kIndex32;
  signatures[0][0].name = "y";
  signatures[0][2].layout = Layout::kStrided;
  for (const Signature& signature : signatures) ASSERT_TRUE(kernel.Precompile(device_, {signature}).ok());
  EXPECT_THAT(asked_, SizeIs(7));
  launch();
  EXPECT_THAT(asked_, SizeIs(7));
  EXPECT_EQ(kernel.counters().compiles, compiles + 3 + 7);
}

TEST_F(GenericKernelTest, PrecompilingManyAtOnce) {
  std::atomic<int> made{0};
  const GenericKernel kernel("many", [&](const Device& device, Signature signature) -> absl::StatusOr<Kernel> {
    ++made;
    if (signature.size() % 3 == 2) return absl::UnimplementedError(absl::StrCat("not for ", signature.size()));
    for (ParamSpec& spec : signature) spec.read_only = spec.kind == ParamKind::kArray;
    return Kernel::Load(device, EmptyKernel(signature, "many"));
  });
  std::vector<Signature> signatures;
  for (size_t n = 0; n < 12; ++n) {
    Signature signature(n, ParamSpec{.name = {}, .dtype = DType::kInt32});
    signatures.push_back(signature);
    signatures.push_back(signature);  // Twice is once.
  }
  const absl::Status status = kernel.Precompile(device_, signatures);
  EXPECT_EQ(status.code(), kUnimplemented);
  EXPECT_EQ(status.message(), "not for 2");
  EXPECT_EQ(made, 12);
  EXPECT_THAT(kernel.variants(), SizeIs(8));
  EXPECT_TRUE(kernel(stream_, config_, 1, 2, 3).ok());
  EXPECT_EQ(kernel(stream_, config_, 1, 2).message(), "not for 2");
  EXPECT_EQ(made, 12);
  EXPECT_TRUE(kernel.Precompile(device_, {}).ok());
  EXPECT_THAT(kernel.Precompile(device_, {{{.name = {}, .kind = ParamKind::kArray, .rank = 9}}}).message(),
              HasSubstr("kernel 'many': signature #1 has an array of rank 9; 0 to 8 are possible"));
  const Device gone = RecordingDevice();
  Device moved = gone;
  const Device taken = std::move(moved);
  EXPECT_THAT(kernel.Precompile(moved, signatures).message(), HasSubstr("the device was moved from"));
}

TEST_F(GenericKernelTest, ClearForgetsFailuresToo) {
  bool works = false;
  const GenericKernel kernel("later", [&](const Device& device, const Signature& signature) -> absl::StatusOr<Kernel> {
    if (!works) return absl::UnavailableError("not yet");
    return Kernel::Load(device, EmptyKernel(signature, "later"));
  });
  EXPECT_EQ(kernel(stream_, config_, 1).code(), kUnavailable);
  works = true;
  EXPECT_EQ(kernel(stream_, config_, 1).code(), kUnavailable);
  kernel.Clear();
  EXPECT_TRUE(kernel(stream_, config_, 1).ok());
  const Kernel made = kernel.variants().at(0);
  kernel.Clear();
  EXPECT_TRUE(made.Launch(stream_, config_, {1}).ok());
  EXPECT_TRUE(kernel(stream_, config_, 1).ok());
}

TEST_F(GenericKernelTest, DevicesHaveTheirOwn) {
  const GenericKernel kernel = Noting();
  const Device other = Device::Open(NullDriver()).value();
  const Stream there = other.CreateStream().value();
  const View elsewhere(other, data_, {10});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(kernel(stream_, config_, Vector(10)).ok());
    EXPECT_TRUE(kernel(there, config_, elsewhere).ok());
  }
  EXPECT_THAT(asked_, SizeIs(2));
  TakeRecordedLaunches();
  ExpectRefused(kernel(there, config_, Vector(10)), "kernel 'scale': argument 'p0' (#1): its memory belongs to");
  EXPECT_TRUE(kernel(device_.DefaultStream(), config_, Vector(10)).ok());
}

// ---- what is refused
// ---------------------------------------------------------------------------------------------------

TEST_F(GenericKernelTest, NothingIsMadeForArgumentsThatNoKernelTakes) {
  const GenericKernel kernel = Noting();
  ExpectRefused(kernel(stream_, config_, View(device_, nullptr, {10})),
                "kernel 'scale': argument #1: its data pointer is null though it has elements");
  ExpectRefused(kernel(stream_, config_, 1.0f, View(device_, data_, {-3})),
                "kernel 'scale': argument #2: one of its extents is negative");
  const Device other = Device::Open(NullDriver()).value();
  ExpectRefused(kernel.Launch(stream_, config_, {View(other, data_, {10})}), "argument #1: its memory belongs to");
  ExpectRefused(kernel.For(device_, {View(device_, nullptr, {10})}).status(), "its data pointer is null");
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_EQ(kernel.counters().compiles, 0u);
  // Arguments that the kernel of their kind does not take, once it is known.
  EXPECT_TRUE(kernel(stream_, config_, Vector(10)).ok());
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(1));
  for (int i = 0; i < 2; ++i) {
    ExpectRefused(kernel(stream_, config_, View(device_, nullptr, {10})), "its data pointer is null");
    ExpectRefused(kernel(stream_, config_, ArrayView<const float, 1>(Vector(10))),
                  "kernel 'scale': argument 'p0' (#1): the kernel writes it and it is a view of const elements");
  }
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(GenericKernelTest, MakersErrorsAreKept) {
  int calls = 0;
  const GenericKernel kernel("k", [&](const Device&, const Signature& signature) -> absl::StatusOr<Kernel> {
    ++calls;
    return absl::UnimplementedError("no code for " + Describe(signature));
  });
  for (int i = 0; i < 3; ++i) {
    ExpectError(kernel(stream_, config_, 1.0f), kUnimplemented, "no code for (float32)");
    ExpectError(kernel.For(device_, {1.0f}).status(), kUnimplemented, "no code for (float32)");
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(kernel.counters().failures, 1u);
  EXPECT_THAT(kernel.variants(), IsEmpty());
}

TEST_F(GenericKernelTest, AnEmptyMakerIsSaid) {
  const GenericKernel kernel("k", nullptr);
  ExpectRefused(kernel(stream_, config_, 1.0f), "kernel 'k': its maker is empty; give a function that makes kernels");
}

TEST_F(GenericKernelTest, MakersThatMakeSomethingElse) {
  const Device other = Device::Open(NullDriver()).value();
  const ParamSpec pointer{.name = {}, .kind = ParamKind::kPointer, .dtype = DType::kFloat32};
  const struct {
    Signature made;
    const char* text;
  } cases[] = {
      {{}, "()"},
      {{ArrayParam(DType::kFloat32, 1)}, "(p0: float32[:])"},
      {{ArrayParam(DType::kFloat64, 1), ScalarParam(DType::kInt8)}, "(p0: float64[:], p1: int8)"},
      {{ArrayParam(DType::kFloat32, 8), ScalarParam(DType::kInt8)}, "(p0: float32[:,:,:,:,:,:,:,:], p1: int8)"},
      {{ArrayParam(DType::kFloat32, 1), ArrayParam(DType::kInt8, 0)}, "(p0: float32[:], p1: int8[])"},
      {{ArrayParam(DType::kFloat32, 1), pointer}, "(p0: float32[:], p1: float32*)"},
      {{ScalarParam(DType::kFloat32), ScalarParam(DType::kInt8)}, "(p0: float32, p1: int8)"},
  };
  for (const auto& c : cases) {
    const GenericKernel kernel(
        "k", [&](const Device& device, const Signature&) { return Kernel::Load(device, EmptyKernel(c.made)); });
    for (int i = 0; i < 2; ++i) {
      ExpectError(kernel(stream_, config_, Vector(10), int8_t{1}), kInternal,
                  "kernel 'k': its maker was asked for (float32[:] contiguous index32 vector, int8) on null device "
                  "(recording:0) and made " +
                      std::string(c.text) + " on null device (recording:0); mend the maker");
    }
  }
  const GenericKernel elsewhere(
      "k", [&](const Device&, const Signature& signature) { return Kernel::Load(other, EmptyKernel(signature)); });
  ExpectError(elsewhere(stream_, config_, 1.0f), kInternal, "and made (p0: float32) on null device (null:0); mend the");
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
}

// A maker may have only kernels for contiguous arrays, or only such as take bare addresses.
TEST_F(GenericKernelTest, KernelsMayDemandMore) {
  const ParamSpec pointer{.name = {}, .kind = ParamKind::kPointer, .dtype = DType::kFloat32};
  const struct {
    ParamSpec made;
    const char* message;
  } cases[] = {
      {ArrayParam(DType::kFloat32, 1, Layout::kContiguous),
       "argument 'p0' (#1): the kernel is compiled for contiguous"},
      {pointer, "argument 'p0' (#1): the kernel takes a bare address and its elements are not contiguous"},
  };
  for (const auto& c : cases) {
    const GenericKernel kernel(
        "k", [&](const Device& device, const Signature&) { return Kernel::Load(device, EmptyKernel({c.made})); });
    for (int i = 0; i < 3; ++i) {
      ExpectRefused(kernel(stream_, config_, Vector(10, 2)), c.message);
      EXPECT_TRUE(kernel(stream_, config_, Vector(10)).ok());
      EXPECT_TRUE(kernel(stream_, config_, Vector(10)).ok());
      const auto launches = TakeRecordedLaunches();
      ASSERT_THAT(launches, SizeIs(2));
      EXPECT_EQ(launches[0].buffer, launches[1].buffer);
      EXPECT_THAT(launches[0].buffer, SizeIs(c.made.kind == ParamKind::kPointer ? 8 : 16));
    }
  }
  const GenericKernel narrow("k", [&](const Device& device, const Signature&) {
    return Kernel::Load(device,
                        EmptyKernel({ArrayParam(DType::kFloat32, 1, Layout::kStrided, false, IndexWidth::kIndex32)}));
  });
  for (int i = 0; i < 2; ++i) {
    ExpectRefused(narrow(stream_, config_, Vector(int64_t{1} << 32)), "the kernel computes addresses in 32 bits");
    EXPECT_TRUE(narrow(stream_, config_, Vector(10)).ok());
    EXPECT_THAT(TakeRecordedLaunches(), SizeIs(1));
  }
}

TEST_F(GenericKernelTest, StreamsAndConfigurationsAreChecked) {
  const GenericKernel kernel = Noting();
  EXPECT_TRUE(kernel(stream_, config_, 1.0f).ok());
  Stream moved = device_.CreateStream().value();
  const Stream now = std::move(moved);
  TakeRecordedLaunches();
  const std::string text = "kernel 'scale': the stream was moved from or destroyed; launch on one that lives";
  ExpectRefused(kernel(moved, config_, 1.0f), text);
  ExpectRefused(kernel.Launch(moved, config_, {1.0f}), text);
  ExpectRefused(kernel(stream_, ForSize(-1), 1.0f), "kernel 'scale': the size -1 is negative");
  ExpectRefused(kernel(stream_, LaunchConfig{}, 1.0f), "kernel 'scale': grid.x is 0 and no size is given");
  EXPECT_TRUE(kernel(now, ForSize(0), 1.0f).ok());
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
}

TEST_F(GenericKernelTest, ManySpecialisationsAreSaidOnce) {
  const GenericKernel kernel = Noting("rank");
  const auto launch = [&](int rank, DType dtype) {
    const std::vector<int64_t> shape(rank, 2);
    const AnyArrayView view = AnyArrayView::Make(device_, dtype, data_, shape).value();
    EXPECT_TRUE(kernel(stream_, config_, view, 1.0f).ok());
  };
  testing::internal::CaptureStderr();
  int made = 0;
  for (int rank = 0; made < 31; ++rank) {
    for (const ScalarType& type : kScalarTypes) {
      if (made < 31) launch(rank, type.dtype), ++made;
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  launch(4, DType::kFloat32);
  launch(5, DType::kFloat32);
  launch(4, DType::kFloat32);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "slipway: kernel 'rank' has been specialised 32 times; compared with the one most like it, in the last one "
      "argument #1 was bool[] contiguous index32 and is float32[:,:,:,:] contiguous index32 vector. Each "
      "specialisation is compiled and kept: give it fewer kinds of arguments if that is not meant. (Said once.)\n");
}

TEST_F(GenericKernelTest, WhatManySpecialisationsDifferIn) {
  // Of 31 kinds of arguments, then one that none of them is like.
  const auto said_for = [](const GenericKernel& kernel, const auto& launch, const auto& launch_last) {
    for (int i = 0; i < 31; ++i) launch(kernel, i);
    testing::internal::CaptureStderr();
    launch_last(kernel);
    return testing::internal::GetCapturedStderr();
  };
  const auto numbers = [&](const Device& device, const GenericKernel& kernel, int count) {
    ASSERT_TRUE(kernel.For(device, std::vector<Arg>(static_cast<size_t>(count), Arg(1))).ok());
  };
  const std::string said =
      "slipway: kernel 'scale' has been specialised 32 times; compared with the one most like it, in the last one ";
  EXPECT_THAT(said_for(
                  Noting(), [&](const GenericKernel& kernel, int i) { numbers(device_, kernel, i + 1); },
                  [&](const GenericKernel& kernel) { numbers(device_, kernel, 40); }),
              StartsWith(said + "the number of arguments is another. Each"));
  const Device other = Device::Open(NullDriver()).value();
  EXPECT_THAT(said_for(
                  Noting(), [&](const GenericKernel& kernel, int i) { numbers(device_, kernel, i + 1); },
                  [&](const GenericKernel& kernel) { numbers(other, kernel, 31); }),
              StartsWith(said + "the device is another. Each"));
}

}  // namespace
}  // namespace slipway
