// Integers: hashes, random numbers, bit tricks.
#include <cstdint>
#include <utility>

#include "benchmarks/twins/make.h"

namespace slipway::twins {

std::vector<Twin> Bits(const CompileOptions& options) {
  std::vector<Twin> twins;
  twins.push_back(Make(
      options, "hash_u32", "integer hash",
      []<Layout L>() {
        return [](Vector<uint32_t, L> out, Vector<const uint32_t, L> in) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] {
            Var<uint32_t> h = in[i];
            h = (h ^ (h >> 16)) * 0x85ebca6bu;
            h = (h ^ (h >> 13)) * 0xc2b2ae35u;
            out[i] = h ^ (h >> 16);
          });
        };
      },
      R"(
KERNEL(Vector<uint32> out, Vector<const uint32> in) {
  index i = global_index();
  if (i < out.shape(0)) {
    uint32 h = in(i);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    out(i) = h ^ (h >> 16);
  }
}
)"));
  twins.push_back(Make(
      options, "bit_tricks", "bit tricks",
      []<Layout L>() {
        return [](Vector<uint32_t, L> out, Vector<const uint32_t, L> in) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] {
            const Expr<uint32_t> x = in[i];
            const auto counts = Cast<uint32_t>(popc(x)) + Cast<uint32_t>(clz(x)) + Cast<uint32_t>(ffs(x));
            out[i] = (counts ^ brev(x)) + funnel_shift_left(x, counts, 7u) + byte_permute(x, counts, 0x0123u);
          });
        };
      },
      R"(
KERNEL(Vector<uint32> out, Vector<const uint32> in) {
  index i = global_index();
  if (i < out.shape(0)) {
    uint32 x = in(i);
    uint32 counts = (uint32)__popc(x) + (uint32)__clz(x) + (uint32)__ffs(x);
    out(i) = (counts ^ __brev(x)) + __funnelshift_l(x, counts, 7u) + __byte_perm(x, counts, 0x0123u);
  }
}
)"));
  twins.push_back(Make(
      options, "philox", "Philox4x32-10",
      []<Layout L>() {
        return [](Vector<uint32_t, L> out, Var<uint32_t> seed) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] {
            Var<uint32_t> c0 = Cast<uint32_t>(i), c1 = Cast<uint32_t>(i >> 32), c2 = 0u, c3 = 0u;
            Var<uint32_t> k0 = seed, k1 = 0u;
            for (int round = 0; round < 10; ++round) {
              const auto high0 = mulhi(c0, 0xd2511f53u), low0 = c0 * 0xd2511f53u;
              const auto high1 = mulhi(c2, 0xcd9e8d57u), low1 = c2 * 0xcd9e8d57u;
              const auto next0 = high1 ^ c1 ^ k0, next2 = high0 ^ c3 ^ k1;
              c0 = next0, c1 = low1, c2 = next2, c3 = low0;
              k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
            }
            out[i] = c0 ^ c1 ^ c2 ^ c3;
          });
        };
      },
      R"(
KERNEL(Vector<uint32> out, uint32 seed) {
  index i = global_index();
  if (i < out.shape(0)) {
    uint32 c0 = (uint32)i, c1 = (uint32)(i >> 32), c2 = 0, c3 = 0, k0 = seed, k1 = 0;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      uint32 high0 = __umulhi(c0, 0xd2511f53u), low0 = c0 * 0xd2511f53u;
      uint32 high1 = __umulhi(c2, 0xcd9e8d57u), low1 = c2 * 0xcd9e8d57u;
      uint32 next0 = high1 ^ c1 ^ k0, next2 = high0 ^ c3 ^ k1;
      c0 = next0; c1 = low1; c2 = next2; c3 = low0;
      k0 += 0x9e3779b9u; k1 += 0xbb67ae85u;
    }
    out(i) = c0 ^ c1 ^ c2 ^ c3;
  }
}
)"));
  return twins;
}

}  // namespace slipway::twins
