"""PyCUDA: CUDA C++, compiled to PTX by nvcc or, where that is not installed, by NVRTC."""

import shutil

import numpy as np
import pycuda.autoinit  # noqa: F401: makes the first device's context current.
import pycuda.driver as drv

import common
from common import BINS, BLOCK, N, SOURCE, blocks, numbers, x, y


def module():
    if shutil.which("nvcc"):
        from pycuda.compiler import compile as nvcc

        # "ptx", not the default: a GPU's machine code cannot be run.
        return drv.module_from_buffer(nvcc(SOURCE, target="ptx", no_extern_c=True, arch="compute_90"))
    return drv.module_from_buffer(common.nvrtc_ptx())


MODULE = module()


def launch(name, *arguments):
    MODULE.get_function(name)(*arguments, grid=(blocks(), 1), block=(BLOCK, 1, 1))


def saxpy():
    out = np.zeros_like(x)
    launch("saxpy", np.float32(2.5), drv.In(x), drv.In(y), drv.Out(out), np.int32(N))
    common.check_saxpy(2.5, out)


def shared_memory_reduction():
    sums = np.zeros(blocks(), np.int32)
    launch("block_sums", drv.In(numbers), drv.Out(sums), np.int32(N))
    common.check_block_sums(sums)


def atomics():
    bins = np.zeros(BINS, np.uint32)
    launch("histogram", drv.In(numbers), drv.InOut(bins), np.int32(N))
    common.check_histogram(bins)


def shuffles():
    sums = np.zeros(blocks() * BLOCK // 32, np.int32)
    launch("warp_sums", drv.In(numbers), drv.Out(sums), np.int32(N))
    common.check_warp_sums(sums)


def prepared_calls_on_streams():
    stream = drv.Stream()
    start, end = drv.Event(), drv.Event()
    host = drv.pagelocked_empty(N, np.float32)
    host[:] = x
    device, out = drv.mem_alloc(host.nbytes), drv.mem_alloc(host.nbytes)
    drv.memcpy_htod_async(device, host, stream)
    saxpy_function = MODULE.get_function("saxpy")
    saxpy_function.prepare("fPPPi")
    start.record(stream)
    saxpy_function.prepared_async_call((blocks(), 1), (BLOCK, 1, 1), stream, 3, device, device, out, N)
    end.record(stream)
    drv.memcpy_dtoh_async(host, out, stream)
    stream.synchronize()
    assert start.time_till(end) >= 0
    np.testing.assert_array_equal(host, x * np.float32(4))


def copies_in_two_dimensions():
    image = np.arange(12 * 20, dtype=np.float32).reshape(12, 20)
    pitched, pitch = drv.mem_alloc_pitch(20 * 4, 12, 4)
    copy = drv.Memcpy2D()
    copy.set_src_host(image)
    copy.set_dst_device(pitched)
    copy.src_pitch, copy.dst_pitch = image.strides[0], pitch
    copy.width_in_bytes, copy.height = 20 * 4, 12
    copy(aligned=True)
    back = np.zeros((4, 5), np.float32)
    part = drv.Memcpy2D()
    part.set_src_device(pitched)
    part.set_dst_host(back)
    part.src_x_in_bytes, part.src_y, part.src_pitch = 3 * 4, 2, pitch
    part.dst_pitch, part.width_in_bytes, part.height = back.strides[0], 5 * 4, 4
    part(aligned=False)
    np.testing.assert_array_equal(back, image[2:6, 3:8])


def contexts():
    context = drv.Device(0).make_context()
    assert drv.Context.get_device().compute_capability() == (9, 0)
    memory = drv.mem_alloc(64)
    memory.free()
    context.pop()
    context.detach()


if __name__ == "__main__":
    common.run(
        [saxpy, shared_memory_reduction, atomics, shuffles, prepared_calls_on_streams, copies_in_two_dimensions, contexts]
    )
