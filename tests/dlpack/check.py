"""Exchanges arrays with NumPy's and, where it is installed, PyTorch's own DLPack capsules. Run by ctest; fails by assert."""

import gc
import sys

import numpy as np

from slipway_dlpack import Array

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]


def layouts(x):
    """Views of a 3-D array in the layouts that people have."""
    yield x
    yield x.transpose(2, 0, 1)
    yield x[::2, :, 1:]
    yield x[1]
    yield x[:, :, 0]
    yield x[0:0]
    yield x[0, 0, 0:1].reshape(())


def check_numpy():
    # NumPy before 1.25 has no bool in DLPack.
    known = [d for d in DTYPES if d != "bool" or tuple(map(int, np.__version__.split(".")[:2])) >= (1, 25)]
    for dtype in known:
        base = np.arange(60).reshape(3, 4, 5).astype(dtype)
        for x in layouts(base):
            there = Array.from_dlpack(x)
            if x.size:
                assert there.address == x.__array_interface__["data"][0], (dtype, x.shape)
            back = np.from_dlpack(there)
            assert back.dtype == x.dtype and back.shape == x.shape, (there, x.shape)
            np.testing.assert_array_equal(back, x)
            np.testing.assert_array_equal(np.from_dlpack(there.transposed()), x.T)


def check_values_and_lifetimes():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = np.arange(4, dtype=np.float32)
    a, b = Array.from_dlpack(x[:, ::2]), Array.from_dlpack(y[:2])
    z = np.from_dlpack(Array.evaluate("z = x * 2 + y", [a, b]))
    np.testing.assert_array_equal(z, x[:, ::2] * 2 + y[:2])
    # What is imported keeps its source, and what is exported keeps the array.
    references = sys.getrefcount(x)
    held = Array.from_dlpack(x)
    assert sys.getrefcount(x) > references
    del held
    gc.collect()
    assert sys.getrefcount(x) == references
    exported = np.from_dlpack(Array.evaluate("z = x + 1", [Array.from_dlpack(y)]))
    gc.collect()
    np.testing.assert_array_equal(exported, y + 1)
    # A capsule that nobody takes gives its array back.
    for max_version in (None, (1, 0)):
        Array.from_dlpack(y).__dlpack__(max_version=max_version)
    gc.collect()
    assert Array.from_dlpack(y).__dlpack_device__() == (1, 0)
    for round_trip in range(1000):
        assert np.from_dlpack(Array.from_dlpack(y)) is not None


def check_torch():
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: only NumPy was checked")
        return
    from torch.utils import dlpack
    for dtype in [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.float16, torch.bfloat16,
                  torch.float32, torch.float64, torch.complex64, torch.complex128]:
        base = torch.arange(60).reshape(3, 4, 5).to(dtype)
        for x in [base, base.permute(2, 0, 1), base[::2, :, 1:], base[1], base[0, 0, 0]]:
            there = Array.from_dlpack(x)
            assert there.address == x.data_ptr(), (dtype, x.shape)
            back = dlpack.from_dlpack(there)
            assert back.dtype == x.dtype and back.shape == x.shape
            assert torch.equal(back, x), (dtype, x.shape)
            assert back.data_ptr() == x.data_ptr()
    x = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    z = dlpack.from_dlpack(Array.evaluate("z = x * x", [Array.from_dlpack(x.T)]))
    assert torch.equal(z, (x * x).T)
    print("PyTorch", torch.__version__)


check_numpy()
check_values_and_lifetimes()
check_torch()
print("NumPy", np.__version__)
