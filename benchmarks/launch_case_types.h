// What the cases of launch_cases.h are made of, for the files that measure one path each: a case is a list of sources,
// each of which knows its parameter's type and where its argument stands in a set. All are named in one table.
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_CASE_TYPES_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_CASE_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "benchmarks/launch_arguments.h"
#include "benchmarks/launch_cases.h"
#include "slipway/array.h"
#include "slipway/typed_kernel.h"

// For lambdas that the measured loop consists of, so that it is one piece of code, as if written out.
#define SLIPWAY_INLINE __attribute__((always_inline))

namespace slipway::launch_cases {

// The k-th scalar: int32, float, int64, double in turn.
template <int k>
struct Scalar {
  static constexpr bool kIsArray = false;
  using Param = std::tuple_element_t<k % 4, std::tuple<int32_t, float, int64_t, double>>;
  static const Param& In(const ArgumentSet& set) {
    const ScalarArguments& four = set.scalars[k / 4];
    return std::get<k % 4>(std::tie(four.i, four.f, four.l, four.d));
  }
  static const Param& BareIn(const ArgumentSet& set) { return In(set); }
};

// The k-th array of rank N.
template <int N, int k>
struct Strided {
  static constexpr bool kIsArray = true;
  using Param = ArrayView<float, N>;
  static const Param& In(const ArgumentSet& set) { return std::get<N - 1>(set.arrays).views[k]; }
  static const Tensor<N>& BareIn(const ArgumentSet& set) { return std::get<N - 1>(set.arrays).tensors[k]; }
};

template <class... Sources>
struct Case {
  // Calls `f` with the set's arguments, in order; BareApply with what hand-written packing copies.
  template <class F>
  [[gnu::always_inline]] static decltype(auto) Apply(const ArgumentSet& set, const F& f) {
    return f(Sources::In(set)...);
  }
  template <class F>
  [[gnu::always_inline]] static decltype(auto) BareApply(const ArgumentSet& set, const F& f) {
    return f(Sources::BareIn(set)...);
  }
};

namespace internal {
template <int N, size_t... k>
Case<Strided<N, k>...> ArraysOf(std::index_sequence<k...>);
template <size_t... k>
Case<Scalar<k>...> ScalarsOf(std::index_sequence<k...>);
template <class... A, class... B>
Case<A..., B...> Joined(Case<A...>, Case<B...>);
}  // namespace internal

template <int kCount, int N>
using Arrays = decltype(internal::ArraysOf<N>(std::make_index_sequence<kCount>()));
template <int kCount>
using Scalars = decltype(internal::ScalarsOf(std::make_index_sequence<kCount>()));
template <class A, class B>
using Join = decltype(internal::Joined(A(), B()));

// Calls `f.operator()<Case>(name)` for every case.
template <class F>
void ForEachCase(const F& f) {
  f.template operator()<Case<>>("0");
  f.template operator()<Scalars<1>>("1s");
  f.template operator()<Scalars<4>>("4s");
  f.template operator()<Scalars<16>>("16s");
  f.template operator()<Arrays<1, 1>>("1x1d");
  f.template operator()<Arrays<3, 1>>("3x1d");
  f.template operator()<Arrays<8, 1>>("8x1d");
  f.template operator()<Arrays<16, 1>>("16x1d");
  f.template operator()<Arrays<26, 1>>("26x1d");
  f.template operator()<Join<Arrays<3, 1>, Case<Scalar<1>>>>("3x1d+s");
  f.template operator()<Arrays<3, 2>>("3x2d");
  f.template operator()<Arrays<8, 3>>("8x3d");
  f.template operator()<Arrays<1, 2>>("1x2d");
  f.template operator()<Arrays<1, 3>>("1x3d");
  f.template operator()<Arrays<1, 4>>("1x4d");
  f.template operator()<Arrays<1, 5>>("1x5d");
  f.template operator()<Arrays<1, 6>>("1x6d");
  f.template operator()<Arrays<1, 7>>("1x7d");
  f.template operator()<Arrays<1, 8>>("1x8d");
}

// The loop of every path over a ring of anything: `launch(node)` is whether it succeeded. Costs what such a loop has
// to: the next node, the count, and a look at the result.
template <class Node, class Launch>
[[gnu::always_inline]] inline void Repeat(const Node* node, int64_t launches, const Launch& launch) {
  for (; launches != 0; --launches, node = node->next) Require(launch(*node));
}

// A kernel "k" with these parameters that does nothing, as PTX that every device takes. Parameters become p0, p1, ...
CompiledKernel EmptyKernel(Signature signature);

template <class... Sources>
TypedKernel<typename Sources::Param...> LoadEmptyKernel(const Device& device, Case<Sources...>) {
  using Typed = TypedKernel<typename Sources::Param...>;
  return Typed::Load(device, EmptyKernel({slipway::internal::ParamTraits<typename Sources::Param>::Spec()...})).value();
}

// One file a path (or two that belong together) appends its cases.
void AddAddressCases(std::vector<LaunchCase>* cases);
void AddBareCases(std::vector<LaunchCase>* cases);
void AddConfigCases(std::vector<LaunchCase>* cases);
void AddTypedCases(std::vector<LaunchCase>* cases);
void AddBoundCases(std::vector<LaunchCase>* cases);
void AddCheckedCases(std::vector<LaunchCase>* cases);
void AddDynamicCases(std::vector<LaunchCase>* cases);
void AddElementwiseCases(std::vector<LaunchCase>* cases);  // Where the JIT is built.
void AddSignatureCases(std::vector<LaunchCase>* cases);
void AddTraitCases(std::vector<LaunchCase>* cases);

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_CASE_TYPES_H_
