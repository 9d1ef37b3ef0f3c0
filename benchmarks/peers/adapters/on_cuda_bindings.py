"""cuda.bindings: cuLaunchKernel with a tuple of values and a tuple of their ctypes."""
import ctypes

import cases

NAME = "cuda.bindings"
PACKAGES = ["cuda-bindings"]
VERSION_OF = "cuda-bindings"
WAYS = list(cases.WAYS_OF_RAW_KERNELS)
_CTYPES = {"pointer": ctypes.c_void_p, "int64": ctypes.c_int64, "float64": ctypes.c_double, "int32": ctypes.c_int32,
           "float32": ctypes.c_float}


class Peer:
    def __init__(self):
        from cuda.bindings import driver
        self.driver = driver
        self.call(driver.cuInit(0))
        self.call(driver.cuCtxSetCurrent(self.call(driver.cuDevicePrimaryCtxRetain(self.call(driver.cuDeviceGet(0))))))
        self.stream = self.call(driver.cuStreamCreate(0))

    def call(self, answer):
        if answer[0] != self.driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"the driver answers {answer[0]}")
        return answer[1] if len(answer) > 1 else None

    def prepare(self, way, case):
        alone = cases.WAYS_OF_RAW_KERNELS[way]
        parameters = cases.flat_parameters(case, alone)
        module = self.call(self.driver.cuModuleLoadData(cases.empty_ptx(parameters).encode() + b"\0"))
        function = self.call(self.driver.cuModuleGetFunction(module, b"k"))
        types = tuple(_CTYPES[dtype] for _, dtype in parameters)
        ring = []
        for index in range(cases.SETS):
            values = tuple(cases.flat_values(case, index, alone))
            ring.append((function, cases.GRID, 1, 1, cases.BLOCK, 1, 1, 0, self.stream,
                         (values, types) if values else 0, 0))
        return self.driver.cuLaunchKernel, ring

    def synchronize(self):
        self.call(self.driver.cuStreamSynchronize(self.stream))
