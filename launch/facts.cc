#include "slipway/facts.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "slipway/array.h"
#include "slipway/device.h"

namespace slipway {
namespace {

// Products of an extent and a stride pass int64, those of two of them do not pass this.
using Wide = __int128;

uint64_t Magnitude(int64_t value) { return value < 0 ? ~static_cast<uint64_t>(value) + 1 : value; }

bool IsContiguous(int rank, const int64_t* shape, const int64_t* strides) {
  Wide expected = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
    // Once past int64 no stride can be right, and another factor could pass 128 bits.
    if (expected > INT64_MAX) {
      return std::all_of(shape, shape + d, [](int64_t extent) { return extent == 1; });
    }
  }
  return true;
}

bool FitsIndex32(int rank, const int64_t* shape, const int64_t* strides, bool empty) {
  Wide count = 1, lowest = 0, highest = 0;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] > INT32_MAX) return false;
    if (empty) continue;
    count *= shape[d];
    const Wide reach = Wide{shape[d] - 1} * strides[d];
    (reach < 0 ? lowest : highest) += reach;
    if (count > INT32_MAX || lowest < INT32_MIN || highest > INT32_MAX) return false;
  }
  return true;
}

// Whether two indices that differ in one or two dimensions share an address. In two dimensions a * |s| == b * |t| has
// the smallest solution a = |t| / g, b = |s| / g, and steps of either sign are open to both.
bool Overlaps(int rank, const int64_t* shape, const int64_t* strides) {
  for (int d = 0; d < rank; ++d) {
    if (shape[d] <= 1) continue;
    if (strides[d] == 0) return true;
    for (int e = 0; e < d; ++e) {
      if (shape[e] <= 1) continue;
      const uint64_t s = Magnitude(strides[d]), t = Magnitude(strides[e]);
      const uint64_t divisor = std::gcd(s, t);
      if (t / divisor <= static_cast<uint64_t>(shape[d] - 1) && s / divisor <= static_cast<uint64_t>(shape[e] - 1)) {
        return true;
      }
    }
  }
  return false;
}

bool IsAligned(uint64_t address, DType dtype) { return address % AlignOf(dtype) == 0; }

// "a float32", "an int32".
std::string AnyOf(DType dtype) {
  const std::string_view name = Name(dtype);
  return absl::StrCat(name.starts_with('i') ? "an " : "a ", AsAbsl(name));
}

// "NVIDIA H200 (cuda:1)", by the id that facts words carry.
std::string DeviceText(uint16_t id) {
  const absl::StatusOr<Device> device = Device::FromId(id);
  return device.ok() ? device->Describe() : "a device that is not open";
}

// What an argument is, by its facts word.
std::string GivenText(Facts given) {
  const DType dtype = facts::DTypeOf(given);
  if (given & facts::kScalar) return absl::StrCat(AnyOf(dtype), " scalar");
  if (given & facts::kStruct) {
    return absl::StrCat("a struct of ", given >> facts::kStructSizeShift, " bytes aligned to ",
                        1 << ((given & facts::kAlignMask) >> facts::kAlignShift));
  }
  if (given & facts::kPointer) {
    return absl::StrCat("a pointer to ", given & facts::kReadOnly ? "const " : "", AsAbsl(Name(dtype)));
  }
  return absl::StrCat(AnyOf(dtype), " array of rank ", facts::RankOf(given));
}

}  // namespace

Facts ComputeFacts(DType dtype, int rank, const int64_t* shape, const int64_t* strides, const void* data,
                   bool read_only, uint16_t device_id) {
  const auto address = reinterpret_cast<uint64_t>(data);
  const bool empty = std::any_of(shape, shape + rank, [](int64_t extent) { return extent == 0; });
  // A number of elements that cannot be counted is as good as negative.
  const bool negative = std::any_of(shape, shape + rank, [](int64_t extent) { return extent < 0; }) ||
                        (!empty && ElementCount(rank, shape) == INT64_MAX);
  const Facts align = address == 0 ? 15 : std::min(std::countr_zero(address), 15);
  Facts word = static_cast<Facts>(dtype) | static_cast<Facts>(rank) << facts::kRankShift | align << facts::kAlignShift |
               facts::OfDevice(device_id);
  if (empty) word |= facts::kEmpty;
  if (read_only) word |= facts::kReadOnly;
  if (address % facts::kVectorBytes == 0) {
    const uint64_t row = rank < 2 ? 0 : static_cast<uint64_t>(shape[rank - 1]) * SizeOf(dtype);
    word |= facts::kVector | (row % facts::kVectorBytes == 0 ? facts::kVectorRows : 0);
  }
  if (negative) return word | facts::kNegative;  // Nothing else that depends on the shape means anything.
  const bool contiguous = empty || IsContiguous(rank, shape, strides);
  word |= contiguous ? facts::kContiguous : facts::kStrided;
  if (FitsIndex32(rank, shape, strides, empty)) word |= facts::kIndex32;
  if ((address != 0 || empty) && IsAligned(address, dtype)) word |= facts::kValid;
  if (!read_only && (contiguous || !Overlaps(rank, shape, strides))) word |= facts::kWritable;
  return word;
}

