// Whether two declarations of a C function come to the same calls.
#ifndef SLIPWAY_TESTS_DRIVER_SAME_ABI_H_
#define SLIPWAY_TESTS_DRIVER_SAME_ABI_H_

#include <type_traits>

namespace slipway {

// Whether a value of type A can be read as one of type B on the other side of a C call: the same type, or integers of
// one size and signedness, or enumerations of one size, or pointers to such, or functions of such.
template <class A, class B>
struct SameAbi {
  static constexpr bool kValue = [] {
    if constexpr (std::is_same_v<A, B>) {
      return true;
    } else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
      using ToA = std::remove_pointer_t<A>;
      using ToB = std::remove_pointer_t<B>;
      return std::is_const_v<ToA> == std::is_const_v<ToB> &&
             SameAbi<std::remove_const_t<ToA>, std::remove_const_t<ToB>>::kValue;
    } else if constexpr (std::is_enum_v<A> && std::is_enum_v<B>) {
      return sizeof(A) == sizeof(B);
    } else if constexpr (std::is_class_v<A> && std::is_class_v<B>) {
      return sizeof(A) == sizeof(B) && alignof(A) == alignof(B);  // Their fields are compared one by one below.
    } else if constexpr (std::is_same_v<A, void> || std::is_same_v<B, void>) {
      return true;  // An untyped pointer.
    } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      return sizeof(A) == sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B>;
    } else {
      return false;
    }
  }();
};
template <class ResultA, class... ArgsA, class ResultB, class... ArgsB>
struct SameAbi<ResultA(ArgsA...), ResultB(ArgsB...)> {
  static constexpr bool kValue = [] {
    if constexpr (sizeof...(ArgsA) == sizeof...(ArgsB)) {
      return SameAbi<ResultA, ResultB>::kValue && (SameAbi<ArgsA, ArgsB>::kValue && ...);
    } else {
      return false;
    }
  }();
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_DRIVER_SAME_ABI_H_
