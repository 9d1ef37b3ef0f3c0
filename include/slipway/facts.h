// The facts word: everything a launch has to know about an array argument, in 64 bits, computed once when a view is
// made. A kernel keeps a mask and the wanted value for each parameter, so that a launch checks dtype, rank, layout,
// index width, null pointer and device with one AND and one compare.
#ifndef SLIPWAY_FACTS_H_
#define SLIPWAY_FACTS_H_

#include <bit>
#include <cstdint>
#include <string>

#include "slipway/dtype.h"
#include "slipway/signature.h"

namespace slipway {

using Facts = uint64_t;

// Bits   0-7   dtype
//        8-11  rank
//        12    contiguous: row-major without gaps (always so for rank 0 and for empty arrays; strides of dimensions of
//              extent 1 do not count)
//        13    index32: every element's offset from `data`, every extent and the element count lie in int32
//        14    valid: `data` is not null or the array is empty, `data` is aligned as its dtype wants, and no extent is
//              negative
//        15    writable: not a view of const elements, no zero stride over a dimension longer than 1, and no two
//              dimensions in which steps meet at one address (exact up to rank 2; in higher ranks an overlap that needs
//              three dimensions at once is not seen)
//        16-19 log2 of the alignment of `data` in bytes, capped at 15
//        20    empty: some dimension is 0
//        21    scalar: the word of a scalar argument, of which only the dtype field is used
//        22    read only: a view of const elements (tells messages why an array is not writable)
//        23    negative: some extent is negative (tells messages why an array is not valid)
//        24    pointer: the word of a raw address, whose elements are of that dtype, or unknown (kVoid). It says the
//              best of its memory: a raw address is believed
//        25    struct: the word of a struct by value; bits 32-63 are its size and 16-19 its alignment
//        26    vector: `data` is a multiple of 16 bytes, the widest access that a thread makes
//        27    vector rows: vector, and of rank 0 or 1, or the last extent is a multiple of 16 bytes: in a contiguous
//              array every row begins at such a multiple
//        28    strided: not contiguous
//        32-47 id of the device whose memory it is (DeviceState::id)
//        48-63 the complement of that id. So the AND of several words still has all 32 bits of a device if and only if
//              all words are of that device, and any demand is a set of bits that have to be 1
namespace facts {
inline constexpr Facts kDTypeMask = 0xff;
inline constexpr int kRankShift = 8;
inline constexpr Facts kRankMask = Facts{0xf} << kRankShift;
inline constexpr Facts kContiguous = Facts{1} << 12;
inline constexpr Facts kIndex32 = Facts{1} << 13;
inline constexpr Facts kValid = Facts{1} << 14;
inline constexpr Facts kWritable = Facts{1} << 15;
inline constexpr int kAlignShift = 16;
inline constexpr Facts kAlignMask = Facts{0xf} << kAlignShift;
inline constexpr Facts kEmpty = Facts{1} << 20;
inline constexpr Facts kScalar = Facts{1} << 21;
inline constexpr Facts kReadOnly = Facts{1} << 22;
inline constexpr Facts kNegative = Facts{1} << 23;
inline constexpr Facts kPointer = Facts{1} << 24;
inline constexpr Facts kStruct = Facts{1} << 25;
inline constexpr Facts kVector = Facts{1} << 26;
inline constexpr Facts kVectorRows = Facts{1} << 27;
inline constexpr Facts kStrided = Facts{1} << 28;
inline constexpr uint64_t kVectorBytes = 16;
inline constexpr int kStructSizeShift = 32;
inline constexpr int kDeviceShift = 32;
inline constexpr Facts kDeviceMask = Facts{0xffffffff} << kDeviceShift;

constexpr DType DTypeOf(Facts word) { return static_cast<DType>(word & kDTypeMask); }
constexpr int RankOf(Facts word) { return static_cast<int>((word & kRankMask) >> kRankShift); }
constexpr uint16_t DeviceOf(Facts word) { return static_cast<uint16_t>(word >> kDeviceShift); }
constexpr Facts OfDevice(uint16_t id) {
  return Facts{id} << kDeviceShift | Facts{static_cast<uint16_t>(~id)} << (kDeviceShift + 16);
}
constexpr Facts OfScalar(DType dtype) { return kScalar | static_cast<Facts>(dtype); }
constexpr Facts OfPointer(DType dtype, bool read_only, uint64_t address) {
  const Facts aligned = dtype == DType::kVoid || address % AlignOf(dtype) == 0 ? kValid : 0;
  return kPointer | static_cast<Facts>(dtype) | kContiguous | aligned | (read_only ? kReadOnly : kWritable);
}
// A CUdeviceptr, which C++ cannot tell from a uint64: it fits parameters of either kind.
constexpr Facts OfDeviceAddress() {
  return kScalar | kPointer | static_cast<Facts>(DType::kUInt64) | kContiguous | kValid | kWritable;
}
constexpr Facts OfStruct(uint32_t size, uint32_t align) {
  return kStruct | Facts{size} << kStructSizeShift | static_cast<Facts>(std::countr_zero(align)) << kAlignShift;
}
// What is not asked of an argument: of a raw address, whose memory it is; of an untyped one, of what; of a CUdeviceptr,
// that it is no number.
constexpr Facts Excused(Facts word) {
  if ((word & kPointer) == 0) return 0;
  const bool untyped = DTypeOf(word) == DType::kVoid || (word & kScalar) != 0;
  return kDeviceMask | (word & kScalar) | (untyped ? kDTypeMask : 0);
}
}  // namespace facts

// The facts of an array. `shape` and `strides` (in elements) have `rank` entries; `read_only` is the constness of the
// elements. Sizes whose product passes int64 are handled without overflow (they are not index32).
Facts ComputeFacts(DType dtype, int rank, const int64_t* shape, const int64_t* strides, const void* data,
                   bool read_only, uint16_t device_id);

// What a parameter demands of its argument's facts word: (facts & mask) == want, but for what raw addresses are
// excused from.
struct FactsDemand {
  Facts mask = 0;
  Facts want = 0;

  // The bits of `given` that are not as wanted; 0 if the argument fits.
  Facts Misfit(Facts given) const { return (given ^ want) & mask; }
  // The same of what may be a raw address, which is excused from some.
  Facts MisfitOfAny(Facts given) const { return Misfit(given) & ~facts::Excused(given); }
};
FactsDemand DemandOf(const ParamSpec& param, uint16_t device_id);

// The same facts of a view whose elements may no longer be written: what makes a view of T a view of const T.
constexpr Facts AsReadOnly(Facts word) { return (word & ~facts::kWritable) | facts::kReadOnly; }

// Why an argument's facts do not meet a parameter's demand, in words: "argument 'x' (#1): a float64 array of rank 1 was
// given where float32 of rank 2 is wanted; ...". Called only once a launch has failed its compare.
std::string ExplainMismatch(const ParamSpec& param, int position, uint16_t device_id, Facts given);

}  // namespace slipway

#endif  // SLIPWAY_FACTS_H_
