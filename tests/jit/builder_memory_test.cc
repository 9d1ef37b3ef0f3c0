// Parameters, arrays of the kernel's own, accesses to both.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "tests/jit/builder_fixture.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

// Arrays.

TEST_F(BuilderTest, WrongRank) {
  b.Load(matrix, {L(int64_t{0})});
  EXPECT_EQ(Message(), "'m' has rank 2 and takes 2 indices, not 1");
}
TEST_F(BuilderTest, IndexMustBeAnInteger) {
  b.Load(array, {L(0.5)});
  EXPECT_EQ(Message(), "index 0 of 'y' is literal 0.5; an integer is wanted: cast it to int64");
}
TEST_F(BuilderTest, ReadOnlyArraysAreNotWritten) {
  b.Store(matrix, {L(int64_t{0}), L(int64_t{0})}, L(int64_t{1}));
  EXPECT_EQ(Message(), "'m' is read-only and cannot be written");
}
TEST_F(BuilderTest, ReadOnlyArraysAreNotAddedTo) {
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kAdd, matrix, std::vector<ValueId>{L(int64_t{0}), L(int64_t{0})}, {&one, 1});
  EXPECT_EQ(Message(), "'m' is read-only and cannot be written");
}
TEST_F(BuilderTest, AtomicsOnTypesThatHaveNone) {
  const ParamId parts = b.AddArray({.name = "s", .dtype = DType::kComplex64, .rank = 0});
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kAdd, parts, {}, {&one, 1});
  EXPECT_EQ(Message(),
            "atomic add on 's' of complex64: it takes no complex numbers; their parts, as two arrays of floats");
}
TEST_F(BuilderTest, AtomicBitsOfFloats) {
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kXor, array, {&one, 1}, {&one, 1});
  EXPECT_EQ(Message(), "atomic xor on 'y' of float32: it takes integers and bools");
}
TEST_F(BuilderTest, AtomicIncrementOfAnotherType) {
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kIncrement, array, {&one, 1}, {&one, 1});
  EXPECT_EQ(Message(), "atomic increment on 'y' of float32: it takes uint32 only");
}
TEST_F(BuilderTest, AtomicsOnLocalArrays) {
  const ArrayId own = b.AddLocalArray("own", DType::kInt32, {});
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kAdd, own, {}, {&one, 1});
  EXPECT_EQ(Message(), "atomic add on 'own', which is the thread's own; nobody else sees it: load and store");
}
// Arrays of the kernel's own.

