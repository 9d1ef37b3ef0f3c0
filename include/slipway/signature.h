// The parameters of a kernel, as both the compiler and the launch see them: names, types, and where each one stands in
// the launch buffer.
#ifndef SLIPWAY_SIGNATURE_H_
#define SLIPWAY_SIGNATURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "slipway/dtype.h"

namespace slipway {

inline constexpr int kMaxRank = 8;

// How an array lies in memory, which decides its ABI struct:
//   kStrided     {T* data; int64 shape[N]; int64 strides[N]}, strides in elements, any sign, zero allowed
//   kContiguous  {T* data; int64 shape[N]}, row-major without gaps
// At rank 0 both are {T* data}.
enum class Layout : uint8_t { kStrided, kContiguous };

// The integer type in which a kernel computes addresses. kIndex32 is a promise that every element's offset fits int32,
// checked at launch through the facts word. The ABI structs are the same for both.
enum class IndexWidth : uint8_t { kIndex64, kIndex32 };

// What a parameter is:
//   kScalar   a number of a dtype
//   kArray    the ABI struct of an array; see Layout
//   kPointer  an address, as functions that were not made by Slipway take it. Takes a raw pointer, which is believed,
//             or an array of any rank that is contiguous.
//   kStruct   a trivially copyable struct by value, of which only size and alignment are known
enum class ParamKind : uint8_t { kScalar, kArray, kPointer, kStruct };

struct ParamSpec {
  std::string name;
  ParamKind kind = ParamKind::kScalar;
  DType dtype = DType::kVoid;               // Of the scalar or of the elements; kVoid for structs and for void*.
  int rank = 0;                             // Arrays only, 0 to kMaxRank.
  Layout layout = Layout::kStrided;         // Arrays only.
  IndexWidth index = IndexWidth::kIndex64;  // Arrays only.
  bool vector = false;                      // Arrays only: the address of the first element is a multiple of 16 bytes,
  bool vector_rows = false;                 // and, beside that, so is the last extent in bytes.
  bool read_only = false;                   // Arrays and pointers only: the kernel never writes it.
  uint32_t struct_size = 0;                 // Structs only, in bytes.
  uint32_t struct_align = 1;                // Structs only, in bytes: a power of two.

  friend bool operator==(const ParamSpec&, const ParamSpec&) = default;
};

using Signature = std::vector<ParamSpec>;

// "x: const float32[:,:] contiguous index32", "a: float64": for messages and listings.
std::string Describe(const ParamSpec& param);
std::string Describe(const Signature& signature);

// Bytes of a parameter in the launch buffer, and its alignment.
size_t AbiSize(const ParamSpec& param);
size_t AbiAlign(const ParamSpec& param);

// Offsets of the parameters in the launch buffer by the rules of the PTX ABI (each at its natural alignment, in order).
struct BufferLayout {
  std::vector<uint32_t> offsets;
  uint32_t size = 0;  // The end of the last parameter; not padded, as CU_LAUNCH_PARAM_BUFFER_SIZE wants it.
};
BufferLayout LayOut(const Signature& signature);

}  // namespace slipway

#endif  // SLIPWAY_SIGNATURE_H_
