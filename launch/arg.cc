#include "slipway/arg.h"

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "slipway/array_uses.h"

namespace slipway {
namespace {

const int64_t* DimsOf(const void* abi_struct) { return static_cast<const int64_t*>(abi_struct) + 1; }

}  // namespace

void* Arg::data() const {
  void* data;
  std::memcpy(&data, struct_address(), sizeof(data));
  return data;
}

absl::Span<const int64_t> Arg::shape() const {
  if (!is_array()) return {};
  return {DimsOf(struct_address()), static_cast<size_t>(rank())};
}

absl::Span<const int64_t> Arg::strides() const {
  if (!is_array()) return {};
  return {DimsOf(struct_address()) + rank(), static_cast<size_t>(rank())};
}

AnyArrayView Arg::view() const {
  AnyArrayView view(data(), facts_);
  // Of a tensor whose rank no array has nothing more is known.
  if (rank() <= kMaxRank) std::memcpy(view.dims_, DimsOf(struct_address()), 2 * rank() * sizeof(int64_t));
  return view;
}

std::string Describe(const Arg& arg) {
  const Facts word = arg.facts();
  if (arg.is_scalar()) return absl::StrCat(AsAbsl(Name(arg.dtype())), " scalar");
  if ((word & facts::kStruct) != 0) return absl::StrCat("struct of ", word >> facts::kStructSizeShift, " bytes");
  if ((word & facts::kPointer) != 0) {
    return absl::StrCat("pointer to ", (word & facts::kReadOnly) != 0 ? "const " : "", AsAbsl(Name(arg.dtype())));
  }
  return Describe(arg.view());
}

absl::Status internal::NoteUses(const Stream& stream, absl::Span<const Arg> args) {
  for (const Arg& arg : args) {
    const DeviceMemory* const memory = arg.memory();
    if (memory == nullptr || !IsForeign(*memory, stream)) continue;
    if (absl::Status status = memory->RecordUse(stream); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace slipway
