// Variables of a module (__device__, __constant__; .global, .const in PTX) as numbers and arrays.
//
//   float scale = GetSymbol<float>(module, "scale").value();
//   absl::Status status = SetSymbol(module, "scale", 2.5f);
//   auto table = SymbolArray<float, 2>(module, "table", {4, 16}).value();    // An Array like any other.
//   AnyArray any = SymbolArray(module, "table", DType::kFloat32, {4, 16}).value();
//
// An array of a symbol shares the symbol's memory and keeps the module loaded. All that arrays do (CopyFrom, ToVector,
// being a launch's argument) is done to the variable. What is set is there for kernels that are launched afterwards.
#ifndef SLIPWAY_SYMBOL_H_
#define SLIPWAY_SYMBOL_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/array.h"
#include "slipway/dtype.h"
#include "slipway/module.h"

namespace slipway {

// NOT_FOUND as of Module::GetGlobal. INVALID_ARGUMENT, with both sizes, unless the elements take exactly the variable's
// bytes; or if the variable does not lie at a multiple of what an element wants.
absl::StatusOr<AnyArray> SymbolArray(const Module& module, const std::string& name, DType dtype,
                                     absl::Span<const int64_t> shape);
template <Element T, int N>
absl::StatusOr<Array<T, N>> SymbolArray(const Module& module, const std::string& name,
                                        const std::array<int64_t, N>& shape) {
  absl::StatusOr<AnyArray> array = SymbolArray(module, name, kDTypeOf<T>, shape);
  if (!array.ok()) return std::move(array).status();
  return Array<T, N>::FromAny(*array);
}
// Of as many elements as the variable has room for. INVALID_ARGUMENT if that is no whole number of them.
absl::StatusOr<AnyArray> SymbolArray(const Module& module, const std::string& name, DType dtype);
template <Element T>
absl::StatusOr<Array<T, 1>> SymbolArray(const Module& module, const std::string& name) {
  absl::StatusOr<AnyArray> array = SymbolArray(module, name, kDTypeOf<T>);
  if (!array.ok()) return std::move(array).status();
  return Array<T, 1>::FromAny(*array);
}

namespace internal {
// The bytes of a variable of exactly that size, after everything that is queued on the device.
absl::Status ReadSymbol(const Module& module, const std::string& name, void* to, size_t bytes);
absl::Status WriteSymbol(const Module& module, const std::string& name, const void* from, size_t bytes);
}  // namespace internal

// A variable that is one number, or one struct of T's layout. Each waits for what is queued on the device; neither may
// be called while a stream of it is captured. INVALID_ARGUMENT, with both sizes, if the variable is not of T's size.
template <class T>
requires std::is_trivially_copyable_v<T> absl::StatusOr<T> GetSymbol(const Module& module, const std::string& name) {
  T value;
  if (absl::Status status = internal::ReadSymbol(module, name, &value, sizeof(T)); !status.ok()) return status;
  return value;
}
template <class T>
requires std::is_trivially_copyable_v<T> absl::Status SetSymbol(const Module& module, const std::string& name,
                                                                const T& value) {
  return internal::WriteSymbol(module, name, &value, sizeof(T));
}

}  // namespace slipway

#endif  // SLIPWAY_SYMBOL_H_
