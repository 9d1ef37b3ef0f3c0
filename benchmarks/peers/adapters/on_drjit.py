"""Dr.Jit: the sum of the arguments, traced, found in the kernel cache and launched; and replayed by dr.freeze."""
import cases

NAME = "Dr.Jit"
PACKAGES = ["drjit"]
VERSION_OF = "drjit"
WAYS = ["traced", "frozen"]


class Peer:
    def __init__(self):
        import drjit
        import drjit.cuda
        if not drjit.has_backend(drjit.JitBackend.CUDA):
            raise RuntimeError("its CUDA backend is disabled")
        self.drjit, self.cuda = drjit, drjit.cuda
        drjit.eval(drjit.arange(self.cuda.Float, 4) + 1)

    def prepare(self, way, case):
        if not case.arrays or max(case.arrays) > 1 or case.scalars:
            return None  # It launches what is computed from flat arrays; its scalars are arrays of one element.
        drjit = self.drjit

        def total(*arrays):
            result = arrays[0]
            for array in arrays[1:]:
                result = result + array
            return result + 1

        function = drjit.freeze(total) if way == "frozen" else total
        ring = []
        for index in range(cases.SETS):
            arrays = [drjit.arange(self.cuda.Float, *cases.shape_of(1, index)) + a for a in range(len(case.arrays))]
            drjit.eval(arrays)
            ring.append(tuple(arrays))
        return lambda *arrays: drjit.eval(function(*arrays)), ring

    def synchronize(self):
        self.drjit.sync_thread()
