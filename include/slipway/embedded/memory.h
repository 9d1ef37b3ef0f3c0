// Memory inside an embedded kernel: arrays of the kernel's own, atomic operations, and how single loads and stores are
// done.
//
//   auto tile = SharedArray<float>(16, 17);             // one for each block
//   auto stack = LocalArray<int32_t>(32);               // one for each thread
//   auto taps = ConstantArray<float>({0.25f, 0.5f, 0.25f});
//   tile(y, x) = in(row, column);
//   SyncThreads();
//   Expr<int> old = AtomicMax(best[0], score);
//   Store(flag[0], 1, MemoryAccess::Release());
//   std::array<Expr<float>, 4> four = LoadVector<4>(in, 4 * i);
//
// Arrays of the kernel's own are ArrayVars (AnyArrayVars, where the dtype is known only when the kernel is traced):
// row-major, without gaps, their elements undefined until they are stored. A kernel has up to 48 KiB of static shared
// memory, 512 KiB of local and 64 KiB of constant memory; more is an error of the kernel.
#ifndef SLIPWAY_EMBEDDED_MEMORY_H_
#define SLIPWAY_EMBEDDED_MEMORY_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "slipway/dtype.h"
#include "slipway/embedded/any_array_var.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"
#include "slipway/memory_model.h"

namespace slipway {

// Arrays.

namespace internal {

template <class T, class... Extents>
auto MakeArray(ArraySpace space, Extents... extents) {
  constexpr int kRank = sizeof...(Extents);
  const int64_t shape[kRank + 1] = {static_cast<int64_t>(extents)...};
  return ArrayVar<T, kRank, Layout::kContiguous>::FromTrace(NewArray(space, kDTypeOf<T>, shape, kRank));
}
inline AnyArrayVar MakeArray(ArraySpace space, DType dtype, absl::Span<const int64_t> shape) {
  return AnyArrayVar::FromTrace(NewArray(space, dtype, shape.data(), shape.size()));
}

}  // namespace internal

// Shared by the threads of a block. Extents are numbers of the host program, none for a single element.
template <Element T, class... Extents>
requires(std::is_integral_v<Extents>&&...) auto SharedArray(Extents... extents) {
  return internal::MakeArray<T>(internal::ArraySpace::kShared, extents...);
}
inline AnyArrayVar SharedArray(DType dtype, absl::Span<const int64_t> shape) {
  return internal::MakeArray(internal::ArraySpace::kShared, dtype, shape);
}

// The thread's own. Indices that are numbers of the host program keep it in registers.
template <Element T, class... Extents>
requires(std::is_integral_v<Extents>&&...) auto LocalArray(Extents... extents) {
  return internal::MakeArray<T>(internal::ArraySpace::kLocal, extents...);
}
inline AnyArrayVar LocalArray(DType dtype, absl::Span<const int64_t> shape) {
  return internal::MakeArray(internal::ArraySpace::kLocal, dtype, shape);
}

// In the memory that the launch gives each block (LaunchConfig::shared_bytes): extents are values of the kernel.
// Several lie one after the other in the order in which they are made, each at a multiple of its element's size. Made
// at the top of the kernel's function, outside of If, For, While and functions. That there is memory enough is not
// checked.
template <Element T, IndexLike... Extents>
auto DynamicSharedArray(const Extents&... extents) {
  const internal::Operand list[sizeof...(Extents) + 1] = {internal::ToOperand(extents)..., 0};
  return ArrayVar<T, sizeof...(Extents), Layout::kContiguous>::FromTrace(
      internal::NewDynamicSharedArray(kDTypeOf<T>, absl::MakeConstSpan(list, sizeof...(Extents))));
}
template <IndexLike... Extents>
AnyArrayVar DynamicSharedArray(DType dtype, const Extents&... extents) {
  const internal::Operand list[sizeof...(Extents) + 1] = {internal::ToOperand(extents)..., 0};
  return AnyArrayVar::FromTrace(internal::NewDynamicSharedArray(dtype, absl::MakeConstSpan(list, sizeof...(Extents))));
}

// Elements that are known now, in constant memory, which is fast where all threads of a warp read the same one. Of more
// than one dimension: row-major, as many as the shape holds.
template <Element T>
ArrayVar<const T, 1, Layout::kContiguous> ConstantArray(absl::Span<const T> elements) {
  const int64_t shape[] = {static_cast<int64_t>(elements.size())};
  return ArrayVar<const T, 1, Layout::kContiguous>::FromTrace(
      internal::NewArray(internal::ArraySpace::kConstant, kDTypeOf<T>, shape, 1,
                         std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T))));
}
template <Element T>
auto ConstantArray(std::initializer_list<T> elements) {
  return ConstantArray(absl::MakeConstSpan(elements.begin(), elements.size()));
}
template <Element T>
auto ConstantArray(const std::vector<T>& elements) {
  return ConstantArray(absl::MakeConstSpan(elements));
}
template <Element T, int N>
ArrayVar<const T, N, Layout::kContiguous> ConstantArray(const int64_t (&shape)[N], absl::Span<const T> elements) {
  return ArrayVar<const T, N, Layout::kContiguous>::FromTrace(
      internal::NewArray(internal::ArraySpace::kConstant, kDTypeOf<T>, shape, N,
                         std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T))));
}

