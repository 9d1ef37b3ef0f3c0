// Vectors of 2 to 4 numbers in embedded kernels: values that are their components, and nothing more.
//
//   VecExpr<float, 3> p = LoadVec<3>(positions, i);         // positions(i, 0), (i, 1), (i, 2)
//   VecExpr<float, 3> d = p - q;
//   Expr<float> r = length(d);
//   VecVar<float, 3> force = 0;
//   force += d * (1 / (r * r * r));
//   StoreVec(out, force, i);
//   VecExpr<float, 4> four(LoadVector<4>(x[4 * i]));        // one access of 16 bytes: memory.h
//   VecExpr<float, 2> yx = four.Swizzle<1, 0>();
//   AnyVecExpr<3> q = LoadVec<3>(any_array, i);             // of whatever dtype the array has
//
// Arithmetic is component by component, with another vector of as many or with one number for all; types are promoted
// as those of single values. On the host a Vec is a plain struct, which kernels take by value: StructVar<Vec<float,
// 3>>, or a member of another struct (struct_var.h).
#ifndef SLIPWAY_EMBEDDED_VEC_H_
#define SLIPWAY_EMBEDDED_VEC_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "slipway/dtype.h"
#include "slipway/embedded/any_array_var.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/functions.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/operators.h"
#include "slipway/embedded/var.h"
#include "slipway/vec.h"

namespace slipway {

template <Element T, int N>
requires(N >= 2 && N <= 4) class VecVar;

// One value, as Expr<T> is.
template <Element T, int N>
requires(N >= 2 && N <= 4) class VecExpr {
 public:
  using Value = T;
  static constexpr int kSize = N;

  // Of its components, numbers of the host program among them.
  template <StorableIn<T>... X>
  requires(sizeof...(X) == N) explicit VecExpr(const X&... x) : components_{Expr<T>(Cast<T>(x))...} {}
  explicit VecExpr(const std::array<Expr<T>, N>& components) : components_(components) {}
  // The present values of variables.
  VecExpr(const VecVar<T, N>& variables);  // NOLINT(google-explicit-constructor)
  // One number for all.
  template <StorableIn<T> X>
  static VecExpr All(const X& x) {
    const Expr<T> value = Cast<T>(x);
    return Make([&](int) { return value; });
  }
  // f(0), ..., f(N - 1), in this order.
  template <class F>
  static VecExpr Make(const F& f) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return VecExpr(std::array<Expr<T>, N>{Expr<T>(f(static_cast<int>(I)))...});
    }
    (std::make_index_sequence<N>());
  }

  const Expr<T>& operator[](int i) const { return components_[i]; }
  const Expr<T>& x() const { return components_[0]; }
  const Expr<T>& y() const { return components_[1]; }
  const Expr<T>& z() const requires(N >= 3) { return components_[2]; }
  const Expr<T>& w() const requires(N == 4) { return components_[3]; }
  const std::array<Expr<T>, N>& components() const { return components_; }

  // The components with these numbers, in any order, also several times.
  template <int... I>
  requires(sizeof...(I) >= 2 && sizeof...(I) <= 4 && ((I >= 0 && I < N) && ...)) VecExpr<T, sizeof...(I)> Swizzle()
  const { return VecExpr<T, sizeof...(I)>(std::array<Expr<T>, sizeof...(I)>{components_[I]...}); }

 private:
  std::array<Expr<T>, N> components_;
};

// A variable for each component.
template <Element T, int N>
requires(N >= 2 && N <= 4) class VecVar {
 public:
  using Value = T;
  static constexpr int kSize = N;

  VecVar(const VecExpr<T, N>& value) : VecVar(value, std::make_index_sequence<N>()) {}  // NOLINT
  // One number for all.
  template <StorableIn<T> X>
  VecVar(const X& x) : VecVar(VecExpr<T, N>::All(x)) {}  // NOLINT(google-explicit-constructor)

  VecVar& operator=(const VecExpr<T, N>& value) {
    for (int i = 0; i < N; ++i) components_[i] = value[i];
    return *this;
  }
  VecVar& operator=(const VecVar& other) { return *this = VecExpr<T, N>(other); }
  VecVar(const VecVar& other) : VecVar(VecExpr<T, N>(other)) {}

  Var<T>& operator[](int i) { return components_[i]; }
  const Var<T>& operator[](int i) const { return components_[i]; }

 private:
  template <size_t... I>
  VecVar(const VecExpr<T, N>& value, std::index_sequence<I...>) : components_{Var<T>(value[I])...} {}

  std::array<Var<T>, N> components_;
};

