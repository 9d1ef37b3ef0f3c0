// Part of every test program: what was compiled in another run is not to be found in this one. Tests of the disk cache
// choose a folder of their own, or start a program that finds its folder as users' programs do.
#include <cstdlib>

namespace {
[[maybe_unused]] const int off =
    std::getenv("SLIPWAY_DISK_CACHE_TEST_CHILD") == nullptr ? setenv("SLIPWAY_CACHE_DIR", "off", /*overwrite=*/0) : 0;
}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// What is meant to stay: managed memory of the null driver, whose MemFree cannot tell it from device memory, and what
// glibc keeps for threads that live when the process ends.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier): LeakSanitizer's.
  return "leak:MemAllocManaged\nleak:__cxa_thread_atexit_impl\n";
}
#endif