FactsDemand DemandOf(const ParamSpec& param, uint16_t device_id) {
  if (param.kind == ParamKind::kScalar) {
    // A CUdeviceptr is a uint64, but no other number.
    const Facts no_address = param.dtype == DType::kUInt64 ? 0 : facts::kPointer;
    return {facts::kDTypeMask | facts::kScalar | no_address, facts::OfScalar(param.dtype)};
  }
  if (param.kind == ParamKind::kStruct) {
    return {facts::kStruct | facts::kAlignMask | ~Facts{0} << facts::kStructSizeShift,
            facts::OfStruct(param.struct_size, param.struct_align)};
  }
  FactsDemand demand;
  if (param.kind == ParamKind::kPointer) {
    demand.want = facts::kValid | facts::kContiguous | (param.read_only ? 0 : facts::kWritable);
    demand.mask = demand.want | facts::kScalar | facts::kStruct | facts::kDeviceMask;
    demand.want |= facts::OfDevice(device_id);
    if (param.dtype == DType::kVoid) return demand;
    demand.mask |= facts::kDTypeMask;
    demand.want |= static_cast<Facts>(param.dtype);
    return demand;
  }
  demand.mask = facts::kDTypeMask | facts::kRankMask | facts::kScalar | facts::kPointer | facts::kStruct |
                facts::kValid | facts::kDeviceMask;
  demand.want = static_cast<Facts>(param.dtype) | static_cast<Facts>(param.rank) << facts::kRankShift | facts::kValid |
                facts::OfDevice(device_id);
  Facts promised = 0;
  if (param.layout == Layout::kContiguous) promised |= facts::kContiguous;
  if (param.index == IndexWidth::kIndex32) promised |= facts::kIndex32;
  if (!param.read_only) promised |= facts::kWritable;
  if (param.vector) promised |= facts::kVector;
  if (param.vector_rows) promised |= facts::kVectorRows;
  demand.mask |= promised;
  demand.want |= promised;
  return demand;
}