template <Element T, int N>
requires(N >= 2 && N <= 4) VecExpr<T, N>::VecExpr(const VecVar<T, N>& variables)
    : VecExpr(Make([&](int i) { return Expr<T>(variables[i]); })) {}

template <int N>
requires(N >= 2 && N <= 4) class AnyVecVar;

// The same of a dtype that only the kernel's trace knows: its components are AnyExprs, literals among them, and need
// not be of one dtype. What has no meaning for their dtypes is an error of the kernel. One of literals alone is made
// inside of a kernel's function, or of KernelBuilder::Within.
template <int N>
requires(N >= 2 && N <= 4) class AnyVecExpr {
 public:
  static constexpr int kSize = N;

  template <OperandLike... X>
  requires(sizeof...(X) == N) explicit AnyVecExpr(const X&... x) : components_{AnyExpr(x)...} {}
  explicit AnyVecExpr(const std::array<AnyExpr, N>& components) : components_(components) {}
  template <Element T>
  AnyVecExpr(const VecExpr<T, N>& typed)  // NOLINT(google-explicit-constructor)
      : AnyVecExpr(Make([&](int i) { return typed[i]; })) {}
  AnyVecExpr(const AnyVecVar<N>& variables);  // NOLINT(google-explicit-constructor)
  template <OperandLike X>
  static AnyVecExpr All(const X& x) {
    const AnyExpr value(x);
    return Make([&](int) { return value; });
  }
  template <class F>
  static AnyVecExpr Make(const F& f) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return AnyVecExpr(std::array<AnyExpr, N>{AnyExpr(f(static_cast<int>(I)))...});
    }
    (std::make_index_sequence<N>());
  }

  const AnyExpr& operator[](int i) const { return components_[i]; }
  const std::array<AnyExpr, N>& components() const { return components_; }

  template <int... I>
  requires(sizeof...(I) >= 2 && sizeof...(I) <= 4 && ((I >= 0 && I < N) && ...)) AnyVecExpr<sizeof...(I)> Swizzle()
  const { return AnyVecExpr<sizeof...(I)>(std::array<AnyExpr, sizeof...(I)>{components_[I]...}); }

 private:
  std::array<AnyExpr, N> components_;
};

// A variable for each component, each of the dtype of its first value, or all of the one that is given.
template <int N>
requires(N >= 2 && N <= 4) class AnyVecVar {
 public:
  static constexpr int kSize = N;

  AnyVecVar(const AnyVecExpr<N>& value)  // NOLINT(google-explicit-constructor)
      : AnyVecVar(DType::kVoid, value, std::make_index_sequence<N>()) {}
  AnyVecVar(DType dtype, const AnyVecExpr<N>& value) : AnyVecVar(dtype, value, std::make_index_sequence<N>()) {}

  AnyVecVar& operator=(const AnyVecExpr<N>& value) {
    for (int i = 0; i < N; ++i) components_[i] = value[i];
    return *this;
  }
  AnyVecVar& operator=(const AnyVecVar& other) { return *this = AnyVecExpr<N>(other); }
  AnyVecVar(const AnyVecVar& other) : AnyVecVar(AnyVecExpr<N>(other)) {}

  AnyVar& operator[](int i) { return components_[i]; }
  const AnyVar& operator[](int i) const { return components_[i]; }

 private:
  template <size_t... I>
  AnyVecVar(DType dtype, const AnyVecExpr<N>& value, std::index_sequence<I...>)
      : components_{(dtype == DType::kVoid ? AnyVar(value[I]) : AnyVar(dtype, value[I]))...} {}

  std::array<AnyVar, N> components_;
};

template <int N>
requires(N >= 2 && N <= 4) AnyVecExpr<N>::AnyVecExpr(const AnyVecVar<N>& variables)
    : AnyVecExpr(Make([&](int i) { return AnyExpr(variables[i]); })) {}