// Single loads and stores that are not ordinary ones.

template <Element T>
Expr<std::remove_const_t<T>> Load(const ElementRef<T>& element, const MemoryAccess& access) {
  const internal::Place place(element);
  return Expr<std::remove_const_t<T>>::FromTrace(internal::LoadElement(place.array, place.indices, access));
}
inline AnyExpr Load(const AnyElementRef& element, const MemoryAccess& access) {
  const internal::Place place(element);
  return AnyExpr::FromTrace(internal::LoadElement(place.array, place.indices, access));
}
template <Element T, StorableIn<T> X>
requires(!std::is_const_v<T>) void Store(const ElementRef<T>& element, const X& value, const MemoryAccess& access) {
  const internal::Place place(element);
  internal::StoreElement(place.array, place.indices, internal::ToOperand(value), access);
}
template <OperandLike X>
void Store(const AnyElementRef& element, const X& value, const MemoryAccess& access) {
  const internal::Place place(element);
  internal::StoreElement(place.array, place.indices, internal::ToOperand(value), access);
}

// N neighbouring elements (2, 4, 8 or 16; at most 16 bytes) along the last dimension of a contiguous array in one
// access, from `element` on, whose address has to be a multiple of their size: that is believed, and otherwise the
// launch fails.
template <int N, Element T>
std::array<Expr<std::remove_const_t<T>>, N> LoadVector(const ElementRef<T>& element,
                                                       CacheHint hint = CacheHint::kNone) {
  const internal::Place place(element);
  const std::vector<internal::TraceRef> lanes = internal::LoadElements(place.array, place.indices, N, hint);
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return std::array<Expr<std::remove_const_t<T>>, N>{Expr<std::remove_const_t<T>>::FromTrace(lanes[I])...};
  }
  (std::make_index_sequence<N>());
}
template <int N>
std::array<AnyExpr, N> LoadVector(const AnyElementRef& element, CacheHint hint = CacheHint::kNone) {
  const internal::Place place(element);
  const std::vector<internal::TraceRef> lanes = internal::LoadElements(place.array, place.indices, N, hint);
  return [&]<size_t... I>(std::index_sequence<I...>) { return std::array<AnyExpr, N>{AnyExpr::FromTrace(lanes[I])...}; }
  (std::make_index_sequence<N>());
}
inline std::vector<AnyExpr> LoadVector(const AnyElementRef& element, int lanes, CacheHint hint = CacheHint::kNone) {
  const internal::Place place(element);
  std::vector<AnyExpr> values;
  for (internal::TraceRef lane : internal::LoadElements(place.array, place.indices, lanes, hint)) {
    values.push_back(AnyExpr::FromTrace(lane));
  }
  return values;
}
template <Element T, StorableIn<T>... X>
requires(!std::is_const_v<T>) void StoreVector(const ElementRef<T>& element, const X&... values) {
  const internal::Place place(element);
  internal::StoreElements(place.array, place.indices, {internal::ToOperand(values)...}, CacheHint::kNone);
}
template <Element T, class X, size_t N>
requires(!std::is_const_v<T>) void StoreVector(const ElementRef<T>& element, const std::array<X, N>& values,
                                               CacheHint hint = CacheHint::kNone) {
  const internal::Place place(element);
  std::vector<internal::Operand> operands;
  for (const X& value : values) operands.push_back(internal::ToOperand(value));
  internal::StoreElements(place.array, place.indices, operands, hint);
}
inline void StoreVector(const AnyElementRef& element, absl::Span<const AnyExpr> values,
                        CacheHint hint = CacheHint::kNone) {
  const internal::Place place(element);
  std::vector<internal::Operand> operands;
  for (const AnyExpr& value : values) operands.push_back(value.Get());
  internal::StoreElements(place.array, place.indices, operands, hint);
}

