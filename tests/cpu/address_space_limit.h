// A process that runs out of memory.
#ifndef SLIPWAY_TESTS_CPU_ADDRESS_SPACE_LIMIT_H_
#define SLIPWAY_TESTS_CPU_ADDRESS_SPACE_LIMIT_H_

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "gtest/gtest.h"

namespace slipway::cpu {

// Lets the process have as much address space as it has now and `more`, as long as this lives.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(rlim_t more) {
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit less{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  }
  ~AddressSpaceLimit() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }

 private:
  rlimit before_ = {};
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_TESTS_CPU_ADDRESS_SPACE_LIMIT_H_
