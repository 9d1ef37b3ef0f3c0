"""PyCUDA: a function called with arguments, and prepared_async_call of a prepared one."""
import cases

NAME = "PyCUDA"
PACKAGES = ["pycuda"]
VERSION_OF = "pycuda"
_PASSING = {"a call": False, "prepared_async_call": True}
WAYS = [f"{passing}, {form}" for passing in _PASSING for form in cases.WAYS_OF_RAW_KERNELS]
_FORMAT = {"pointer": "P", "int64": "q", "float64": "d", "int32": "i", "float32": "f"}


class Peer:
    def __init__(self):
        import atexit

        import numpy
        import pycuda.driver as driver
        self.driver = driver
        self.as_numpy = {name: numpy.dtype(name).type for name in ("int64", "float64", "int32", "float32")}
        self.as_numpy["pointer"] = numpy.uintp
        driver.init()
        self.context = driver.Device(0).make_context()
        atexit.register(self.context.pop)
        self.stream = driver.Stream()

    def prepare(self, way, case):
        passing, form = way.split(", ", 1)
        alone = cases.WAYS_OF_RAW_KERNELS[form]
        parameters = cases.flat_parameters(case, alone)
        function = self.driver.module_from_buffer(cases.empty_ptx(parameters).encode()).get_function("k")
        grid, block = (cases.GRID, 1), (cases.BLOCK, 1, 1)
        ring = []
        if _PASSING[passing]:
            function.prepare("".join(_FORMAT[dtype] for _, dtype in parameters))
            for index in range(cases.SETS):
                ring.append((grid, block, self.stream, *cases.flat_values(case, index, alone)))
            return function.prepared_async_call, ring
        for index in range(cases.SETS):
            values = cases.flat_values(case, index, alone)
            ring.append(tuple(self.as_numpy[dtype](value) for (_, dtype), value in zip(parameters, values)))
        stream = self.stream
        return lambda *values: function(*values, grid=grid, block=block, stream=stream), ring

    def synchronize(self):
        self.stream.synchronize()
