"""Triton: kernel[grid](...) with pointers, shapes and strides. Numbers are not specialised on, which is its cheaper way."""
import importlib.util
import pathlib
import tempfile

import cases

NAME = "Triton"
PACKAGES = ["triton"]
VERSION_OF = "triton"
WAYS = ["pointer, shape and strides"]


class Tensor:
    """What Triton looks at in a tensor; torch's class costs more."""

    dtype = "float32"

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Peer:
    def __init__(self):
        import triton
        from triton.runtime import driver
        self.triton = triton
        driver.active.get_current_target()
        self.driver = driver
        self.folder = tempfile.TemporaryDirectory()

    def prepare(self, way, case):
        # Triton reads a kernel's source from its file.
        parameters = cases.flat_parameters(case, pointers_alone=False)
        numbers = [name for name, dtype in parameters if dtype != "pointer"]
        name = "triton_case_" + case.name
        path = pathlib.Path(self.folder.name) / f"{name}.py"
        path.write_text(f"import triton\n\n\n@triton.jit(do_not_specialize={numbers!r})\n"
                        f"def k({', '.join(name for name, _ in parameters)}):\n    pass\n")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ring = []
        for index in range(cases.SETS):
            values = cases.flat_values(case, index, pointers_alone=False)
            ring.append(tuple(Tensor(value) if dtype == "pointer" else value
                              for (_, dtype), value in zip(parameters, values)))
        return module.k[(cases.GRID,)], ring

    def synchronize(self):
        import ctypes
        ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()
