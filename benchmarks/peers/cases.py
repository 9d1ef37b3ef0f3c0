"""The cases of benchmarks/launch_cases, for peers: what a kernel takes, and sixteen sets of values for it.

Addresses are never dereferenced: kernels are empty. Arrays are strided float32 arrays. Values change from launch to
launch.
"""
import collections
import itertools

# ndim of each array, then the scalars in the order of launch_cases.
Case = collections.namedtuple("Case", "name arrays scalars")
SCALARS = ("int32", "float32", "int64", "float64")
SETS = 16


def _scalars(count):
    return tuple(itertools.islice(itertools.cycle(SCALARS), count))


CASES = [
    Case("0", (), ()),
    Case("1s", (), _scalars(1)),
    Case("4s", (), _scalars(4)),
    Case("16s", (), _scalars(16)),
    Case("1x1d", (1,), ()),
    Case("3x1d", (1,) * 3, ()),
    Case("8x1d", (1,) * 8, ()),
    Case("16x1d", (1,) * 16, ()),
    Case("26x1d", (1,) * 26, ()),
    Case("3x2d", (2,) * 3, ()),
    Case("8x3d", (3,) * 8, ()),
]


def shape_of(ndim, index):
    """The shape of an array of rank ndim in set `index`; a few kilobytes, so that a real device can hold them all."""
    return ((100, 20, 10)[ndim - 1] + index,) * ndim


def strides_of(shape):
    """Element strides of every second element of a C-ordered array: not contiguous."""
    strides = []
    stride = 2
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride *= extent
    return tuple(strides)


def address_of(array, index):
    return (1 << 32) + (index << 24) + (array << 20)


def scalar_of(dtype, index):
    return {"int32": index, "float32": 0.5 * index, "int64": 1 << index, "float64": 0.25 * index}[dtype]


def flat_parameters(case, pointers_alone):
    """The parameters of a kernel that knows no arrays: [(name, type)], each array as pointer, shape and strides, or as
    its pointer alone."""
    parameters = []
    for a, ndim in enumerate(case.arrays):
        parameters.append((f"a{a}", "pointer"))
        if not pointers_alone:
            parameters += [(f"a{a}_{what}{d}", "int64") for what in ("shape", "stride") for d in range(ndim)]
    return parameters + [(f"s{i}", dtype) for i, dtype in enumerate(case.scalars)]


def flat_values(case, index, pointers_alone):
    """Their values in set `index`, as Python numbers."""
    values = []
    for a, ndim in enumerate(case.arrays):
        values.append(address_of(a, index))
        if not pointers_alone:
            shape = shape_of(ndim, index)
            values += [*shape, *strides_of(shape)]
    return values + [scalar_of(dtype, index) for dtype in case.scalars]


_PTX_TYPES = {"pointer": "u64", "int64": "u64", "float64": "f64", "int32": "u32", "float32": "f32"}


def empty_ptx(parameters):
    """An empty kernel `k` with these parameters, for any device of compute capability 7.0 or newer."""
    lines = ",\n".join(f"  .param .{_PTX_TYPES[dtype]} {name}" for name, dtype in parameters)
    return f".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry k(\n{lines}\n)\n{{\n  ret;\n}}\n"


WAYS_OF_RAW_KERNELS = {"pointer, shape and strides": False, "pointers alone": True}
BLOCK = 256
GRID = 4
