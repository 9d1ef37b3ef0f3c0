"""cuda.core over cuda.bindings: CUDA C++ to PTX by NVRTC, buffers from the device's memory pool, launches, graphs."""

import without_nvjitlink  # noqa: F401: before cuda.core.

import ctypes

import numpy as np
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, ObjectCode, launch

import common
from common import BINS, BLOCK, N, blocks, numbers, x, y

DEVICE = Device()
DEVICE.set_current()
STREAM = DEVICE.create_stream()
CODE = ObjectCode.from_ptx(common.nvrtc_ptx())
CONFIG = LaunchConfig(grid=blocks(), block=BLOCK)


def to_device(array):
    from cuda.bindings import driver

    buffer = DEVICE.allocate(array.nbytes, stream=STREAM)
    (error,) = driver.cuMemcpyHtoDAsync(int(buffer.handle), array.ctypes.data, array.nbytes, STREAM.handle)
    assert error == 0, error
    return buffer


def to_host(buffer, array):
    from cuda.bindings import driver

    (error,) = driver.cuMemcpyDtoHAsync(array.ctypes.data, int(buffer.handle), array.nbytes, STREAM.handle)
    assert error == 0, error
    STREAM.sync()
    return array


def saxpy():
    out = DEVICE.allocate(x.nbytes, stream=STREAM)
    launch(STREAM, CONFIG, CODE.get_kernel("saxpy"), ctypes.c_float(2.5), to_device(x), to_device(y), out, ctypes.c_int(N))
    common.check_saxpy(2.5, to_host(out, np.empty_like(x)))


def shared_memory_reduction():
    sums = np.empty(blocks(), np.int32)
    out = DEVICE.allocate(sums.nbytes, stream=STREAM)
    launch(STREAM, CONFIG, CODE.get_kernel("block_sums"), to_device(numbers), out, ctypes.c_int(N))
    common.check_block_sums(to_host(out, sums))


def atomics():
    bins = to_device(np.zeros(BINS, np.uint32))
    launch(STREAM, CONFIG, CODE.get_kernel("histogram"), to_device(numbers), bins, ctypes.c_int(N))
    common.check_histogram(to_host(bins, np.empty(BINS, np.uint32)))


def shuffles():
    sums = np.empty(blocks() * BLOCK // 32, np.int32)
    out = DEVICE.allocate(sums.nbytes, stream=STREAM)
    launch(STREAM, CONFIG, CODE.get_kernel("warp_sums"), to_device(numbers), out, ctypes.c_int(N))
    common.check_warp_sums(to_host(out, sums))


def linking_by_the_driver():
    part = common.nvrtc_ptx(
        'extern "C" __device__ float twice(float v) { return 2 * v; }', ["--relocatable-device-code=true"]
    )
    main = common.nvrtc_ptx(
        'extern "C" __device__ float twice(float v);'
        'extern "C" __global__ void doubled(float* x, int n) {'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;"
        "  if (i < n) x[i] = twice(x[i]);"
        "}",
        ["--relocatable-device-code=true"],
    )
    linker = Linker(ObjectCode.from_ptx(part), ObjectCode.from_ptx(main), options=LinkerOptions(arch="sm_90"))
    linked = linker.link("cubin")
    buffer = to_device(x)
    launch(STREAM, CONFIG, linked.get_kernel("doubled"), buffer, ctypes.c_int(N))
    np.testing.assert_array_equal(to_host(buffer, np.empty_like(x)), 2 * x)


def kernel_attributes():
    kernel = CODE.get_kernel("block_sums")
    assert kernel.attributes.max_threads_per_block == 1024
    assert kernel.attributes.shared_size_bytes == 1024
    assert kernel.num_arguments == 3


def devices():
    from cuda.bindings import driver

    error, count = driver.cuDeviceGetCount()
    assert (error, DEVICE.compute_capability) == (0, (9, 0)), error
    assert count >= 1
    assert DEVICE.properties.max_threads_per_block == 1024


def graphs():
    from cuda.bindings import driver as drv

    def check(result):
        assert result[0] == 0, result[0]
        return result[1] if len(result) == 2 else result[1:]

    buffer = to_device(np.zeros(BINS, np.uint32))
    data = to_device(numbers)
    STREAM.sync()
    check(drv.cuStreamBeginCapture(STREAM.handle, drv.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    launch(STREAM, CONFIG, CODE.get_kernel("histogram"), data, buffer, ctypes.c_int(N))
    graph = check(drv.cuStreamEndCapture(STREAM.handle))
    executable = check(drv.cuGraphInstantiate(graph, 0))
    for _ in range(3):
        check(drv.cuGraphLaunch(executable, STREAM.handle))
    got = to_host(buffer, np.empty(BINS, np.uint32))
    np.testing.assert_array_equal(got, 3 * np.bincount(numbers % BINS, minlength=BINS))
    check(drv.cuGraphExecDestroy(executable))
    check(drv.cuGraphDestroy(graph))


def graph_builder():
    buffer = to_device(np.zeros(BINS, np.uint32))
    data = to_device(numbers)
    STREAM.sync()
    builder = DEVICE.create_graph_builder().begin_building()
    launch(builder, CONFIG, CODE.get_kernel("histogram"), data, buffer, ctypes.c_int(N))
    graph = builder.end_building().complete()
    for _ in range(2):
        graph.launch(STREAM)
    got = to_host(buffer, np.empty(BINS, np.uint32))
    np.testing.assert_array_equal(got, 2 * np.bincount(numbers % BINS, minlength=BINS))


if __name__ == "__main__":
    common.run(
        [saxpy, shared_memory_reduction, atomics, shuffles, linking_by_the_driver, kernel_attributes, devices, graphs, graph_builder]
    )
