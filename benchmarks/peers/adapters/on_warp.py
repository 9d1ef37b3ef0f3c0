"""Warp: launch() of an empty kernel over arrays and scalars."""
import importlib.util
import pathlib
import tempfile

import cases

NAME = "Warp"
PACKAGES = ["warp-lang"]
VERSION_OF = "warp-lang"
WAYS = ["launch()"]
_SCALARS = {"int64": "wp.int64", "float64": "wp.float64", "int32": "wp.int32", "float32": "wp.float32"}


class Peer:
    def __init__(self):
        import warp
        self.warp = warp
        warp.config.quiet = True
        warp.init()
        self.device = warp.get_device("cuda:0")
        self.folder = tempfile.TemporaryDirectory()
        warp.empty(1, dtype=float, device=self.device)

    def prepare(self, way, case):
        # Warp reads a kernel's source from its file.
        annotated = [f"a{i}: wp.array(dtype=float, ndim={ndim})" for i, ndim in enumerate(case.arrays)]
        annotated += [f"s{i}: {_SCALARS[t]}" for i, t in enumerate(case.scalars)]
        name = "warp_case_" + case.name
        path = pathlib.Path(self.folder.name) / f"{name}.py"
        path.write_text(f"import warp as wp\n\n\n@wp.kernel\ndef k({', '.join(annotated)}):\n    pass\n")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ring = []
        for index in range(cases.SETS):
            arrays = [self.warp.empty(cases.shape_of(ndim, index), dtype=float, device=self.device)
                      for ndim in case.arrays]
            ring.append((module.k, cases.GRID * cases.BLOCK,
                         [*arrays, *(cases.scalar_of(t, index) for t in case.scalars)]))
        device, launch = self.device, self.warp.launch
        return lambda kernel, dim, inputs: launch(kernel, dim, inputs, device=device), ring

    def synchronize(self):
        self.warp.synchronize_device(self.device)
