"""CuPy: a RawKernel over arrays, of which it passes the pointers."""
import cases

NAME = "CuPy RawKernel"
PACKAGES = ["cupy-cuda13x"]
VERSION_OF = "cupy-cuda13x"
WAYS = ["pointers alone"]
_C = {"pointer": "float*", "int64": "long long", "float64": "double", "int32": "int", "float32": "float"}


class Peer:
    def __init__(self):
        import cupy
        import numpy
        self.cupy, self.numpy = cupy, numpy
        cupy.cuda.Device(0).use()

    def prepare(self, way, case):
        parameters = cases.flat_parameters(case, pointers_alone=True)
        list_of = ", ".join(f"{_C[dtype]} {name}" for name, dtype in parameters)
        kernel = self.cupy.RawKernel(f'extern "C" __global__ void k({list_of}) {{}}', "k")
        kernel.compile()
        ring = []
        for index in range(cases.SETS):
            arrays = [self.cupy.empty(cases.shape_of(ndim, index), self.numpy.float32) for ndim in case.arrays]
            scalars = [self.numpy.dtype(t).type(cases.scalar_of(t, index)) for t in case.scalars]
            ring.append(((cases.GRID,), (cases.BLOCK,), (*arrays, *scalars)))
        return kernel, ring

    def synchronize(self):
        self.cupy.cuda.get_current_stream().synchronize()