namespace internal {

template <class X>
struct VecTraits {
  static constexpr int kSize = 0;
};
template <class T, int N>
struct VecTraits<VecExpr<T, N>> {
  static constexpr int kSize = N;
};
template <class T, int N>
struct VecTraits<VecVar<T, N>> : VecTraits<VecExpr<T, N>> {};
template <int N>
struct VecTraits<AnyVecExpr<N>> {
  static constexpr int kSize = N;
  static constexpr bool kRunTimeTyped = true;
};
template <int N>
struct VecTraits<AnyVecVar<N>> : VecTraits<AnyVecExpr<N>> {};
template <class X>
concept RunTimeTypedVec = requires {
  VecTraits<std::remove_cvref_t<X>>::kRunTimeTyped;
};
template <class X>
inline constexpr int kVecSize = VecTraits<std::remove_cvref_t<X>>::kSize;
template <class... X>
inline constexpr int kCommonSize = std::max({kVecSize<X>...});
// At least one vector, of one size; the others are single values.
template <class... X>
inline constexpr bool kAreVecs = kCommonSize<X...> > 0 &&
                                 ((kVecSize<X> == kCommonSize<X...> || (kVecSize<X> == 0 && OperandLike<X>)) && ...);

template <class X>
decltype(auto) ComponentOf(const X& x, int i) {
  if constexpr (RunTimeTypedVec<X>) {
    return AnyExpr(x[i]);
  } else if constexpr (kVecSize<X> != 0) {
    return Expr<typename X::Value>(x[i]);
  } else {
    return (x);
  }
}

}  // namespace internal

// f of the first components, of the second ones, ...: a vector of what it gives. Single values go with each.
template <class F, class... X>
requires internal::kAreVecs<X...>
auto MapVec(const F& f, const X&... x) {
  using R = std::remove_cvref_t<decltype(f(internal::ComponentOf(x, 0)...))>;
  const auto component = [&](int i) { return f(internal::ComponentOf(x, i)...); };
  if constexpr (RunTimeTyped<R>) {
    return AnyVecExpr<internal::kCommonSize<X...>>::Make(component);
  } else {
    return VecExpr<typename R::Value, internal::kCommonSize<X...>>::Make(component);
  }
}

#define SLIPWAY_EMBEDDED_VEC_OPERATOR(op)                                     \
  template <class A, class B>                                                 \
  requires internal::kAreVecs<A, B>                                           \
  auto operator op(const A& a, const B& b) {                                  \
    return MapVec([](const auto& x, const auto& y) { return x op y; }, a, b); \
  }
SLIPWAY_EMBEDDED_VEC_OPERATOR(+)
SLIPWAY_EMBEDDED_VEC_OPERATOR(-)
SLIPWAY_EMBEDDED_VEC_OPERATOR(*)
SLIPWAY_EMBEDDED_VEC_OPERATOR(/)
SLIPWAY_EMBEDDED_VEC_OPERATOR(%)
SLIPWAY_EMBEDDED_VEC_OPERATOR(&)
SLIPWAY_EMBEDDED_VEC_OPERATOR(|)
SLIPWAY_EMBEDDED_VEC_OPERATOR(^)
SLIPWAY_EMBEDDED_VEC_OPERATOR(<)
SLIPWAY_EMBEDDED_VEC_OPERATOR(<=)
SLIPWAY_EMBEDDED_VEC_OPERATOR(>)
SLIPWAY_EMBEDDED_VEC_OPERATOR(>=)
SLIPWAY_EMBEDDED_VEC_OPERATOR(==)
SLIPWAY_EMBEDDED_VEC_OPERATOR(!=)
#undef SLIPWAY_EMBEDDED_VEC_OPERATOR
template <class A>
requires internal::kAreVecs<A>
auto operator-(const A& a) {
  return MapVec([](const auto& x) { return -x; }, a);
}

#define SLIPWAY_EMBEDDED_VEC_COMPOUND(op)                                     \
  template <Element T, int N, class X>                                        \
  requires internal::kAreVecs<VecVar<T, N>, X> VecVar<T, N>                   \
  &operator op##=(VecVar<T, N>& target, const X& x) {                         \
    for (int i = 0; i < N; ++i) target[i] op## = internal::ComponentOf(x, i); \
    return target;                                                            \
  }                                                                           \
  template <int N, class X>                                                   \
  requires internal::kAreVecs<AnyVecVar<N>, X> AnyVecVar<N>                   \
  &operator op##=(AnyVecVar<N>& target, const X& x) {                         \
    for (int i = 0; i < N; ++i) target[i] op## = internal::ComponentOf(x, i); \
    return target;                                                            \
  }
SLIPWAY_EMBEDDED_VEC_COMPOUND(+)
SLIPWAY_EMBEDDED_VEC_COMPOUND(-)
SLIPWAY_EMBEDDED_VEC_COMPOUND(*)
SLIPWAY_EMBEDDED_VEC_COMPOUND(/)
#undef SLIPWAY_EMBEDDED_VEC_COMPOUND