TEST_F(BuilderTest, SharedArraysHaveALimit) {
  const int64_t fits[] = {48 << 8}, more[] = {1};
  b.AddSharedArray("a", DType::kFloat32, fits);
  EXPECT_EQ(b.status(), absl::OkStatus());
  b.AddSharedArray("b", DType::kFloat32, more);
  EXPECT_EQ(Message(),
            "array 'b' needs more static shared memory than there is: 49152 bytes, of which the kernel's "
            "other arrays take 49152");
}
TEST_F(BuilderTest, SizesOfLocalArraysDoNotOverflow) {
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  b.AddLocalArray("a", DType::kInt8, huge);
  EXPECT_THAT(Message(), HasSubstr("needs more local memory than there is: 524288 bytes"));
}
TEST_F(BuilderTest, ExtentsArePositive) {
  const int64_t none[] = {4, 0};
  b.AddSharedArray("a", DType::kInt8, none);
  EXPECT_EQ(Message(), "array 'a' has extent 0 in dimension 1; extents are positive");
}
TEST_F(BuilderTest, ConstantArraysHoldTheirData) {
  const int64_t three[] = {3};
  b.AddConstantArray("taps", DType::kInt16, three, "12345");
  EXPECT_EQ(Message(), "constant array 'taps' is given 5 bytes; its shape holds 6");
}
TEST_F(BuilderTest, ConstantArraysAreNotWritten) {
  const int64_t one[] = {1};
  const ArrayId taps = b.AddConstantArray("taps", DType::kInt8, one, "x");
  b.Store(taps, {L(int64_t{0})}, L(int64_t{1}));
  EXPECT_EQ(Message(), "'taps' is read-only and cannot be written");
}
TEST_F(BuilderTest, DynamicSharedArraysStandAtTheTop) {
  const ValueId n = L(int64_t{4});
  b.BeginIf(b.Literal(true));
  b.AddDynamicSharedArray("d", DType::kInt8, {&n, 1});
  EXPECT_THAT(Message(), HasSubstr("dynamic shared array 'd' is declared inside an if"));
}
TEST_F(BuilderTest, ExtentsOfDynamicArraysAreIntegers) {
  const ValueId n = L(4.5);
  b.AddDynamicSharedArray("d", DType::kInt8, {&n, 1});
  EXPECT_EQ(Message(), "an extent of a shared array is literal 4.5; int64 is wanted: cast it");
}
TEST_F(BuilderTest, StructsHaveTheSizeOfAType) {
  b.AddStruct("s", 6, 4);
  EXPECT_EQ(Message(), "struct 's' has size 6 and alignment 4; give sizeof and alignof of a C++ type");
}
TEST_F(BuilderTest, FieldsLieInsideOfTheirStruct) {
  const ParamId s = b.AddStruct("s", 8, 4);
  b.Field(s, 6, DType::kInt32);
  EXPECT_THAT(Message(), HasSubstr("field of struct 's': int32 at byte 6 of 8, which is outside of it"));
}
TEST_F(BuilderTest, BoundsAreWhatDevicesHave) {
  b.SetBounds({.max_threads = 2048});
  EXPECT_THAT(Message(), HasSubstr("2048 threads of a block (at most 1024)"));
}
TEST_F(BuilderTest, GroupsAreOfContiguousArrays) {
  const ValueId zero = L(int64_t{0});
  b.LoadGroup(array, {&zero, 1}, 4, CacheHint::kNone);
  EXPECT_THAT(Message(), HasSubstr("'y' is not contiguous: several elements at once"));
}
TEST_F(BuilderTest, GroupsHave16Bytes) {
  const ParamId y = b.AddArray({.name = "c", .dtype = DType::kFloat64, .rank = 1, .layout = Layout::kContiguous});
  const ValueId zero = L(int64_t{0});
  b.LoadGroup(y, {&zero, 1}, 4, CacheHint::kNone);
  EXPECT_EQ(Message(),
            "4 elements of 'c' at once are 32 bytes; 2, 4, 8 or 16 elements of together at most 16 bytes are "
            "possible");
}
TEST_F(BuilderTest, AccessesThatAreNone) {
  const auto message = [](DType dtype, bool store, const MemoryAccess& access) {
    Builder b("k");
    const ParamId y = b.AddArray({.name = "y", .dtype = dtype, .rank = 0});
    if (store) b.Store(y, {}, b.Cast(dtype, b.Literal(int64_t{1})), access);
    if (!store) b.Load(y, {}, access);
    return std::string(b.status().message());
  };
  const auto f32 = DType::kFloat32;
  EXPECT_EQ(message(f32, false, MemoryAccess::Release()), "access to 'y': a load is relaxed, acquire or sequential");
  EXPECT_EQ(message(f32, true, MemoryAccess::Acquire()), "access to 'y': a store is relaxed, release or sequential");
  EXPECT_EQ(message(f32, true, MemoryAccess::Cached(CacheHint::kReadOnly)),
            "access to 'y': a store takes the hints cache_global, streaming and write_through");
  EXPECT_EQ(message(f32, false, MemoryAccess::Cached(CacheHint::kWriteThrough)),
            "access to 'y': a load cannot be written through");
  EXPECT_EQ(message(f32, false, {MemoryAccess::kVolatile, CacheHint::kStreaming}),
            "access to 'y': a volatile access takes no hint to the caches");
  EXPECT_THAT(message(DType::kComplex64, false, MemoryAccess::Relaxed()),
              HasSubstr("a complex number is not loaded or stored in one piece"));
}
TEST_F(BuilderTest, HintsAreForGlobalMemory) {
  const ArrayId tile = b.AddSharedArray("tile", DType::kInt8, {});
  b.Load(tile, {}, MemoryAccess::Cached(CacheHint::kStreaming));
  EXPECT_THAT(Message(), HasSubstr("hints to the caches are for arrays in global memory"));
}

