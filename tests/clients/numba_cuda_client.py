"""numba-cuda: kernels in Python, through PTX."""

import without_nvjitlink  # noqa: F401: before numba.

import numpy as np
from numba import cuda, int32

import common
from common import BINS, BLOCK, N, blocks, numbers, x, y


@cuda.jit
def saxpy_kernel(a, x, y, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = a * x[i] + y[i]


@cuda.jit
def block_sums_kernel(numbers, sums):
    part = cuda.shared.array(BLOCK, int32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    part[t] = numbers[i] if i < numbers.shape[0] else 0
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def histogram_kernel(numbers, bins):
    i = cuda.grid(1)
    if i < numbers.shape[0]:
        cuda.atomic.add(bins, numbers[i] % BINS, 1)


@cuda.jit
def warp_sums_kernel(numbers, sums):
    i = cuda.grid(1)
    total = numbers[i] if i < numbers.shape[0] else int32(0)
    distance = 16
    while distance > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, distance)
        distance //= 2
    if cuda.threadIdx.x % 32 == 0:
        sums[i // 32] = total


def saxpy():
    out = np.zeros_like(x)
    saxpy_kernel[blocks(), BLOCK](np.float32(2.5), x, y, out)
    common.check_saxpy(2.5, out)


def shared_memory_reduction():
    sums = cuda.device_array(blocks(), np.int32)
    block_sums_kernel[blocks(), BLOCK](cuda.to_device(numbers), sums)
    common.check_block_sums(sums.copy_to_host())


def atomics():
    bins = cuda.to_device(np.zeros(BINS, np.int32))
    histogram_kernel[blocks(), BLOCK](cuda.to_device(numbers), bins)
    common.check_histogram(bins.copy_to_host())


def shuffles():
    sums = cuda.device_array(blocks() * BLOCK // 32, np.int32)
    warp_sums_kernel[blocks(), BLOCK](cuda.to_device(numbers), sums)
    common.check_warp_sums(sums.copy_to_host())


def streams_and_events():
    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    host = cuda.pinned_array(N, np.float32)
    host[:] = x
    device = cuda.to_device(host, stream=stream)
    out = cuda.device_array(N, np.float32, stream=stream)
    start.record(stream)
    saxpy_kernel[blocks(), BLOCK, stream](np.float32(3), device, device, out)
    end.record(stream)
    end.synchronize()
    assert cuda.event_elapsed_time(start, end) >= 0
    np.testing.assert_array_equal(out.copy_to_host(stream=stream), x * np.float32(4))


def managed_and_mapped_memory():
    managed = cuda.managed_array(N, np.float32)
    managed[:] = x
    mapped = cuda.mapped_array(N, np.float32)
    saxpy_kernel[blocks(), BLOCK](np.float32(1), managed, managed, mapped)
    cuda.synchronize()
    np.testing.assert_array_equal(mapped, x + x)


if __name__ == "__main__":
    common.run(
        [saxpy, shared_memory_reduction, atomics, shuffles, streams_and_events, managed_and_mapped_memory]
    )
