#include "slipway/arg.h"

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"

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
  if (is_scalar()) return {};
  return {DimsOf(struct_address()), static_cast<size_t>(rank())};
}

absl::Span<const int64_t> Arg::strides() const {
  if (is_scalar()) return {};
  return {DimsOf(struct_address()) + rank(), static_cast<size_t>(rank())};
}

AnyArrayView Arg::view() const {
  AnyArrayView view(data(), facts_);
  std::memcpy(view.dims_, DimsOf(struct_address()), 2 * rank() * sizeof(int64_t));
  return view;
}

std::string Describe(const Arg& arg) {
  return arg.is_scalar() ? absl::StrCat(AsAbsl(Name(arg.dtype())), " scalar") : Describe(arg.view());
}

}  // namespace slipway