TEST_F(BuilderTest, StoringASmallerKindIsRefused) {
  const ParamId ints = b.AddArray({.name = "n", .dtype = DType::kInt32, .rank = 1});
  b.Store(ints, {L(int64_t{0})}, Of(DType::kFloat32));
  EXPECT_EQ(Message(), "'n' is int32 and cannot take float32 without a cast; write int32(...)");
}
TEST_F(BuilderTest, StoringALiteralThatDoesNotFitIsRefused) {
  const ParamId bytes = b.AddArray({.name = "n", .dtype = DType::kUInt8, .rank = 0});
  b.Store(bytes, {}, L(int64_t{256}));
  EXPECT_THAT(Message(), HasSubstr("'n': literal 256 does not fit uint8"));
}
TEST_F(BuilderTest, StoresNarrowWithinOneKind) {
  b.Store(array, {L(int64_t{0})}, Of(DType::kFloat64));
  b.Store(array, {L(int64_t{0})}, Of(DType::kInt64));
  b.Store(array, {L(int64_t{0})}, Of(DType::kBool));
  b.Store(array, {L(int64_t{0})}, L(int64_t{3}));
  EXPECT_TRUE(b.status().ok());
}
TEST_F(BuilderTest, ShapeOfADimensionThatIsNotThere) {
  b.Shape(array, 1);
  EXPECT_EQ(b.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(), HasSubstr("shape of 'y': dimension 1 of an array of rank 1"));
}
TEST_F(BuilderTest, AScalarIsNotAnArray) {
  b.Load(0, {L(int64_t{0})});
  EXPECT_EQ(Message(), "load: parameter 'bool' is not an array");
}
TEST_F(BuilderTest, AnArrayIsNotAScalar) {
  b.Scalar(array);
  EXPECT_EQ(Message(), "scalar: parameter 'y' is not a scalar");
}
TEST_F(BuilderTest, NoSuchParameter) {
  b.Scalar(99);
  EXPECT_EQ(Message(), "scalar: there is no parameter #99");
}
TEST(Parameters, RankAndTypeAreChecked) {
  Builder rank("k");
  rank.AddArray({.name = "x", .dtype = DType::kInt8, .rank = 9});
  EXPECT_EQ(rank.status().message(), "array 'x' has rank 9; ranks 0 to 8 are possible");
  Builder type("k");
  type.AddArray({.name = "x", .rank = 1});
  EXPECT_EQ(type.status().message(), "array 'x' has no element type");
  Builder scalar("k");
  scalar.AddScalar("s", DType::kVoid);
  EXPECT_EQ(scalar.status().message(), "scalar 's' has no type");
  // Numbers from data that are no dtypes.
  const DType none = static_cast<DType>(99);
  Builder by_number("k");
  by_number.AddScalar("s", none);
  EXPECT_EQ(by_number.status().message(), "scalar 's' has no type");
  Builder array_of_none("k");
  array_of_none.AddArray({.name = "x", .dtype = none});
  EXPECT_EQ(array_of_none.status().message(), "array 'x' has no element type");
  Builder cast("k");
  cast.Cast(none, cast.Literal(int64_t{1}));
  EXPECT_EQ(cast.status().message(), "a cast to no type");
  Builder variable("k");
  variable.NewVar("v", none, variable.Literal(int64_t{1}));
  EXPECT_EQ(variable.status().message(), "variable 'v' has no type");
}
TEST(Parameters, KernelNamesAreIdentifiers) {
  for (const char* name : {"", "1k", "a-b", "k\xc3\xa9"}) {
    EXPECT_THAT(std::string(Builder(name).status().message()), HasSubstr("is not an identifier")) << name;
  }
  EXPECT_TRUE(Builder("_saxpy_2").status().ok());
}

}  // namespace
}  // namespace slipway::ir
