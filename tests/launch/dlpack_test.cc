// DLPack and cuda array interface, with tensors made by hand; tests/dlpack has other libraries' real ones.
#include "slipway/dlpack.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launch/dlpack_abi.h"
#include "slipway/cpu_device.h"
#include "slipway/host_driver.h"
#include "slipway/null_driver.h"
#include "tests/launch/dl_tensor.h"

struct DLManagedTensor {
  TestTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  TestTensor dl_tensor;
};

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

std::string Message(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

// A tensor in host memory, that counts how often its deleter is called.
struct Lent {
  std::vector<float> values;
  std::vector<int64_t> shape, strides;
  DLManagedTensor managed = {};
  DLManagedTensorVersioned versioned = {};
  int deleted = 0;

  Lent(std::vector<float> numbers, std::vector<int64_t> extents, std::vector<int64_t> steps = {})
      : values(std::move(numbers)), shape(std::move(extents)), strides(std::move(steps)) {
    TestTensor tensor = {};
    tensor.data = values.data();
    tensor.device = {internal::kDlpackCpu, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {internal::kDlpackFloat, 32, 1};
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    managed = {tensor, this, [](DLManagedTensor* self) { ++static_cast<Lent*>(self->manager_ctx)->deleted; }};
    versioned = {{1, 0},
                 this,
                 [](DLManagedTensorVersioned* self) { ++static_cast<Lent*>(self->manager_ctx)->deleted; },
                 0,
                 tensor};
  }
};

class DLPackTest : public testing::Test {
 protected:
  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(DLPackTest, TakesATensorOverAndGivesItBackOnce) {
  Lent lent({1, 2, 3, 4, 5, 6}, {2, 3});
  {
    const AnyArray x = FromDLPack(device_, &lent.managed).value();
    EXPECT_EQ(x.data(), lent.values.data());
    EXPECT_EQ(x.dtype(), DType::kFloat32);
    EXPECT_THAT(x.shape(), ElementsAre(2, 3));
    EXPECT_TRUE(x.is_contiguous());
    const auto part = Array<float, 2>::FromAny(x).value().Sliced(1).value();
    EXPECT_THAT(part.ToVector().value(), ElementsAre(4, 5, 6));
    ASSERT_EQ(part.CopyFrom(std::vector<float>{7, 8, 9}), absl::OkStatus());
    EXPECT_EQ(lent.values[4], 8);
    EXPECT_EQ(lent.deleted, 0);
  }
  EXPECT_EQ(lent.deleted, 1);
}

TEST_F(DLPackTest, StridesOffsetsAndConstness) {
  Lent lent({0, 1, 2, 3, 4, 5, 6, 7}, {3, 2}, {-2, 1});
  lent.versioned.dl_tensor.byte_offset = 16;
  lent.versioned.flags = internal::kDlpackReadOnly;
  {
    const AnyArray x = FromDLPack(device_, &lent.versioned).value();
    EXPECT_TRUE(x.view().read_only());
    EXPECT_THAT(x.ToVector<float>().value(), ElementsAre(4, 5, 2, 3, 0, 1));
    EXPECT_EQ(Message(Copy(stream_, x.view(), x.view())),
              "Copy: float32[3,2] strides [-2,1] cannot be copied into "
              "float32[3,2] strides [-2,1]: the target is a view of const "
              "elements");
    EXPECT_EQ(
        Message(ToDLPack(x).status()),
        "DLPack: float32[3,2] strides [-2,1] is a view of const elements, which an unversioned tensor cannot say; "
        "use ToDLPackVersioned");
    DLManagedTensorVersioned* const again = ToDLPackVersioned(x).value();
    EXPECT_EQ(again->flags, internal::kDlpackReadOnly);
    EXPECT_EQ(again->version.major, 1u);
    again->deleter(again);
    EXPECT_EQ(lent.deleted, 0);
  }
  EXPECT_EQ(lent.deleted, 1);
  Lent row_major({1, 2}, {2, 1}, {1, 77});
  EXPECT_TRUE(FromDLPack(device_, &row_major.managed)->is_contiguous());
}

TEST_F(DLPackTest, NothingToDo) {
  Lent lent({}, {0, 3});
  lent.managed.dl_tensor.data = nullptr;
  {
    const AnyArray x = FromDLPack(device_, &lent.managed).value();
    EXPECT_EQ(x.size(), 0);
  }
  EXPECT_EQ(lent.deleted, 1);
  Lent scalar({5}, {});
  EXPECT_THAT(FromDLPack(device_, &scalar.managed)->ToVector<float>().value(), ElementsAre(5));
  EXPECT_EQ(scalar.deleted, 1);
  Lent no_deleter({5}, {1});
  no_deleter.managed.deleter = nullptr;
  EXPECT_TRUE(FromDLPack(device_, &no_deleter.managed).ok());
}

TEST_F(DLPackTest, ExportsShareTheMemory) {
  const Stream other = device_.CreateStream().value();
  for (const bool of_stream : {false, true}) {
    const std::vector<double> values = {1, 2, 3, 4};
    DLManagedTensor* tensor = nullptr;
    {
      const auto x =
          (of_stream ? Array<double, 2>::From(other, values, {2, 2}) : Array<double, 2>::From(device_, values, {2, 2}))
              .value();
      ASSERT_EQ(WaitFor(other, 1), absl::OkStatus());
      tensor = ToDLPack(x.Transposed().value()).value();
    }
    const TestTensor& t = tensor->dl_tensor;
    EXPECT_EQ(t.device.device_type, internal::kDlpackCpu);
    EXPECT_EQ(t.ndim, 2);
    EXPECT_EQ(t.dtype.code, internal::kDlpackFloat);
    EXPECT_EQ(t.dtype.bits, 64);
    EXPECT_THAT(std::vector<int64_t>(t.strides, t.strides + 2), ElementsAre(1, 2));
    EXPECT_THAT(std::vector<double>(static_cast<double*>(t.data), static_cast<double*>(t.data) + 4),
                ElementsAre(1, 2, 3, 4));
    // And in again: the same memory, kept by both.
    const AnyArray back = FromDLPack(device_, tensor).value();
    EXPECT_THAT(back.ToVector<double>().value(), ElementsAre(1, 3, 2, 4));
  }
}

TEST_F(DLPackTest, EveryDTypeThereAndBack) {
  for (int d = 1; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    const AnyArray x = AnyArray::Zeros(device_, dtype, {3}).value();
    DLManagedTensorVersioned* const tensor = ToDLPackVersioned(x).value();
    EXPECT_EQ(tensor->dl_tensor.dtype.bits, 8 * SizeOf(dtype));
    const AnyArray back = FromDLPack(device_, tensor).value();
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.data(), x.data());
    const auto exported = ToCudaArrayInterface(x, nullptr);
    if (dtype == DType::kBFloat16) {
      EXPECT_EQ(Message(exported.status()), "cuda array interface: NumPy's type strings have no bfloat16; use DLPack");
      continue;
    }
    const AnyArray again = FromCudaArrayInterface(device_, (*exported)->array, nullptr).value();
    EXPECT_EQ(again.dtype(), dtype) << (*exported)->typestr;
    EXPECT_EQ(again.data(), x.data());
  }
}

// FC-35: null strides, byte_offset and steps, there and back.
TEST_F(DLPackTest, FieldCase35) {
  struct Case {
    std::vector<int64_t> shape, strides;
    uint64_t byte_offset;
    std::vector<int64_t> expected;
  };
  std::vector<int64_t> all(16);
  std::iota(all.begin(), all.end(), 0);
  const Case kCases[] = {
      {{4, 4}, {}, 0, all},
      {{8}, {}, 64, {8, 9, 10, 11, 12, 13, 14, 15}},
      {{5}, {2}, 0, {0, 2, 4, 6, 8}},
      {{3, 4}, {1, 3}, 0, {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}},
      {{}, {}, 0, {0}},
      {{0}, {}, 0, {}},
  };
  for (const Case& c : kCases) {
    std::vector<int64_t> values = all, shape = c.shape, strides = c.strides;
    DLManagedTensor tensor = {};
    tensor.dl_tensor.data = c.expected.empty() ? nullptr : values.data();
    tensor.dl_tensor.device = {internal::kDlpackCpu, 0};
    tensor.dl_tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dl_tensor.dtype = {internal::kDlpackInt, 64, 1};
    tensor.dl_tensor.shape = shape.data();
    tensor.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.dl_tensor.byte_offset = c.byte_offset;
    const AnyArray x = FromDLPack(device_, &tensor).value();
    EXPECT_EQ(x.ToVector<int64_t>().value(), c.expected);
    DLManagedTensorVersioned* const exported = ToDLPackVersioned(x).value();
    const AnyArray again = FromDLPack(device_, exported).value();
    EXPECT_EQ(again.ToVector<int64_t>().value(), c.expected);
    EXPECT_EQ(again.shape(), x.shape());
  }
}

TEST_F(DLPackTest, WhatIsRefusedStaysTheCallers) {
  const auto refused = [&](const auto& spoil) {
    Lent lent({1, 2, 3, 4, 5, 6}, {2, 3});
    spoil(lent.versioned);
    const absl::StatusOr<AnyArray> x = FromDLPack(device_, &lent.versioned);
    EXPECT_EQ(lent.deleted, 0);
    return Message(x.status());
  };
  using V = DLManagedTensorVersioned;
  EXPECT_EQ(refused([](V& t) { t.dl_tensor.dtype.lanes = 4; }),
            "DLPack: the tensor's dtype has code 2, 32 bits and 4 lanes; Slipway has no such element type");
  EXPECT_EQ(refused([](V& t) {
              t.dl_tensor.dtype = {10, 8, 1};
            }),
            "DLPack: the tensor's dtype has code 10, 8 bits and 1 lane; Slipway has no such element type");
  EXPECT_EQ(refused([](V& t) { t.dl_tensor.ndim = 9; }),
            "DLPack: the tensor's ndim is 9; arrays have 0 to 8 dimensions");
  EXPECT_EQ(refused([](V& t) { t.dl_tensor.ndim = -1; }),
            "DLPack: the tensor's ndim is -1; arrays have 0 to 8 dimensions");
  EXPECT_EQ(refused([](V& t) { t.dl_tensor.shape = nullptr; }), "DLPack: the tensor's shape is null and its ndim is 2");
  EXPECT_THAT(
      refused([](V& t) { t.dl_tensor.device.device_type = 2; }),
      MatchesRegex("DLPack: the tensor's device_type is 2, and .* reaches host memory \\(1, 3\\) only; open the "
                   "tensor's own device"));
  EXPECT_EQ(refused([](V& t) { t.dl_tensor.data = nullptr; }),
            "DLPack: the tensor's data is null, and float32[2,3] has elements");
  EXPECT_EQ(refused([](V& t) { t.dl_tensor.byte_offset = 2; }),
            "DLPack: the tensor's data and byte_offset make an address that is no multiple of 4, which float32 wants");
  EXPECT_EQ(refused([](V& t) {
              t.version = {2, 0};
            }),
            "DLPack: the tensor is of DLPack 2.0; Slipway takes version 1, and unversioned ones");
  EXPECT_EQ(refused([](V& t) { t.flags = 4; }), "DLPack: the tensor's elements are padded sub-bytes");
  EXPECT_THAT(refused([](V& t) { t.dl_tensor.shape[0] = -2; }), HasSubstr("extent -2 of dimension 0"));
  EXPECT_THAT(refused([](V& t) { t.dl_tensor.shape[0] = t.dl_tensor.shape[1] = int64_t{1} << 62; }),
              HasSubstr("is more elements than 63 bits count"));
  EXPECT_EQ(Message(FromDLPack(device_, static_cast<DLManagedTensor*>(nullptr)).status()),
            "DLPack: the tensor is null");
  const Device null_device = Device::Open(NullDriver()).value();
  EXPECT_THAT(Message(ToDLPack(AnyArray::Empty(null_device, DType::kInt8, {1}).value()).status()),
              MatchesRegex("DLPack: memory of .* cannot be reached by others"));
  Lent host({1}, {1});
  EXPECT_THAT(
      Message(FromDLPack(null_device, &host.managed).status()),
      MatchesRegex("DLPack: the tensor is in host memory, which .* does not reach; copy it \\(Array::From\\), or "
                   "open the CPU device"));
  host.managed.dl_tensor.device = {internal::kDlpackCuda, 3};
  EXPECT_THAT(Message(FromDLPack(null_device, &host.managed).status()),
              MatchesRegex("DLPack: the tensor is of device 3, and was given for .*; open the tensor's own device"));
  host.managed.dl_tensor.device = {7, 0};
  EXPECT_THAT(Message(FromDLPack(null_device, &host.managed).status()), HasSubstr("the tensor's device_type is 7; "));
  host.managed.dl_tensor.device = {internal::kDlpackCuda, 0};
  EXPECT_TRUE(FromDLPack(null_device, &host.managed).ok());
}

TEST_F(DLPackTest, AViewCostsNoOwner) {
  Lent lent({1, 2, 3}, {3});
  const AnyArrayView view = ViewOfDLPack(device_, lent.managed.dl_tensor).value();
  EXPECT_EQ(view.data(), lent.values.data());
  EXPECT_TRUE(ViewOfDLPack(device_, lent.managed.dl_tensor, /*read_only=*/true)->read_only());
  lent.managed.dl_tensor.dtype.bits = 8;
  EXPECT_FALSE(ViewOfDLPack(device_, lent.managed.dl_tensor).ok());
}

TEST_F(DLPackTest, WaitsForStreamsAsPythonNamesThem) {
  const Device null_device = Device::Open(NullDriver()).value();
  const Stream stream = null_device.CreateStream().value();
  for (const int64_t consumer : {int64_t{-1}, int64_t{1}, int64_t{2}}) {
    EXPECT_EQ(WaitFor(stream, consumer), absl::OkStatus());
  }
  EXPECT_EQ(Message(WaitFor(stream, 0)),
            "DLPack: the consumer's stream is 0, which may mean two; give 1 (legacy default) or 2 (of the thread)");
  EXPECT_EQ(Message(WaitFor(stream, -2)), "DLPack: the consumer's stream is -2, which no stream is");
  EXPECT_EQ(WaitFor(stream_, 0), absl::OkStatus());
}

TEST_F(DLPackTest, CudaArrayInterface) {
  std::vector<int16_t> values(24);
  std::iota(values.begin(), values.end(), int16_t{0});
  const auto x = Array<int16_t, 2>::From(device_, values, {4, 6}).value();
  const auto owner = std::make_shared<int>(0);
  const int64_t shape[] = {4, 3}, strides[] = {12, 4};
  CudaArrayInterface given = {
      .data = reinterpret_cast<uintptr_t>(x.data()), .typestr = "<i2", .ndim = 2, .shape = shape, .strides = strides};
  {
    const AnyArray y = FromCudaArrayInterface(device_, given, owner).value();
    EXPECT_GT(owner.use_count(), 1);
    EXPECT_THAT(y.strides(), ElementsAre(6, 2));
    EXPECT_THAT(y.ToVector<int16_t>().value(), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22));
    const auto exported = ToCudaArrayInterface(y, &stream_).value();
    EXPECT_STREQ(exported->array.typestr, "<i2");
    EXPECT_THAT(std::vector<int64_t>(exported->strides, exported->strides + 2), ElementsAre(12, 4));
    EXPECT_EQ(exported->array.stream, static_cast<int64_t>(reinterpret_cast<intptr_t>(stream_.handle())));
    EXPECT_EQ(ToCudaArrayInterface(x, nullptr).value()->array.strides, nullptr);
  }
  EXPECT_EQ(owner.use_count(), 1);
  given.stream = 1;
  EXPECT_TRUE(FromCudaArrayInterface(device_, given, owner, &stream_).ok());
  const auto refused = [&](const auto& spoil) {
    CudaArrayInterface spoilt = given;
    spoil(spoilt);
    return Message(FromCudaArrayInterface(device_, spoilt, owner).status());
  };
  const int64_t odd[] = {12, 3};
  EXPECT_EQ(refused([&](CudaArrayInterface& a) { a.strides = odd; }),
            "cuda array interface: the stride of dimension 1 is 3 bytes, which is no multiple of the 2 bytes of an "
            "element of '<i2'; copy it");
  for (const char* typestr : {">i2", "<i3", "V8", "", "<i", "|i2", "<i2x", "<m8"}) {
    EXPECT_EQ(refused([&](CudaArrayInterface& a) { a.typestr = typestr; }),
              absl::StrCat("cuda array interface: typestr is '", typestr,
                           "'; Slipway takes little-endian b1, i, u, f and c types"));
  }
  EXPECT_EQ(refused([](CudaArrayInterface& a) { a.typestr = nullptr; }),
            "cuda array interface: typestr is ''; Slipway takes little-endian b1, i, u, f and c types");
  EXPECT_EQ(refused([](CudaArrayInterface& a) { a.version = 1; }),
            "cuda array interface: version is 1; Slipway takes 2 and 3");
  EXPECT_EQ(refused([](CudaArrayInterface& a) { a.ndim = 9; }),
            "cuda array interface: shape has 9 dimensions; arrays have 0 to 8");
  EXPECT_EQ(refused([](CudaArrayInterface& a) { a.shape = nullptr; }),
            "cuda array interface: shape is null and ndim is 2");
  EXPECT_EQ(refused([](CudaArrayInterface& a) { a.stream = 0; }),
            "cuda array interface: stream is 0, which the protocol forbids");
  EXPECT_EQ(refused([](CudaArrayInterface& a) { a.data = 0; }),
            "cuda array interface: data is 0, and int16[4,3] strides [6,2] has elements there: give an address that is "
            "a multiple of 2");
}

}  // namespace
}  // namespace slipway
