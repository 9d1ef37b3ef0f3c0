// Translated PTX beside a native loop: z = a * x + y over float32 arrays, on as many threads.
//
//   cpu_saxpy [--n 10000000] [--threads N] [--repeat 15]
//
// The kernel is what the front ends emit: one thread an element, `if (i < n)`, arrays by value as {data, shape,
// strides} or {data, shape}. Both sides run on the same threads, alternating, on the same arrays; the median of each is
// printed with their ratio.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "driver/cpu/program.h"

namespace {

using slipway::cpu::CpuKernel;
using slipway::cpu::CpuLaunch;
using slipway::cpu::Program;

constexpr uint32_t kBlock = 256;

// As LLVM's NVPTX back end prints it: strides of 8 bytes each, 64-bit indices.
constexpr char kStrided[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .align 8 .b8 saxpy_param_0[24],
	.param .align 8 .b8 saxpy_param_1[24],
	.param .align 8 .b8 saxpy_param_2[24],
	.param .f32 saxpy_param_3,
	.param .u64 saxpy_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<26>;

	ld.param.b64 	%rd5, [saxpy_param_4];
	mov.u32 	%r2, %tid.x;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	cvt.u64.u32 	%rd6, %r2;
	mul.wide.u32 	%rd7, %r3, %r4;
	add.s64 	%rd4, %rd7, %rd6;
	setp.ge.s64 	%p1, %rd4, %rd5;
	@%p1 bra 	$L__BB0_2;
	ld.param.b32 	%r1, [saxpy_param_3];
	mov.b64 	%rd3, saxpy_param_0;
	mov.b64 	%rd1, saxpy_param_2;
	mov.b64 	%rd2, saxpy_param_1;
	ld.param.b64 	%rd8, [%rd2];
	cvta.to.global.u64 	%rd9, %rd8;
	ld.param.b64 	%rd10, [%rd2+16];
	ld.param.b64 	%rd11, [%rd1];
	cvta.to.global.u64 	%rd12, %rd11;
	ld.param.b64 	%rd13, [%rd1+16];
	ld.param.b64 	%rd14, [%rd3];
	cvta.to.global.u64 	%rd15, %rd14;
	ld.param.b64 	%rd16, [%rd3+16];
	mul.lo.s64 	%rd17, %rd4, %rd10;
	mul.lo.s64 	%rd18, %rd4, %rd13;
	mul.lo.s64 	%rd19, %rd4, %rd16;
	shl.b64 	%rd20, %rd17, 2;
	add.s64 	%rd21, %rd9, %rd20;
	shl.b64 	%rd22, %rd18, 2;
	add.s64 	%rd23, %rd12, %rd22;
	shl.b64 	%rd24, %rd19, 2;
	add.s64 	%rd25, %rd15, %rd24;
	ld.global.b32 	%r5, [%rd21];
	ld.global.b32 	%r6, [%rd23];
	fma.rn.f32 	%r7, %r1, %r5, %r6;
	st.global.b32 	[%rd25], %r7;
$L__BB0_2:
	ret;
}
)";

// The same for contiguous arrays and an index that fits in 32 bits.
constexpr char kContiguous[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .align 8 .b8 saxpy_param_0[16],
	.param .align 8 .b8 saxpy_param_1[16],
	.param .align 8 .b8 saxpy_param_2[16],
	.param .f32 saxpy_param_3,
	.param .u64 saxpy_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<14>;

	ld.param.b32 	%r5, [saxpy_param_4];
	mov.u32 	%r2, %tid.x;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mad.lo.s32 	%r6, %r3, %r4, %r2;
	setp.ge.s32 	%p1, %r6, %r5;
	@%p1 bra 	$L__BB0_2;
	ld.param.b32 	%r1, [saxpy_param_3];
	ld.param.b64 	%rd1, [saxpy_param_0];
	cvta.to.global.u64 	%rd4, %rd1;
	ld.param.b64 	%rd2, [saxpy_param_1];
	cvta.to.global.u64 	%rd5, %rd2;
	ld.param.b64 	%rd3, [saxpy_param_2];
	cvta.to.global.u64 	%rd6, %rd3;
	mul.wide.s32 	%rd7, %r6, 4;
	add.s64 	%rd8, %rd5, %rd7;
	ld.global.b32 	%r7, [%rd8];
	add.s64 	%rd9, %rd6, %rd7;
	ld.global.b32 	%r8, [%rd9];
	fma.rn.f32 	%r9, %r1, %r7, %r8;
	add.s64 	%rd10, %rd4, %rd7;
	st.global.b32 	[%rd10], %r9;
$L__BB0_2:
	ret;
}
)";

