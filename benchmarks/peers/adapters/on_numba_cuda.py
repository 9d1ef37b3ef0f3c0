"""numba-cuda: a kernel compiled for the arguments' types, configured once (kernel[grid, block, stream]), then called."""
import cases

NAME = "numba-cuda"
PACKAGES = ["numba-cuda[cu13]"]
VERSION_OF = "numba-cuda"
WAYS = ["strided device arrays"]


class Peer:
    def __init__(self):
        import warnings

        import numpy
        from numba import cuda
        warnings.filterwarnings("ignore", message=".*Grid size")
        self.cuda = cuda
        self.float32 = numpy.float32
        self.as_numpy = {"int32": numpy.int32, "float32": numpy.float32}  # Python's numbers are int64 and float64.
        self.stream = cuda.stream()

    def array(self, ndim, index):
        shape = cases.shape_of(ndim, index)
        every_second = (slice(None),) * (ndim - 1) + (slice(None, None, 2),)
        return self.cuda.device_array((*shape[:-1], 2 * shape[-1]), self.float32)[every_second]

    def prepare(self, way, case):
        names = [f"p{i}" for i in range(len(case.arrays) + len(case.scalars))]
        scope = {}
        exec(f"def k({', '.join(names)}):\n  pass\n", scope)
        kernel = self.cuda.jit(scope["k"])[cases.GRID, cases.BLOCK, self.stream]
        ring = []
        for index in range(cases.SETS):
            arrays = [self.array(ndim, index) for ndim in case.arrays]
            scalars = [self.as_numpy.get(t, lambda v: v)(cases.scalar_of(t, index)) for t in case.scalars]
            ring.append((*arrays, *scalars))
        return kernel, ring

    def synchronize(self):
        self.stream.synchronize()
