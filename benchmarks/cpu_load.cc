// What loading a module of one small kernel costs on the CPU device.
//
//   cpu_load [--repeat 20]
//
// Microseconds: the first load of the process, the median of loads of other texts after it, and of a text that the
// object cache has. The kernels differ in a constant. `plain` has no waits, `barrier` has one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "slipway/cpu_device.h"

namespace {

using slipway::CpuDriver;

std::string Plain(int constant) {
  return ".version 7.0\n.target sm_75\n.address_size 64\n"
         ".visible .entry k(.param .u64 z, .param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)\n{\n"
         ".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %l<8>; .reg .f32 %f<6>;\n"
         "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r0, %r1, %r2;\n"
         "ld.param.u32 %r4, [n]; setp.ge.s32 %p, %r3, %r4; @%p bra END;\n"
         "ld.param.u64 %l0, [x]; ld.param.u64 %l1, [y]; ld.param.u64 %l2, [z]; ld.param.f32 %f0, [a];\n"
         "mul.wide.s32 %l3, %r3, 4; add.s64 %l4, %l0, %l3; add.s64 %l5, %l1, %l3; add.s64 %l6, %l2, %l3;\n"
         "ld.global.f32 %f1, [%l4]; ld.global.f32 %f2, [%l5]; fma.rn.f32 %f3, %f0, %f1, %f2;\n"
         "add.f32 %f3, %f3, " +
         std::to_string(constant) + ".5; st.global.f32 [%l6], %f3;\nEND: ret;\n}\n";
}

std::string Barrier(int constant) {
  return ".version 7.0\n.target sm_75\n.address_size 64\n"
         ".visible .entry k(.param .u64 z)\n{\n"
         ".reg .b32 %r<6>; .reg .b64 %l<4>; .shared .align 4 .b32 s[256];\n"
         "mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;\n"
         "add.u32 %r4, %r0, " +
         std::to_string(constant) +
         "; st.shared.u32 [%r3], %r4; bar.sync 0; xor.b32 %r1, %r1, 4; add.u32 %r3, %r2, %r1;\n"
         "ld.shared.u32 %r5, [%r3]; ld.param.u64 %l0, [z]; mul.wide.u32 %l1, %r0, 4; add.u64 %l1, %l0, %l1;\n"
         "st.global.u32 [%l1], %r5; ret;\n}\n";
}

double Load(const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  slipway::CUmodule module = nullptr;
  const slipway::CUresult result = CpuDriver().ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (result != slipway::CUDA_SUCCESS) {
    std::fprintf(stderr, "cpu_load: the kernel does not load: %d\n", result);
    std::exit(1);
  }
  CpuDriver().ModuleUnload(module);
  return took.count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int repeat = 20;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--repeat") == 0 && i + 1 < argc && (repeat = std::atoi(argv[++i])) > 0) continue;
    std::fprintf(stderr, "usage: cpu_load [--repeat N]\n");
    return 2;
  }
  slipway::CUcontext context = nullptr;
  if (CpuDriver().Init(0) != slipway::CUDA_SUCCESS ||
      CpuDriver().DevicePrimaryCtxRetain(&context, 0) != slipway::CUDA_SUCCESS ||
      CpuDriver().CtxSetCurrent(context) != slipway::CUDA_SUCCESS) {
    std::fprintf(stderr, "cpu_load: no CPU device\n");
    return 1;
  }
  std::printf("%-10s %12s %12s %12s   microseconds\n", "kernel", "first", "cold", "cached");
  for (const auto& [name, text] :
       {std::pair<const char*, std::function<std::string(int)>>("plain", Plain), {"barrier", Barrier}}) {
    const double first = Load(text(0));
    std::vector<double> cold, cached;
    for (int i = 1; i <= repeat; ++i) {
      cold.push_back(Load(text(i)));
      cached.push_back(Load(text(i)));
    }
    std::printf("%-10s %12.0f %12.0f %12.0f\n", name, first, Median(cold), Median(cached));
  }
  return 0;
}
