#include "driver/cpu/translate/special_registers.h"

#include <cstddef>

#include "driver/cpu/program.h"
#include "driver/cpu/translate/launch_fields.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

// The thread's number in its block, x fastest.
Value* LinearThread(Emitter& e) {
  const ThreadContext& t = e.thread;
  if (t.linear != nullptr) return t.linear;
  Value* yz = e.b.CreateAdd(t.thread[1], e.b.CreateMul(t.thread[2], t.block_size[1]));
  return e.b.CreateAdd(t.thread[0], e.b.CreateMul(yz, t.block_size[0]));
}
Value* Lane(Emitter& e) {
  if (e.thread.lane != nullptr) return e.thread.lane;
  return e.b.CreateAnd(LinearThread(e), 31);
}
Value* LaneBit(Emitter& e) { return e.b.CreateShl(e.Int(32, 1), Lane(e)); }

struct Row {
  std::string_view name;
  Value* (*value)(Emitter&);
};

const Row kRows[] = {
    {"%tid.x", [](Emitter& e) { return e.thread.thread[0]; }},
    {"%tid.y", [](Emitter& e) { return e.thread.thread[1]; }},
    {"%tid.z", [](Emitter& e) { return e.thread.thread[2]; }},
    {"%ctaid.x", [](Emitter& e) { return e.thread.block[0]; }},
    {"%ctaid.y", [](Emitter& e) { return e.thread.block[1]; }},
    {"%ctaid.z", [](Emitter& e) { return e.thread.block[2]; }},
    {"%ntid.x", [](Emitter& e) { return e.thread.block_size[0]; }},
    {"%ntid.y", [](Emitter& e) { return e.thread.block_size[1]; }},
    {"%ntid.z", [](Emitter& e) { return e.thread.block_size[2]; }},
    {"%nctaid.x", [](Emitter& e) { return e.thread.grid_size[0]; }},
    {"%nctaid.y", [](Emitter& e) { return e.thread.grid_size[1]; }},
    {"%nctaid.z", [](Emitter& e) { return e.thread.grid_size[2]; }},
    {"%laneid", &Lane},
    {"%warpid", [](Emitter& e) { return e.b.CreateLShr(LinearThread(e), 5); }},
    {"%nwarpid",
     [](Emitter& e) {
       const ThreadContext& t = e.thread;
       Value* threads = e.b.CreateMul(e.b.CreateMul(t.block_size[0], t.block_size[1]), t.block_size[2]);
       return e.b.CreateLShr(e.b.CreateAdd(threads, e.Int(32, 31)), 5);
     }},
    {"%lanemask_eq", &LaneBit},
    {"%lanemask_lt", [](Emitter& e) { return e.b.CreateSub(LaneBit(e), e.Int(32, 1)); }},
    {"%lanemask_le", [](Emitter& e) { return e.b.CreateOr(LaneBit(e), e.b.CreateSub(LaneBit(e), e.Int(32, 1))); }},
    {"%lanemask_ge", [](Emitter& e) { return e.b.CreateNeg(LaneBit(e)); }},
    {"%lanemask_gt",
     [](Emitter& e) { return e.b.CreateNot(e.b.CreateOr(LaneBit(e), e.b.CreateSub(LaneBit(e), e.Int(32, 1)))); }},
    {"%smid", [](Emitter& e) { return e.Int(32, 0); }},
    {"%nsmid", [](Emitter& e) { return e.Int(32, 1); }},
    {"%envreg1", [](Emitter& e) { return e.Int(32, 0); }},
    {"%envreg2", [](Emitter& e) { return e.Int(32, 0); }},
    {"%gridid",
     [](Emitter& e) -> Value* {
       return LoadLaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, grid_id), e.b.getInt64Ty());
     }},
    {"%dynamic_smem_size",
     [](Emitter& e) -> Value* {
       return LoadLaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, dynamic_shared_bytes), e.b.getInt32Ty());
     }},
    {"%clock64",
     [](Emitter& e) -> Value* { return e.b.CreateIntrinsic(e.b.getInt64Ty(), llvm::Intrinsic::readcyclecounter, {}); }},
    {"%clock",
     [](Emitter& e) -> Value* { return e.b.CreateIntrinsic(e.b.getInt64Ty(), llvm::Intrinsic::readcyclecounter, {}); }},
};

}  // namespace

Value* SpecialRegister(Emitter& e, std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.value(e);
  }
  e.Unsupported("'", name, "' is no register of this function, nor a special register that the CPU device has");
  return nullptr;
}

}  // namespace slipway::cpu
