#include "driver/cpu/translate/special_registers.h"

#include <cstddef>

#include "driver/cpu/program.h"
#include "driver/cpu/translate/launch_fields.h"
#include "driver/cpu/translate/module_translator.h"
#include "driver/ptx/message.h"
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

Value* Clock64(Emitter& e) { return e.b.CreateIntrinsic(e.b.getInt64Ty(), llvm::Intrinsic::readcyclecounter, {}); }
Value* GlobalTimer(Emitter& e) { return e.CallHost("slipway_global_timer", e.b.getInt64Ty(), {}); }
Value* UpperHalf(Emitter& e, Value* value) { return e.b.CreateLShr(value, 32); }
Value* Zero(Emitter& e) { return e.Int(64, 0); }
Value* One(Emitter& e) { return e.Int(64, 1); }

// Shared memory of a block that a kernel asks for, in the units in which it is given: 128 bytes from sm_80 on, 256
// before (PTX ISA 10, %total_smem_size).
Value* TotalSharedBytes(Emitter& e) {
  if (!e.function.is_kernel) {
    e.Unsupported("the size of shared memory in a function that is no kernel");
    return e.Int(32, 0);
  }
  const uint64_t unit = e.module.source->sm < 80 ? 256 : 128;
  Value* dynamic = LoadLaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, dynamic_shared_bytes), e.b.getInt32Ty());
  Value* bytes = e.b.CreateAdd(dynamic, e.Int(32, e.module.shared_end + unit - 1));
  return e.b.CreateAnd(bytes, e.Int(32, ~(unit - 1) & 0xffffffff));
}

Value* GridWorkspace(Emitter& e) {
  return LoadLaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, grid_workspace), e.b.getInt64Ty());
}

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
    {"%gridid",
     [](Emitter& e) -> Value* {
       return LoadLaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, grid_id), e.b.getInt64Ty());
     }},
    {"%envreg1", [](Emitter& e) { return e.b.CreateTrunc(e.b.CreateLShr(GridWorkspace(e), 32), e.b.getInt32Ty()); }},
    {"%envreg2", [](Emitter& e) { return e.b.CreateTrunc(GridWorkspace(e), e.b.getInt32Ty()); }},
    {"%dynamic_smem_size",
     [](Emitter& e) -> Value* {
       return LoadLaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, dynamic_shared_bytes), e.b.getInt32Ty());
     }},
    {"%total_smem_size", &TotalSharedBytes},
    // With what the system takes of each block's: a KiB from 8.0 on (CUDA C++ Best Practices Guide, occupancy).
    {"%aggr_smem_size",
     [](Emitter& e) { return e.b.CreateAdd(TotalSharedBytes(e), e.Int(32, e.module.source->sm < 80 ? 0 : 1024)); }},
    {"%clock64", &Clock64},
    {"%clock", &Clock64},
    {"%clock_hi", [](Emitter& e) { return UpperHalf(e, Clock64(e)); }},
    {"%globaltimer", &GlobalTimer},
    {"%globaltimer_lo", &GlobalTimer},
    {"%globaltimer_hi", [](Emitter& e) { return UpperHalf(e, GlobalTimer(e)); }},
    // Every block is a cluster.
    {"%clusterid.x", [](Emitter& e) { return e.thread.block[0]; }},
    {"%clusterid.y", [](Emitter& e) { return e.thread.block[1]; }},
    {"%clusterid.z", [](Emitter& e) { return e.thread.block[2]; }},
    {"%nclusterid.x", [](Emitter& e) { return e.thread.grid_size[0]; }},
    {"%nclusterid.y", [](Emitter& e) { return e.thread.grid_size[1]; }},
    {"%nclusterid.z", [](Emitter& e) { return e.thread.grid_size[2]; }},
    {"%cluster_ctaid.x", &Zero},
    {"%cluster_ctaid.y", &Zero},
    {"%cluster_ctaid.z", &Zero},
    {"%cluster_nctaid.x", &One},
    {"%cluster_nctaid.y", &One},
    {"%cluster_nctaid.z", &One},
    {"%cluster_ctarank", &Zero},
    {"%cluster_nctarank", &One},
    {"%is_explicit_cluster", &Zero},
    {"%current_graph_exec", &Zero},  // No graph is launched by a kernel.
};

// Registers of a family that are all 0: %envreg0 to 31, which a driver sets for itself (but for two), and the
// performance counters %pm0 to 7, of 32 bits and (_64) of 64.
bool IsZeroByNumber(std::string_view name) {
  static constexpr struct {
    std::string_view before, after;
    int count;
  } kFamilies[] = {{"%envreg", "", 32}, {"%pm", "", 8}, {"%pm", "_64", 8}};
  for (const auto& family : kFamilies) {
    for (int i = 0; i < family.count; ++i) {
      if (name == ptx::Concat(family.before, i, family.after)) return true;
    }
  }
  return false;
}

}  // namespace

Value* SpecialRegister(Emitter& e, std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.value(e);
  }
  if (IsZeroByNumber(name)) return Zero(e);
  e.Unsupported("'", name, "' is no register of this function, nor a special register that the CPU device has");
  return nullptr;
}

}  // namespace slipway::cpu