std::string ExplainMismatch(const ParamSpec& param, int position, uint16_t device_id, Facts given) {
  const std::string argument = param.name.empty() ? absl::StrCat("argument #", position + 1, ": ")
                                                  : absl::StrCat("argument '", param.name, "' (#", position + 1, "): ");
  const DType dtype = facts::DTypeOf(given);
  const int rank = facts::RankOf(given);
  const bool scalar = (given & facts::kScalar) != 0;
  const bool array = (given & (facts::kScalar | facts::kPointer | facts::kStruct)) == 0;
  if (array && rank > kMaxRank) {
    return absl::StrCat(argument, GivenText(given), " was given; arrays have 0 to ", kMaxRank, " dimensions");
  }
  const std::string was_given = absl::StrCat(argument, GivenText(given), " was given where ");
  switch (param.kind) {
    case ParamKind::kScalar:
      if (!scalar) {
        return absl::StrCat(was_given, AnyOf(param.dtype), " scalar is wanted; give a number of that type");
      }
      return absl::StrCat(was_given, AsAbsl(Name(param.dtype)), " is wanted exactly; convert the value to ",
                          AsAbsl(Name(param.dtype)), " before the launch (nothing is converted silently)");
    case ParamKind::kStruct:
      return absl::StrCat(was_given, "a struct of ", param.struct_size, " bytes, aligned to ", param.struct_align,
                          ", is wanted; give one of the type that the kernel declares");
    case ParamKind::kPointer: {
      const std::string elements = absl::StrCat(AsAbsl(Name(param.dtype)), " elements");
      if (scalar || (given & facts::kStruct) != 0) {
        return absl::StrCat(was_given, "an address", param.dtype == DType::kVoid ? "" : absl::StrCat(" of ", elements),
                            " is wanted; give a pointer or a contiguous array");
      }
      if (param.dtype != DType::kVoid && dtype != param.dtype && dtype != DType::kVoid) {
        return absl::StrCat(was_given, "an address of ", elements,
                            " is wanted; convert the array, or cast the pointer");
      }
      if (array) break;
      if ((given & facts::kValid) == 0) {
        return absl::StrCat(argument, "the pointer is not a multiple of ", AlignOf(dtype), " bytes, as ", elements,
                            " want it; copy them to aligned memory");
      }
      return absl::StrCat(argument, "the kernel writes there and a pointer to const was given; give one to mutable ",
                          elements);
    }
    case ParamKind::kArray:
      if (scalar) {
        return absl::StrCat(was_given, "an array, ", AsAbsl(Name(param.dtype)), " of rank ", param.rank,
                            ", is wanted; put the value into an array");
      }
      if (!array) {
        return absl::StrCat(was_given, "an array, ", AsAbsl(Name(param.dtype)), " of rank ", param.rank,
                            ", is wanted; give a view, which knows shape and strides");
      }
      if (dtype == param.dtype && rank == param.rank) break;
      return absl::StrCat(was_given, AsAbsl(Name(param.dtype)), " of rank ", param.rank, " is wanted",
                          dtype == param.dtype ? "; give a view of that rank"
                                               : "; convert the array, or compile the kernel for its type");
  }
  // The types agree. All that is wrong with the array is listed, not only the first.
  std::vector<std::string> wrong;
  if (facts::DeviceOf(given) != device_id) {
    wrong.push_back(absl::StrCat("its memory belongs to ", DeviceText(facts::DeviceOf(given)),
                                 " and the kernel is loaded on ", DeviceText(device_id),
                                 "; copy it there first, with To(device)"));
  }
  if ((given & facts::kNegative) != 0) {
    wrong.push_back(
        "one of its extents is negative, or they multiply to more elements than 63 bits count; extents are 0 or more");
  } else if ((given & facts::kValid) == 0) {
    const uint64_t align = uint64_t{1} << ((given & facts::kAlignMask) >> facts::kAlignShift);
    if (align < AlignOf(param.dtype)) {
      wrong.push_back(absl::StrCat("its address is a multiple of only ", align, " bytes, and ",
                                   AsAbsl(Name(param.dtype)), " elements want ", AlignOf(param.dtype),
                                   "; copy it to aligned memory"));
    } else {
      wrong.push_back(
          "its data pointer is null though it has elements; give memory of the device, or a shape with a 0");
    }
  }
  if ((given & facts::kNegative) == 0) {
    if (!param.read_only && (given & facts::kWritable) == 0) {
      wrong.push_back((given & facts::kReadOnly) != 0
                          ? "the kernel writes it and it is a view of const elements; give a view of mutable ones"
                          : "the kernel writes it and several of its indices share an address (a zero or overlapping "
                            "stride); give an array whose elements are apart");
    }
    if (param.kind == ParamKind::kPointer && (given & facts::kContiguous) == 0) {
      wrong.push_back(
          "the kernel takes a bare address and its elements are not contiguous; copy it, or give a pointer if the "
          "kernel knows the strides");
    } else if (param.layout == Layout::kContiguous && (given & facts::kContiguous) == 0) {
      wrong.push_back(
          "the kernel is compiled for contiguous memory and its strides are not those of a row-major array; "
          "copy it, or compile the kernel for strided arrays");
    }
    if (param.index == IndexWidth::kIndex32 && (given & facts::kIndex32) == 0) {
      wrong.push_back(
          "the kernel computes addresses in 32 bits and its elements lie further apart; compile the kernel "
          "for 64-bit indices");
    }
    if (param.vector && (given & facts::kVector) == 0) {
      wrong.push_back(absl::StrCat("the kernel accesses ", facts::kVectorBytes,
                                   " bytes at once and its address is no multiple of that; copy it to aligned memory, "
                                   "or compile the kernel for single elements"));
    } else if (param.vector_rows && (given & facts::kVectorRows) == 0) {
      wrong.push_back(absl::StrCat("the kernel accesses ", facts::kVectorBytes,
                                   " bytes at once and its last extent is no multiple of that; pad its rows, or "
                                   "compile the kernel for single elements"));
    }
  }
  return absl::StrCat(argument, absl::StrJoin(wrong, "; and "));
}

}  // namespace slipway
