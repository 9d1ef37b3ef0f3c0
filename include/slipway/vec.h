// A vector of 2 to 4 numbers of the host program: a plain struct, laid out as an array of them. Kernels take it by
// value (embedded/vec.h).
#ifndef SLIPWAY_VEC_H_
#define SLIPWAY_VEC_H_

#include "slipway/dtype.h"

namespace slipway {

template <Element T, int N>
requires(N >= 2 && N <= 4) struct Vec {
  T components[N];

  constexpr T& operator[](int i) { return components[i]; }
  constexpr const T& operator[](int i) const { return components[i]; }
  friend constexpr bool operator==(const Vec&, const Vec&) = default;
};

}  // namespace slipway

#endif  // SLIPWAY_VEC_H_
