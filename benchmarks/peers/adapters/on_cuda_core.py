"""cuda.core: launch() of a kernel loaded from PTX."""
import cases

NAME = "cuda.core"
PACKAGES = ["cuda-core", "cuda-bindings"]
VERSION_OF = "cuda-core"
WAYS = list(cases.WAYS_OF_RAW_KERNELS)


class Peer:
    def __init__(self):
        import numpy
        from cuda.core import Device, LaunchConfig, ObjectCode, launch
        self.launch, self.code = launch, ObjectCode
        self.as_numpy = {"int32": numpy.int32, "float32": numpy.float32}  # Python's numbers are int64 and float64.
        self.device = Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.config = LaunchConfig(grid=(cases.GRID,), block=(cases.BLOCK,))

    def prepare(self, way, case):
        alone = cases.WAYS_OF_RAW_KERNELS[way]
        parameters = cases.flat_parameters(case, alone)
        kernel = self.code.from_ptx(cases.empty_ptx(parameters).encode()).get_kernel("k")
        ring = []
        for index in range(cases.SETS):
            values = cases.flat_values(case, index, alone)
            arguments = [self.as_numpy.get(dtype, lambda v: v)(v) for (_, dtype), v in zip(parameters, values)]
            ring.append((self.stream, self.config, kernel, *arguments))
        return self.launch, ring

    def synchronize(self):
        self.stream.sync()
