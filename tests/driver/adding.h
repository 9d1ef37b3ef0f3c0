// A kernel that adds a number to each of some integers, launched by hand as the launch layer does it.
#ifndef SLIPWAY_TESTS_DRIVER_ADDING_H_
#define SLIPWAY_TESTS_DRIVER_ADDING_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "slipway/graph.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/stream.h"
#include "tests/assembled.h"

namespace slipway {

inline constexpr char kAddingPtx[] = R"(
.version 6.3
.target sm_70
.address_size 64

.visible .entry add(.param .u64 sums, .param .u32 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [sums];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r3, [%rd4];
  add.u32 %r3, %r3, %r1;
  st.global.u32 [%rd4], %r3;
  ret;
}
)";

// 100 integers on a device, zeros at first.
class Sums {
 public:
  using Values = std::array<int32_t, 100>;
  explicit Sums(const Device& device) : memory_(DeviceMemory::Allocate(device, sizeof(Values)).value()) {
    const Values zeros = {};
    EXPECT_TRUE(memory_.CopyFromHost(zeros.data(), sizeof(zeros)).ok());
  }
  CUdeviceptr address() const { return memory_.address(); }
  const DeviceMemory& memory() const { return memory_; }
  Values Read() const {
    Values values = {};
    EXPECT_TRUE(memory_.CopyToHost(values.data(), sizeof(values)).ok());
    return values;
  }

 private:
  DeviceMemory memory_;
};

// Grid, block and arguments of one launch. Stays where it is made, since it points into itself.
class AddingArguments {
 public:
  AddingArguments(CUfunction function, const Sums& sums, int32_t value)
      : function_(function), sums_(sums.address()), value_(value) {}
  AddingArguments(const AddingArguments&) = delete;
  AddingArguments& operator=(const AddingArguments&) = delete;
  void** params() { return params_; }
  CUDA_KERNEL_NODE_PARAMS node() {
    CUDA_KERNEL_NODE_PARAMS node = {};
    node.func = function_;
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = static_cast<unsigned>(Sums::Values().size());
    node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = params_;
    return node;
  }

 private:
  CUfunction function_;
  CUdeviceptr sums_;
  int32_t value_;
  void* params_[2] = {&sums_, &value_};
};

class Adding {
 public:
  explicit Adding(const Device& device)
      : module_(std::make_shared<const Module>(Module::LoadPtx(device, kAddingPtx).value())),
        function_(module_->GetFunction("add").value()) {
    AssembleAfterTests(kAddingPtx);
  }
  std::shared_ptr<const void> owner() const { return module_; }
  AddingArguments Arguments(const Sums& sums, int32_t value) const { return {function_, sums, value}; }

  // Adds `value` to each of `sums`; in a capture as the launch layer does, under `key`.
  void Launch(const Stream& stream, const Sums& sums, int32_t value, uint64_t key = 0) const {
    const std::shared_ptr<internal::CaptureRecord> capture = stream.capture();
    AddingArguments arguments(function_, sums, value);
    ASSERT_EQ(stream.device().api().LaunchKernel(function_, 1, 1, 1, static_cast<unsigned>(Sums::Values().size()), 1, 1,
                                                 0, stream.handle(), arguments.params(), nullptr),
              CUDA_SUCCESS);
    if (capture == nullptr) return;
    capture->Keep(owner());
    capture->Keep(internal::OwnerOf(sums.address()));
    ASSERT_TRUE(capture->NoteLaunch(stream, key).ok());
  }

 private:
  std::shared_ptr<const Module> module_;
  CUfunction function_;
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_DRIVER_ADDING_H_