struct StridedArray {
  const float* data;
  int64_t shape, stride;
};
struct ContiguousArray {
  const float* data;
  int64_t shape;
};
template <class Array>
struct alignas(16) Params {
  Array z, x, y;
  float a;
  int64_t n;
};

__attribute__((noinline)) void NativeSaxpy(float* z, const float* x, const float* y, float a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

// Runs f(part) on `threads` threads and gives the seconds that it took.
double Timed(int threads, const std::function<void(int)>& f) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int part = 1; part < threads; ++part) others.emplace_back(f, part);
  f(0);
  for (std::thread& thread : others) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class P>
int Compare(const char* name, const char* ptx, P params, int threads, int repeat, float* z, const float* x,
            const float* y) {
  absl::StatusOr<std::unique_ptr<Program>> program = Program::Load(ptx);
  if (!program.ok()) {
    std::fprintf(stderr, "%s\n", std::string(program.status().message()).c_str());
    return 1;
  }
  const CpuKernel* kernel = (*program)->FindKernel("saxpy");
  const int64_t n = params.n;
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.block[0] = kBlock;
  launch.grid[0] = static_cast<uint32_t>((n + kBlock - 1) / kBlock);
  const auto share = [&](int64_t total, int part) { return total * part / threads; };
  std::vector<double> native, translated;
  for (int i = 0; i < repeat; ++i) {
    native.push_back(Timed(threads, [&](int part) {
      const int64_t begin = share(n, part), end = share(n, part + 1);
      NativeSaxpy(z + begin, x + begin, y + begin, params.a, end - begin);
    }));
    const float expected = z[n / 3];
    z[n / 3] = 0;
    translated.push_back(Timed(threads, [&](int part) {
      kernel->run(&launch, share(launch.grid[0], part), share(launch.grid[0], part + 1), nullptr);
    }));
    if (z[n / 3] != expected) {
      std::fprintf(stderr, "%s: wrong value\n", name);
      return 1;
    }
  }
  const double native_time = Median(native), translated_time = Median(translated);
  std::printf("%-12s native %8.3f ms   translated %8.3f ms   ratio %.3f\n", name, native_time * 1e3,
              translated_time * 1e3, translated_time / native_time);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t n = 10'000'000;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  int repeat = 15;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const long long value = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;  // NOLINT(google-runtime-int)
    if (value > 0 && argument == "--n") {
      n = value;
    } else if (value > 0 && argument == "--threads") {
      threads = static_cast<int>(value);
    } else if (value > 0 && argument == "--repeat") {
      repeat = static_cast<int>(value);
    } else {
      std::fprintf(stderr, "usage: cpu_saxpy [--n N] [--threads N] [--repeat N]\n");
      return 2;
    }
    ++i;
  }
  std::vector<float> x(n, 1.5F), y(n, 2.25F), z(n, 0.0F);
  std::printf("saxpy of %lld float32 on %d threads\n", static_cast<long long>(n),
              threads);  // NOLINT(google-runtime-int)
  const Params<StridedArray> strided{{z.data(), n, 1}, {x.data(), n, 1}, {y.data(), n, 1}, 3.0F, n};
  const Params<ContiguousArray> contiguous{{z.data(), n}, {x.data(), n}, {y.data(), n}, 3.0F, n};
  const int failed = Compare("strided", kStrided, strided, threads, repeat, z.data(), x.data(), y.data());
  return failed | Compare("contiguous", kContiguous, contiguous, threads, repeat, z.data(), x.data(), y.data());
}