// The sum of the components, the sum of the products, the length (without care for overflow) and the vector of
// length 1.
template <class A>
requires internal::kAreVecs<A>
auto sum(const A& a) {
  constexpr int kSize = internal::kVecSize<A>;
  const auto first = internal::ComponentOf(a, 0) + internal::ComponentOf(a, 1);
  if constexpr (kSize == 2) {
    return first;
  } else if constexpr (kSize == 3) {
    return first + internal::ComponentOf(a, 2);
  } else {
    return first + internal::ComponentOf(a, 2) + internal::ComponentOf(a, 3);
  }
}
template <class A, class B>
requires internal::kAreVecs<A, B>
auto dot(const A& a, const B& b) { return sum(a * b); }
template <class A>
requires internal::kAreVecs<A>
auto length(const A& a) { return sqrt(dot(a, a)); }
template <class A>
requires internal::kAreVecs<A>
auto normalize(const A& a) { return a / length(a); }
template <class A, class B>
requires(internal::kVecSize<A> == 3 && internal::kVecSize<B> == 3) auto cross(const A& a, const B& b) {
  const auto as_it_is = [](const auto& x) { return x; };
  const auto u = MapVec(as_it_is, a), v = MapVec(as_it_is, b);
  return u.template Swizzle<1, 2, 0>() * v.template Swizzle<2, 0, 1>() -
         u.template Swizzle<2, 0, 1>() * v.template Swizzle<1, 2, 0>();
}
template <class A, class B>
requires internal::kAreVecs<A, B>
auto min(const A& a, const B& b) {
  return MapVec([](const auto& x, const auto& y) { return min(x, y); }, a, b);
}
template <class A, class B>
requires internal::kAreVecs<A, B>
auto max(const A& a, const B& b) {
  return MapVec([](const auto& x, const auto& y) { return max(x, y); }, a, b);
}
template <class A>
requires internal::kAreVecs<A>
auto abs(const A& a) {
  return MapVec([](const auto& x) { return abs(x); }, a);
}
// Of one condition, or of a vector of them.
template <class C, class A, class B>
requires(internal::kAreVecs<A, B>&& internal::kAreVecs<C, A, B>) auto Select(const C& condition, const A& a,
                                                                             const B& b) {
  return MapVec([](const auto& c, const auto& x, const auto& y) { return Select(c, x, y); }, condition, a, b);
}
template <Element T, class A>
requires internal::kAreVecs<A>
auto Cast(const A& a) {
  return MapVec([](const auto& x) { return Cast<T>(x); }, a);
}

template <class A>
requires internal::kAreVecs<A>
auto Cast(DType dtype, const A& a) {
  return MapVec([&](const auto& x) { return Cast(dtype, x); }, a);
}

// The elements array(indices..., 0) to array(indices..., N - 1), and stores into them. For one wide access see
// LoadVector and StoreVector (memory.h), whose arrays of components go to and come from vectors.
template <int N, Element T, int R, Layout L, IndexLike... I>
requires(sizeof...(I) + 1 == R) VecExpr<std::remove_const_t<T>, N> LoadVec(const ArrayVar<T, R, L>& array,
                                                                           const I&... indices) {
  return VecExpr<std::remove_const_t<T>, N>::Make(
      [&](int k) { return Expr<std::remove_const_t<T>>(array(indices..., k)); });
}
template <Element T, int R, Layout L, class V, IndexLike... I>
requires(sizeof...(I) + 1 == R && internal::kVecSize<V> > 0 &&
         !std::is_const_v<T>) void StoreVec(const ArrayVar<T, R, L>& array, const V& value, const I&... indices) {
  for (int k = 0; k < internal::kVecSize<V>; ++k) array(indices..., k) = internal::ComponentOf(value, k);
}
template <int N, IndexLike... I>
AnyVecExpr<N> LoadVec(const AnyArrayVar& array, const I&... indices) {
  return AnyVecExpr<N>::Make([&](int k) { return array(indices..., k); });
}
template <class V, IndexLike... I>
requires(internal::kVecSize<V> > 0) void StoreVec(const AnyArrayVar& array, const V& value, const I&... indices) {
  for (int k = 0; k < internal::kVecSize<V>; ++k) array(indices..., k) = internal::ComponentOf(value, k);
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_VEC_H_
