// PTX texts that are linked with one another.
#ifndef SLIPWAY_TESTS_MODULES_LINKED_PTX_H_
#define SLIPWAY_TESTS_MODULES_LINKED_PTX_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace slipway {

inline std::string Ptx(const std::string& body, const std::string& version = "7.0",
                       const std::string& target = "sm_75") {
  return absl::StrCat(".version ", version, "\n.target ", target, "\n.address_size 64\n", body);
}

// y[i] = f(i) for a block, of a function that is elsewhere.
inline constexpr char kCaller[] = R"(
.extern .func (.param .b32 r) f (.param .b32 a);
.visible .entry call_f(.param .u64 y) {
  .reg .b32 %r<3>; .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r1; call.uni (r0), f, (a0); ld.param.b32 %r2, [r0]; }
  ld.param.u64 %rd1, [y];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

}  // namespace slipway

#endif  // SLIPWAY_TESTS_MODULES_LINKED_PTX_H_
