// A fuzz target behind libFuzzer's interface.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

std::string_view Text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

size_t Give(const std::string& text, uint8_t* data, size_t max_size) {
  const size_t size = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  slipway::fuzz::FuzzOne(Text(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);  // Bytes, too, now and then: for the lexer.
  return Give(slipway::fuzz::Mutator().Mutate(Text(data, size), seed), data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other, size_t other_size,
                                            uint8_t* out, size_t max_out_size, unsigned seed) {
  return Give(slipway::fuzz::Mutator().CrossOver(Text(data, size), Text(other, other_size), seed), out, max_out_size);
}
