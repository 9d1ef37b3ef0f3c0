// Damages a bitcode file in every way of a kind, and says what comes of it: for looking at what LLVM does with it,
// which no test can promise. damaged_bitcode flip|cut STEP prints how many were refused, taken, and ended the process;
// with AT one alone is tried, in this process.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "slipway/slipway.h"
#include "tests/embedded/bitcode.h"

namespace slipway {
namespace {

constexpr char kIr[] = R"(
@table = addrspace(4) constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
@counter = global i32 0
define internal float @half(float %x) noinline {
  %r = fmul float %x, 5.000000e-01
  ret float %r
}
define float @mean(float %a, float %b) {
entry:
  %s = fadd float %a, %b
  %m = call float @half(float %s)
  %c = fcmp ogt float %m, 2.0
  br i1 %c, label %loop, label %done
loop:
  %i = phi i32 [0, %entry], [%n, %loop]
  %x = phi float [%m, %entry], [%y, %loop]
  %p = getelementptr [4 x float], ptr addrspace(4) @table, i32 0, i32 %i
  %t = load float, ptr addrspace(4) %p
  %y = call float @llvm.fma.f32(float %x, float %t, float %m)
  %n = add i32 %i, 1
  %old = atomicrmw add ptr @counter, i32 1 syncscope("device") monotonic
  %e = icmp eq i32 %n, 4
  br i1 %e, label %done, label %loop
done:
  %r = phi float [%m, %entry], [%y, %loop]
  ret float %r
}
declare float @llvm.fma.f32(float, float, float)
)";

std::string Damaged(std::string bytes, bool flip, size_t at) {
  if (!flip) return bytes.substr(0, at);
  bytes[at / 8] = static_cast<char>(bytes[at / 8] ^ 1 << at % 8);
  return bytes;
}

int Try(std::string bytes) {
  absl::StatusOr<DeviceLibrary> library = DeviceLibrary::FromBitcode(std::move(bytes), "lib.bc");
  if (!library.ok()) return 1;
  const ExternalFunction<float(float, float)> mean("mean", *library);
  const auto kernel = MakeKernel("means", [&](ArrayVar<float, 1> y, Var<float> x) { y[0] = mean(x, 4); });
  const absl::Status status = kernel.CompiledFor(Target{.sm = 75, .ptx_isa = 63}).status();
  if (status.code() == absl::StatusCode::kInternal) std::printf("%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : status.code() == absl::StatusCode::kInternal ? 3 : 2;
}

int Main(int argc, char** argv) {
  const std::string how = argc >= 3 ? argv[1] : "";
  const int step = argc >= 3 ? std::atoi(argv[2]) : 0;
  if ((how != "flip" && how != "cut") || step < 1)
    return std::fputs("usage: damaged_bitcode flip|cut STEP [AT]\n", stderr), 2;
  const std::string whole = Bitcode(kIr);
  if (Try(whole) != 0) return std::fputs("the whole does not compile\n", stderr), 1;
  const size_t ways = how == "flip" ? 8 * whole.size() : whole.size();
  if (argc == 4) return Try(Damaged(whole, how == "flip", static_cast<size_t>(std::atoi(argv[3]))));
  std::map<std::string, int> results;
  for (size_t i = 0; i < ways; i += static_cast<size_t>(step)) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::freopen("/dev/null", "w", stderr);
      const int result = Try(Damaged(whole, how == "flip", i));
      std::fflush(stdout);
      _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const char* const kNames[] = {"compiled", "refused when read", "refused when compiled", "INTERNAL"};
    const std::string result = WIFEXITED(status) && WEXITSTATUS(status) < 4 ? kNames[WEXITSTATUS(status)]
                               : WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                                     : "ended with " + std::to_string(WEXITSTATUS(status));
    if (result[0] == 'e' || result[0] == 'I') std::printf("%s %zu: %s\n", how.c_str(), i, result.c_str());
    ++results[result];
  }
  for (const auto& [result, count] : results) std::printf("%d %s\n", count, result.c_str());
  return 0;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) { return slipway::Main(argc, argv); }
