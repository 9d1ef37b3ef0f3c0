"""Imported first, makes a process one in which nvJitLink is not installed, so that the driver links.

nvJitLink makes machine code of a GPU, which the CPU device does not run; a driver's cuLinkComplete makes an image that it
loads itself. Where nvJitLink is not installed this module changes nothing.
"""

from cuda import pathfinder

_load = pathfinder.load_nvidia_dynamic_lib


def _load_others(name):
    if name == "nvJitLink":
        raise pathfinder.DynamicLibNotFoundError("nvJitLink is hidden: the driver links")
    return _load(name)


pathfinder.load_nvidia_dynamic_lib = _load_others
