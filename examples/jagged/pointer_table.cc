#include "examples/jagged/pointer_table.h"

#include "slipway/device_library.h"
#include "slipway/embedded/external_function.h"

namespace slipway::jagged {
namespace {

constexpr char kPtx[] = R"(.version 6.3
.target sm_75
.address_size 64

.visible .func (.param .b64 value) jagged_load(.param .b64 address) {
  .reg .b64 %r<3>;
  ld.param.b64 %r1, [address];
  ld.global.b64 %r2, [%r1];
  st.param.b64 [value], %r2;
  ret;
}

.visible .func jagged_store(.param .b64 address, .param .b64 value) {
  .reg .b64 %r<3>;
  ld.param.b64 %r1, [address];
  ld.param.b64 %r2, [value];
  st.global.b64 [%r1], %r2;
  ret;
}
)";

const DeviceLibrary& Library() {
  static const DeviceLibrary library = DeviceLibrary::FromPtx(kPtx, "pointer_table.ptx").value();
  return library;
}

Expr<uint64_t> Address(const PointerTable& table, const Int& which, const Int& index) {
  return table[which] + Cast<uint64_t>(index * static_cast<int64_t>(sizeof(int64_t)));
}

}  // namespace

Int LoadFrom(const PointerTable& table, const Int& which, const Int& index) {
  static const ExternalFunction<int64_t(uint64_t)> load("jagged_load", Library());
  return load(Address(table, which, index));
}

void StoreTo(const PointerTable& table, const Int& which, const Int& index, const Int& value) {
  static const ExternalFunction<void(uint64_t, int64_t)> store("jagged_store", Library());
  store(Address(table, which, index), value);
}

}  // namespace slipway::jagged
