"""What a measurement depends on: the machine, the compiler, the sources."""
import hashlib
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def output_of(command, **arguments):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **arguments).stdout


def first_match(pattern, text, default="unknown"):
    found = re.search(pattern, text)
    return found.group(1) if found else default


def version_of(command, pattern=r"(.*)"):
    """What `pattern` finds in a program's output, or None where the program is not there."""
    try:
        return first_match(pattern, output_of(command, stderr=subprocess.STDOUT), None)
    except (OSError, subprocess.CalledProcessError):
        return None


def cache_entry(build, name):
    return first_match(rf"(?m)^{name}:\w+=(.*)$", (pathlib.Path(build) / "CMakeCache.txt").read_text(), "")


def short_compiler(line):
    """'g++ 12.2.0' of the first line that a compiler's --version prints."""
    return re.sub(r"^c\+\+", "g++", re.sub(r" \(.*?\)", "", line or "an unknown compiler"))


def compiler_of(build):
    """The build's compiler and what it was asked for, as one line: what instruction counts depend on."""
    build_type = cache_entry(build, "CMAKE_BUILD_TYPE") or "None"
    flags = [cache_entry(build, "CMAKE_CXX_FLAGS")]
    if build_type != "None":
        flags.append(cache_entry(build, f"CMAKE_CXX_FLAGS_{build_type.upper()}"))
    compiler = version_of([cache_entry(build, "CMAKE_CXX_COMPILER"), "--version"])
    return " ".join([short_compiler(compiler), platform.machine(), *" ".join(flags).split()])


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    release = pathlib.Path("/etc/os-release")
    return {
        "system": first_match(r'PRETTY_NAME="([^"]*)"', release.read_text() if release.exists() else ""),
        "kernel": platform.release(),
        "cpu": first_match(r"model name\s*: (.*)", cpuinfo.read_text() if cpuinfo.exists() else ""),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


def of_build(build):
    """The machine, and what a build folder was made with."""
    llvm = pathlib.Path(cache_entry(build, "LLVM_DIR")) / "LLVMConfigVersion.cmake"
    ptxas = os.environ.get("PTXAS") or next(
        (p for p in [f"{d}/ptxas" for d in os.environ["PATH"].split(":")] + ["/usr/local/cuda/bin/ptxas"]
         if os.access(p, os.X_OK)), "ptxas")
    return {
        **machine(),
        "compiler": version_of([cache_entry(build, "CMAKE_CXX_COMPILER"), "--version"]),
        "flags": cache_entry(build, "CMAKE_CXX_FLAGS"),
        "build_type": cache_entry(build, "CMAKE_BUILD_TYPE"),
        "llvm": first_match(r'PACKAGE_VERSION "([\d.]+)"', llvm.read_text()) if llvm.exists() else "unknown",
        "cuda": version_of([ptxas, "--version"], r"release ([\d.]+)"),
    }


def source_of(folder):
    """The git revision of a folder, and a hash of what differs from it (None where nothing does)."""
    git = ["git", "-C", str(folder)]
    try:
        revision = output_of([*git, "rev-parse", "HEAD"], stderr=subprocess.DEVNULL).strip()
        changes = output_of([*git, "diff", "HEAD", "--binary"])
        others = output_of([*git, "ls-files", "--others", "--exclude-standard", "--full-name"])
    except (OSError, subprocess.CalledProcessError):
        return {"revision": None, "dirty": None}
    return {"revision": revision,
            "dirty": hashlib.sha256((changes + others).encode()).hexdigest() if changes or others else None}


def sha256_of(file):
    return hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
