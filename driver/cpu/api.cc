// The table.
#include "driver/cpu/api.h"

#include "slipway/cpu_device.h"

namespace slipway {

const DriverApi& CpuDriver() {
  static const DriverApi table = {
#define SLIPWAY_CPU_ENTRY(member, since, need, parameters) .member = cpu::api::member,
      SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_CPU_ENTRY)
#undef SLIPWAY_CPU_ENTRY
          .name = "cpu",
  };
  return table;
}

}  // namespace slipway
