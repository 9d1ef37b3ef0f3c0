"""What the clients of the CPU device's libcuda.so.1 share: sizes, inputs, expected values, and the way to tell of a check."""

import sys
import traceback

import numpy as np

N = 10_000
BLOCK = 256
BINS = 16

rng = np.random.default_rng(8)
x = rng.standard_normal(N).astype(np.float32)
y = rng.standard_normal(N).astype(np.float32)
numbers = rng.integers(0, 1000, N).astype(np.int32)

# The same kernels in CUDA C++, for the clients that compile it.
SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void block_sums(const int* numbers, int* sums, int n) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? numbers[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
extern "C" __global__ void histogram(const int* numbers, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[numbers[i] % 16], 1u);
}
extern "C" __global__ void warp_sums(const int* numbers, int* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = i < n ? numbers[i] : 0;
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}
"""


def nvrtc_ptx(source=SOURCE, options=()):
    """PTX that NVRTC, through cuda.bindings, makes of CUDA C++."""
    from cuda.bindings import nvrtc

    def check(result):
        if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(result[0])
        return result[1] if len(result) == 2 else None

    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], []))
    arguments = [b"--gpu-architecture=compute_90", *(option.encode() for option in options)]
    check(nvrtc.nvrtcCompileProgram(program, len(arguments), arguments))
    ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx


def blocks():
    return (N + BLOCK - 1) // BLOCK


def sums_of(width):
    padded = np.zeros(blocks() * BLOCK, np.int64)
    padded[:N] = numbers
    return padded.reshape(-1, width).sum(axis=1).astype(np.int32)


def check_saxpy(a, got):
    exact = np.float64(np.float32(a)) * x.astype(np.float64) + y.astype(np.float64)
    # One rounding where multiplication and addition are contracted, two where they are not.
    np.testing.assert_allclose(got, exact, rtol=3e-7, atol=3e-7)


def check_block_sums(got):
    np.testing.assert_array_equal(got, sums_of(BLOCK))


def check_histogram(got):
    np.testing.assert_array_equal(got, np.bincount(numbers % BINS, minlength=BINS))


def check_warp_sums(got):
    np.testing.assert_array_equal(got, sums_of(32))


def run(checks):
    """Runs each check, prints a line for it, and exits with 1 if one failed."""
    failed = 0
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            check()
        except Exception:  # Whatever it is: the other checks still tell something.
            failed += 1
            print(f"{name}\tfailed", flush=True)
            traceback.print_exc()
        else:
            print(f"{name}\tok", flush=True)
    sys.exit(1 if failed else 0)
