// Random numbers in embedded kernels: functions of a seed and a counter, without state, so that number i is the same
// whatever the launch, the device and the order of threads (Philox4x32-10; docs/semantics.md, "Random numbers").
//
//   x[i] = random_uniform(seed, i);                       // float32 in (0, 1]
//   Expr<int> die = 1 + random_integer(seed, i, 6);
//   auto words = Philox4x32(seed, 0, i);                  // 4 words of 32 random bits at the price of one number
//   auto [a, b] = NormalFrom(words[0], words[1]);
//
// Seeds, streams and counters are integers, taken modulo 2^64. Numbers of different counters (or seeds, or streams)
// have nothing to do with each other; the same ones again give the same number: for several numbers of one element use
// several counters, such as 4 * i + k.
#ifndef SLIPWAY_EMBEDDED_RANDOM_H_
#define SLIPWAY_EMBEDDED_RANDOM_H_

#include <array>
#include <cstdint>
#include <utility>

#include "slipway/embedded/functions.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/operators.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

// The four words of one block: key `seed`, counter `counter` (lower half) and `stream` (upper half), lower words first.
template <IndexLike S, IndexLike T, IndexLike C>
requires(Expression<S> || Expression<T> || Expression<C>) std::array < Expr<uint32_t>,
4 > Philox4x32(const S& seed, const T& stream, const C& counter) {
  const std::array<internal::TraceRef, 4> words =
      internal::PhiloxBlock({internal::ToOperand(seed), internal::ToOperand(stream), internal::ToOperand(counter)});
  const auto word = [&](int i) { return Expr<uint32_t>::FromTrace(words[i]); };
  return {word(0), word(1), word(2), word(3)};
}

// What random_uniform, random_uniform_f64 and random_normal make of such words; the second normal number is made with
// the cosine.
inline Expr<float> UniformFrom(const Expr<uint32_t>& word) { return Cast<float>(word) * 0x1p-32 + 0x1p-33; }
inline Expr<double> UniformFrom(const Expr<uint32_t>& low, const Expr<uint32_t>& high) {
  return Cast<double>(Cast<uint64_t>(low) ^ (Cast<uint64_t>(high) << 21)) * 0x1p-53 + 0x1p-54;
}
inline std::pair<Expr<float>, Expr<float>> NormalFrom(const Expr<uint32_t>& first, const Expr<uint32_t>& second) {
  const Expr<float> radius = sqrt(log(UniformFrom(first)) * -2), turn = UniformFrom(second);
  const Expr<float> angle = turn + turn;
  const Expr<float> with_sine = radius * sinpi(angle);
  return {with_sine, radius * cospi(angle)};
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_RANDOM_H_
