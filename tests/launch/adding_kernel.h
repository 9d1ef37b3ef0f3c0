// A kernel that adds a number to the elements of an array: PTX written by hand, for every way to launch it.
#ifndef SLIPWAY_TESTS_LAUNCH_ADDING_KERNEL_H_
#define SLIPWAY_TESTS_LAUNCH_ADDING_KERNEL_H_

#include <cstdint>
#include <memory>

#include "slipway/kernel.h"
#include "slipway/typed_kernel.h"
#include "tests/assembled.h"

namespace slipway {

// x[i] += value, for i below the extent, after `rounds` reads of x[i].
inline constexpr char kAddingPtx[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry add(
  .param .align 8 .b8 x[24],
  .param .u32 value,
  .param .u32 rounds)
{
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd1, %r4;
  ld.param.u64 %rd2, [x+8];
  setp.ge.u64 %p1, %rd1, %rd2;
  @%p1 bra done;
  ld.param.u64 %rd3, [x];
  ld.param.u64 %rd4, [x+16];
  mul.lo.u64 %rd5, %rd1, %rd4;
  shl.b64 %rd6, %rd5, 2;
  add.u64 %rd7, %rd3, %rd6;
  ld.param.u32 %r5, [value];
  ld.param.u32 %r6, [rounds];
  mov.u32 %r7, 0;
again:
  ld.volatile.global.u32 %r8, [%rd7];
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p2, %r7, %r6;
  @%p2 bra again;
  add.u32 %r9, %r8, %r5;
  st.global.u32 [%rd7], %r9;
done:
  ret;
}
)";

using AddingKernel = TypedKernel<ArrayView<int32_t, 1>, int32_t, int32_t>;

// The kernel before it is loaded.
inline CompiledKernel CompiledAdding() {
  AssembleAfterTests(kAddingPtx);
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx = kAddingPtx;
  Signature signature = {
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kInt32, .rank = 1, .layout = Layout::kStrided},
      {.name = "value", .kind = ParamKind::kScalar, .dtype = DType::kInt32},
      {.name = "rounds", .kind = ParamKind::kScalar, .dtype = DType::kInt32}};
  return {"add", std::move(signature), std::move(inspection)};
}

inline AddingKernel LoadAdding(const Device& device) { return AddingKernel::Load(device, CompiledAdding()).value(); }

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCH_ADDING_KERNEL_H_
