// Part of every test program: what was compiled in another run is not to be found in this one. Tests of the disk cache
// choose a folder of their own, or start a program that finds its folder as users' programs do.
#include <cstdlib>

namespace {
[[maybe_unused]] const int off =
    std::getenv("SLIPWAY_DISK_CACHE_TEST_CHILD") == nullptr ? setenv("SLIPWAY_CACHE_DIR", "off", /*overwrite=*/0) : 0;
}  // namespace
