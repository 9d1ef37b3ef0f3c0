// Signatures and arguments drawn at random, with the launch buffer that they make.
#ifndef SLIPWAY_TESTS_LAUNCH_RANDOM_CALL_H_
#define SLIPWAY_TESTS_LAUNCH_RANDOM_CALL_H_

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "slipway/arg.h"
#include "slipway/device.h"
#include "slipway/signature.h"
#include "tests/launch/packing_reference.h"

namespace slipway {

using Random = std::mt19937_64;

// `count` parameters of every kind: scalars of all dtypes, arrays of rank 0 to 8 of both layouts and index widths,
// pointers, and structs of 1 to 160 bytes aligned to up to 16. Without names.
Signature RandomSignature(Random* random, size_t count);

// Arguments for a signature. Views and structs that the Args refer to live as long as this does.
class RandomCall {
 public:
  RandomCall(const Device& device, Random* random, const Signature& signature);

  const std::vector<Arg>& args() const { return args_; }
  const Bytes& packed() const { return packed_; }  // As packing_reference.h has it.

 private:
  struct alignas(16) Chunk {
    unsigned char bytes[16];
  };

  Arg AddScalar(Random* random, const ParamSpec& param);
  Arg AddPointer(const Device& device, Random* random, const ParamSpec& param);
  Arg AddStruct(Random* random, const ParamSpec& param);
  Arg AddArray(const Device& device, Random* random, const ParamSpec& param);
  const AnyArrayView& AddView(const Device& device, Random* random, DType dtype, int rank, bool contiguous);

  std::vector<Arg> args_;
  Bytes packed_;
  std::vector<std::unique_ptr<AnyArrayView>> views_;
  std::vector<std::unique_ptr<Chunk[]>> structs_;
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCH_RANDOM_CALL_H_
