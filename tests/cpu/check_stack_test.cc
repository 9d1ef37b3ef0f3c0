// SLIPWAY_CPU_CHECK=memory,stack: who made the launch.
#include <cstdlib>

#include "tests/cpu/check_fixture.h"

// The program's, of external linkage: it has a name to be found by.
[[gnu::noinline]] slipway::CUresult LaunchesFromHere(slipway::CUfunction function, slipway::CUstream stream,
                                                     slipway::CUdeviceptr address) {
  slipway::cpu::LaunchBuffer buffer(address);
  const slipway::CUresult result =
      slipway::cpu::Api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer.extra());
  asm volatile("" ::: "memory");  // No tail call.
  return result;
}

namespace slipway::cpu {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

const bool check_is_set = [] {
  setenv("SLIPWAY_CPU_CHECK", "memory,stack", /*overwrite=*/1);
  return true;
}();

constexpr char kKernel[] = R"(
.visible .entry k(.param .u64 p)
{
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [p]; ld.global.u32 %r, [%a]; ret;
})";

class CheckStack : public CheckTest {};

TEST_F(CheckStack, OfALaunch) {
  CUfunction function = Load(kKernel);
  testing::internal::CaptureStderr();
  EXPECT_CUDA(LaunchesFromHere(function, nullptr, 0));
  EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("a null pointer\n  kernel k, block (0,0,0), thread (0,0,0), line "),
                    HasSubstr(" of the PTX\n  launched by\n    #0 "), HasSubstr("LaunchesFromHere"),
                    HasSubstr("(cpu_check_stack_test)"), ContainsRegex("\n    #[1-9][0-9]* [^\n]*main")));
}

TEST_F(CheckStack, OfALaunchThatWasCaptured) {
  CUstream stream = NewStream();
  CUfunction function = Load(kKernel);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(LaunchesFromHere(function, stream, 0));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  testing::internal::CaptureStderr();
  ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("LaunchesFromHere"));
}

}  // namespace
}  // namespace slipway::cpu
