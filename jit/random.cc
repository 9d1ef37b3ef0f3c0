#include "jit/random.h"

#include <cstdint>

namespace slipway::ir {
namespace {

// Multipliers and additions to the key of each round: section 3.2 of the paper.
constexpr int64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr int64_t kWeyl[] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

Term Low(Term wide) { return Cast(DType::kUInt32, wide); }
Term High(Term wide) { return Cast(DType::kUInt32, wide >> 32); }
Term Wide(Term word) { return Cast(DType::kUInt64, word); }
Term Join(Term low, Term high) { return Wide(low) | Wide(high) << 32; }

// Of 32 or 53 bits a number in (0, 1]: the middle of one of as many equal intervals, rounded once.
Term Uniform32(Term word) { return Cast(DType::kFloat32, word) * 0x1p-32 + 0x1p-33; }
Term Uniform64(Term low, Term high) { return Cast(DType::kFloat64, Wide(low) ^ Wide(high) << 21) * 0x1p-53 + 0x1p-54; }
// Of two numbers in (0, 1], G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal Deviates", 1958.
Term BoxMuller(Term radius, Term angle) {
  return Apply(Op::kSqrt, Apply(Op::kLog, radius) * -2) * Apply(Op::kSinpi, angle + angle);
}

}  // namespace

RandomWords Philox4x32(Term seed, Term stream, Term counter) {
  RandomWords c = {Low(counter), High(counter), Low(stream), High(stream)};
  Term key[] = {Low(seed), High(seed)};
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0) {
      for (int i = 0; i < 2; ++i) key[i] = key[i] + kWeyl[i];
    }
    const Term first = Wide(c[0]) * kMultipliers[0], second = Wide(c[2]) * kMultipliers[1];
    const Term from_second = High(second) ^ c[1] ^ key[0], from_first = High(first) ^ c[3] ^ key[1];
    c = {from_second, Low(second), from_first, Low(first)};
  }
  return c;
}

Term UniformFloat32(const RandomWords& words) { return Uniform32(words[0]); }
Term UniformFloat64(const RandomWords& words) { return Uniform64(words[0], words[1]); }
Term NormalFloat32(const RandomWords& words) { return BoxMuller(Uniform32(words[0]), Uniform32(words[1])); }
Term NormalFloat64(const RandomWords& words) {
  return BoxMuller(Uniform64(words[0], words[1]), Uniform64(words[2], words[3]));
}

// The integer part of n times the 64 or 128 bits as a binary fraction: no number is likelier than another by more than
// one part in 2^32, for 64-bit n in 2^64.
Term IntegerBelow(const RandomWords& words, Term n) {
  const DType type = n.b->TypeOf(n.id);
  const Term wide = Wide(n), fraction = Join(words[0], words[1]);
  Term below = Apply(Op::kMulhi, fraction, wide);
  if (SizeOf(type) == 8) {
    const Term low = fraction * wide, rest = Apply(Op::kMulhi, Join(words[2], words[3]), wide);
    below = Select((low + rest) < low, below + 1, below);
  }
  const Term number = Cast(type, below);
  return IsUnsignedInteger(type) ? number : Select(n > 0, number, Cast(type, Number(n.b, 0)));
}

}  // namespace slipway::ir
