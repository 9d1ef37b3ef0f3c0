"""Imported by every Python with this folder on its PYTHONPATH: nvJitLink is hidden from processes that tests start, too."""

import without_nvjitlink  # noqa: F401
