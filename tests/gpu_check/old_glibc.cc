// arc4random for C libraries older than glibc 2.36 (Ubuntu 22.04 has 2.35): the bundle is made on a newer one, whose
// static libraries call it, and should start there, too.
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getentropy(&value, sizeof(value)) != 0) abort();
  return value;
}
