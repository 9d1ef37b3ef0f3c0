"""Taichi: a kernel with an empty loop, called with ndarrays and scalars."""
import importlib.util
import pathlib
import tempfile

import cases

NAME = "Taichi"
PACKAGES = ["taichi"]
VERSION_OF = "taichi"
WAYS = ["ndarrays"]
_SCALARS = {"int64": "ti.i64", "float64": "ti.f64", "int32": "ti.i32", "float32": "ti.f32"}


class Peer:
    def __init__(self):
        import taichi
        taichi.init(arch=taichi.cuda, offline_cache=False, device_memory_GB=0.5, log_level=taichi.ERROR)
        if taichi.cfg.arch != taichi.cuda:
            raise RuntimeError(f"it falls back to {taichi.cfg.arch}")
        self.taichi = taichi
        self.folder = tempfile.TemporaryDirectory()

    def prepare(self, way, case):
        # Taichi reads a kernel's source from its file.
        annotated = [f"a{i}: ti.types.ndarray(dtype=ti.f32, ndim={ndim})" for i, ndim in enumerate(case.arrays)]
        annotated += [f"s{i}: {_SCALARS[t]}" for i, t in enumerate(case.scalars)]
        name = "taichi_case_" + case.name
        path = pathlib.Path(self.folder.name) / f"{name}.py"
        path.write_text(f"import taichi as ti\n\n\n@ti.kernel\ndef k({', '.join(annotated)}):\n"
                        f"    for i in range({cases.GRID * cases.BLOCK}):\n        pass\n")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ring = []
        for index in range(cases.SETS):
            arrays = [self.taichi.ndarray(self.taichi.f32, cases.shape_of(ndim, index)) for ndim in case.arrays]
            ring.append((*arrays, *(cases.scalar_of(t, index) for t in case.scalars)))
        return module.k, ring

    def synchronize(self):
        self.taichi.sync()
