#ifndef SLIPWAY_LAUNCH_TYPE_WORDS_H_
#define SLIPWAY_LAUNCH_TYPE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slipway/packing.h"
#include "slipway/signature.h"

namespace slipway::internal {

// The TypeCodes of a signature as TypeWords makes them of arguments: four a word, and a 0 behind the last.
inline std::vector<uint64_t> TypeWordsOf(const Signature& signature) {
  std::vector<uint64_t> words(signature.size() / kCodesPerWord + 1);
  for (size_t i = 0; i < signature.size(); ++i) {
    words[i / kCodesPerWord] |= uint64_t{CodeOf(signature[i])} << 16 * (i % kCodesPerWord);
  }
  return words;
}

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_TYPE_WORDS_H_