// Atomic operations on an element of a parameter or of a shared array: one step that no other thread comes between,
// ordered as `order` says among the threads of `scope`. Each returns the element's value from just before. The value is
// converted as a store does.
//
//   AtomicAdd, AtomicMin, AtomicMax   integers (wrapping) and floats; 8- and 16-bit ones, and minima of floats, by a
//                                     compare-and-swap loop where the device has no instruction
//   AtomicAnd, AtomicOr, AtomicXor    integers and bools
//   AtomicExchange                    all but complex numbers
//   AtomicIncrement, AtomicDecrement  uint32: old >= value ? 0 : old + 1, and old == 0 || old > value ? value : old - 1
//
// Sums of floats depend on the order in which threads come. float32 sums in global memory may flush subnormals.
#define SLIPWAY_EMBEDDED_ATOMIC(function, op)                                                                   \
  template <Element U, StorableIn<U> X>                                                                         \
  requires(!std::is_const_v<U>) Expr<U> function(const ElementRef<U>& target, const X& value,                   \
                                                 MemoryOrder order = MemoryOrder::kRelaxed,                     \
                                                 MemoryScope scope = MemoryScope::kDevice) {                    \
    const internal::Place place(target);                                                                        \
    return Expr<U>::FromTrace(                                                                                  \
        internal::AtomicOnElement(op, place.array, place.indices, {internal::ToOperand(value)}, order, scope)); \
  }                                                                                                             \
  template <OperandLike X>                                                                                      \
  AnyExpr function(const AnyElementRef& target, const X& value, MemoryOrder order = MemoryOrder::kRelaxed,      \
                   MemoryScope scope = MemoryScope::kDevice) {                                                  \
    const internal::Place place(target);                                                                        \
    return AnyExpr::FromTrace(                                                                                  \
        internal::AtomicOnElement(op, place.array, place.indices, {internal::ToOperand(value)}, order, scope)); \
  }
SLIPWAY_EMBEDDED_ATOMIC(AtomicAdd, "add")
SLIPWAY_EMBEDDED_ATOMIC(AtomicMin, "min")
SLIPWAY_EMBEDDED_ATOMIC(AtomicMax, "max")
SLIPWAY_EMBEDDED_ATOMIC(AtomicAnd, "and")
SLIPWAY_EMBEDDED_ATOMIC(AtomicOr, "or")
SLIPWAY_EMBEDDED_ATOMIC(AtomicXor, "xor")
SLIPWAY_EMBEDDED_ATOMIC(AtomicExchange, "exchange")
SLIPWAY_EMBEDDED_ATOMIC(AtomicIncrement, "increment")
SLIPWAY_EMBEDDED_ATOMIC(AtomicDecrement, "decrement")
#undef SLIPWAY_EMBEDDED_ATOMIC

// Stores `value` where the element has the bits of `expected`, and returns what it had: it was stored if that is equal.
template <Element U, StorableIn<U> E, StorableIn<U> X>
requires(!std::is_const_v<U>) Expr<U> AtomicCompareExchange(const ElementRef<U>& target, const E& expected,
                                                            const X& value, MemoryOrder order = MemoryOrder::kRelaxed,
                                                            MemoryScope scope = MemoryScope::kDevice) {
  const internal::Place place(target);
  return Expr<U>::FromTrace(internal::AtomicOnElement("compare_exchange", place.array, place.indices,
                                                      {internal::ToOperand(expected), internal::ToOperand(value)},
                                                      order, scope));
}
template <OperandLike E, OperandLike X>
AnyExpr AtomicCompareExchange(const AnyElementRef& target, const E& expected, const X& value,
                              MemoryOrder order = MemoryOrder::kRelaxed, MemoryScope scope = MemoryScope::kDevice) {
  const internal::Place place(target);
  return AnyExpr::FromTrace(internal::AtomicOnElement("compare_exchange", place.array, place.indices,
                                                      {internal::ToOperand(expected), internal::ToOperand(value)},
                                                      order, scope));
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_MEMORY_H_
