// An argument of a dynamic launch: a scalar of any dtype, an array view, a raw pointer, or a struct by value.
//
//   kernel.Launch(stream, ForSize(n), {y, x, 2.0f});
//
// An Arg refers to the view, array or struct that it is made from, which must stay where it is until the call that
// takes the Arg returns; writing it in the call's argument list does that. A scalar and a pointer are copied. Trivially
// copyable, never allocates.
#ifndef SLIPWAY_ARG_H_
#define SLIPWAY_ARG_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "slipway/array.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/tensor_trait.h"

namespace slipway {

namespace internal {

template <class A>
struct IsArrayType : std::false_type {};
template <class T, int N, Layout L>
struct IsArrayType<ArrayView<T, N, L>> : std::true_type {};
template <class T, int N>
struct IsArrayType<Array<T, N>> : std::true_type {};
template <>
struct IsArrayType<AnyArrayView> : std::true_type {};
template <>
struct IsArrayType<AnyArray> : std::true_type {};

// The dtype of what a pointer points at; kVoid for void and for types that are no elements.
template <class T>
inline constexpr DType kPointeeOf = [] {
  if constexpr (Element<T>) {
    return kDTypeOf<T>;
  } else {
    return DType::kVoid;
  }
}();

}  // namespace internal

class Arg;

// A struct that may be passed by value: plain bytes, and nothing that already is another kind of argument.
template <class S>
concept StructArgument =
    std::is_class_v<S> && std::is_trivially_copyable_v<S> && std::is_standard_layout_v<S> && !Element<S> &&
    !Tensor<S> && !internal::IsArrayType<S>::value && !std::is_same_v<S, Arg>;

class Arg {
 public:
  // A scalar. Its dtype must be the parameter's exactly, so a double literal does not fit a float parameter:
  // write 2.0f.
  template <Element T>
  Arg(T value) : facts_(facts::OfScalar(kDTypeOf<T>)) {  // NOLINT(google-explicit-constructor)
    if constexpr (sizeof(T) <= 8) words_[1] = 0;         // Whole words are copied when packing; see Kernel::Launch.
    if constexpr (sizeof(T) < 8) words_[0] = 0;
    std::memcpy(words_, &value, sizeof(T));
  }
  // An array.
  template <class T, int N, Layout L>
  Arg(const ArrayView<T, N, L>& view)  // NOLINT(google-explicit-constructor)
      : facts_(view.facts()), words_{Address(&view)} {}
  template <class T, int N>
  Arg(const Array<T, N>& array)  // NOLINT(google-explicit-constructor)
      : facts_(array.view().facts()), words_{Address(&array.view()), OwnerWord(*array.memory())} {}
  Arg(const AnyArrayView& view)  // NOLINT(google-explicit-constructor)
      : facts_(view.facts()), words_{Address(&view)} {}
  Arg(const AnyArray& array)  // NOLINT(google-explicit-constructor)
      : facts_(array.view().facts()), words_{Address(&array.view()), OwnerWord(*array.memory())} {}
  // A device address, for parameters that are pointers. It is believed: of the memory behind it nothing is known.
  template <class T>
  requires(!std::is_function_v<T>) Arg(T* pointer)  // NOLINT(google-explicit-constructor)
      : facts_(facts::OfPointer(internal::kPointeeOf<T>, std::is_const_v<T>, Address(pointer))),
        words_{Address(pointer)} {}
  // The same as the driver writes it, of unknown type; a number for parameters that are uint64 scalars.
  Arg(CUdeviceptr address)  // NOLINT(google-explicit-constructor)
      : facts_(facts::OfDeviceAddress()), words_{address} {}
  // A struct by value.
  template <StructArgument S>
  Arg(const S& value)  // NOLINT(google-explicit-constructor)
      : facts_(facts::OfStruct(sizeof(S), alignof(S))), words_{Address(&value)} {}

  Facts facts() const { return facts_; }
  bool is_scalar() const { return (facts_ & facts::kScalar) != 0; }
  bool is_array() const { return (facts_ & (facts::kScalar | facts::kPointer | facts::kStruct)) == 0; }
  DType dtype() const { return facts::DTypeOf(facts_); }
  int rank() const { return facts::RankOf(facts_); }  // 0 for all but arrays.

  // Where the bytes are that go into the launch buffer. Of a scalar: its value, zero-extended to 16 bytes. Of a
  // pointer: the address. Of a struct: the struct. Of an array: the strided ABI struct {data, shape[rank],
  // strides[rank]}, with the facts word or more behind it.
  const void* bytes() const {
    constexpr Facts kInside = facts::kScalar | facts::kPointer;
    return (facts_ & kInside) != 0 ? words_ : reinterpret_cast<const void*>(words_[0]);
  }

  // Of a scalar.
  const void* scalar() const { return words_; }
  template <Element T>
  T scalar_as() const {  // `T` is of dtype().
    T value;
    std::memcpy(&value, words_, sizeof(T));
    return value;
  }

  // Of an array.
  const void* struct_address() const { return reinterpret_cast<const void*>(words_[0]); }
  void* data() const;
  absl::Span<const int64_t> shape() const;
  absl::Span<const int64_t> strides() const;
  AnyArrayView view() const;
  // The memory of a stream that the array owns; null for views, and for arrays in memory of the device.
  const DeviceMemory* memory() const { return is_array() ? reinterpret_cast<const DeviceMemory*>(words_[1]) : nullptr; }
  // Not 0 where memory() is not null, and for some scalars.
  uint64_t owner_word() const { return words_[1]; }

 private:
  static uint64_t OwnerWord(const DeviceMemory& memory) { return memory.home() == nullptr ? 0 : Address(&memory); }
  static uint64_t Address(const volatile void* view) { return reinterpret_cast<uint64_t>(view); }

  Facts facts_;
  uint64_t words_[2];  // A scalar's value or a pointer; or the address of the view or struct, and of memory().
};

// "float32 scalar", "float32[3,4] strides [4,1]", "pointer to const float32", "struct of 24 bytes": for messages.
std::string Describe(const Arg& arg);

// An argument by the name of its parameter: {{"a", 2.0f}, {"x", x}}.
struct NamedArg {
  std::string_view name;
  Arg arg;
};

}  // namespace slipway

#endif  // SLIPWAY_ARG_H_
