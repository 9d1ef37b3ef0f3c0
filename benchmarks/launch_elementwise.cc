// Formulas over the arguments of a case: the sum of all but the first array, stored into that. A formula over numbers
// alone stores into an array of rank 0, and one over a single array fills it with a number.
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/launch_case_types.h"
#include "slipway/elementwise.h"

namespace slipway::launch_cases {
namespace {

struct Cell {
  static const ArrayView<float, 0>& In(const ArgumentSet& set) { return set.cell; }
};

// What is written, and what is added up.
template <class Output, class... Inputs>
struct Sum {
  template <class F>
  [[gnu::always_inline]] static decltype(auto) Apply(const ArgumentSet& set, const F& f) {
    return f(Output::In(set), Inputs::In(set)...);
  }
  static Elementwise Formula() {
    std::string text = "z = x0";
    for (size_t i = 1; i < sizeof...(Inputs); ++i) text += " + x" + std::to_string(i);
    return Elementwise::Parse(text).value();
  }
};

template <class C>
struct SumOver;
template <int... k>
struct SumOver<Case<Scalar<k>...>> {
  using Type = Sum<Cell, Scalar<k>...>;
};
template <int N>
struct SumOver<Case<Strided<N, 0>>> {
  using Type = Sum<Strided<N, 0>, Scalar<1>>;
};
template <int N, class Second, class... Rest>
struct SumOver<Case<Strided<N, 0>, Second, Rest...>> {
  using Type = Sum<Strided<N, 0>, Second, Rest...>;
};

enum class Shapes { kSame, kChanging };

template <class Sum, Shapes kShapes>
Run Prepare(const Bench& bench) {
  const ArgumentRing& ring = kShapes == Shapes::kSame ? bench.same : bench.changing;
  return [&ring, formula = Sum::Formula()](const Stream& stream, int64_t launches) {
    Repeat(ring.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Sum::Apply(set, [&](const auto&... args) SLIPWAY_INLINE { return formula.Into(stream, args...).ok(); });
    });
  };
}

// Calls f(offset in elements) for each element of a strided array.
template <size_t N, class F>
void ForEachOffset(const std::array<int64_t, N>& shape, const std::array<int64_t, N>& strides, const F& f) {
  std::array<int64_t, N> index{};
  for (;;) {
    int64_t offset = 0;
    for (size_t d = 0; d < N; ++d) offset += index[d] * strides[d];
    f(offset);
    size_t d = N;
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

template <class T>
T At(const T& scalar, int64_t) {
  return scalar;
}
template <int N>
float At(const ArrayView<float, N>& view, int64_t offset) {
  return view.data()[offset];
}

// Evaluates on a device whose memory the host can read, and compares with a loop over the same arguments. All arrays of
// a set have the same shape and strides.
template <class Sum, Shapes kShapes>
absl::Status Check(const Bench& bench) {
  const ArgumentRing& ring = kShapes == Shapes::kSame ? bench.same : bench.changing;
  auto* const memory = reinterpret_cast<float*>(ring.memory().address());
  for (size_t i = 0; i < ring.memory().bytes() / sizeof(float); ++i) memory[i] = static_cast<float>(i % 61) * 0.3F;
  Prepare<Sum, kShapes>(bench)(bench.stream, ArgumentRing::kSets);
  if (absl::Status status = bench.stream.Synchronize(); !status.ok()) return status;
  const ArgumentSet* set = ring.first();
  for (int k = 0; k < ArgumentRing::kSets; ++k, set = set->next) {
    int64_t wrong = 0;
    Sum::Apply(*set, [&](const auto& output, const auto&... inputs) {
      ForEachOffset(output.shape(), output.strides(), [&](int64_t offset) {
        wrong += output.data()[offset] != static_cast<float>((... + At(inputs, offset)));
      });
    });
    if (wrong != 0) return absl::InternalError(absl::StrCat("set ", k, ": ", wrong, " wrong values"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddElementwiseCases(std::vector<LaunchCase>* cases) {
  const auto add = [&]<Shapes kShapes>(const char* path) {
    ForEachCase([&]<class C>(const char* name) {
      if constexpr (!std::is_same_v<C, Case<>>) {  // A formula over nothing is none.
        using Type = typename SumOver<C>::Type;
        cases->push_back({path, name, Prepare<Type, kShapes>, Check<Type, kShapes>});
      }
    });
  };
  add.operator()<Shapes::kSame>("elementwise");
  add.operator()<Shapes::kChanging>("elementwise~");
}

}  // namespace slipway::launch_cases
