// Kernel families of the Awkward Array project, written as Slipway kernels in embedded C++.
//
// A family is one operation (what it computes stands beside its kernel, and in full in
// tests/data/awkward-kernels/SEMANTICS.md), with one variant for each combination of element types that the project
// has. A family is written once: its generic kernels are compiled for the types that they are first called with. Its
// arguments, in order, are those of the project's C interface.
//
// Three shapes cover nearly all of them, each a function that makes the table's entry from a lambda over the family's
// arguments: Map, Scanned and Reduced. The others queue their launches themselves.
#ifndef SLIPWAY_EXAMPLES_JAGGED_FAMILY_H_
#define SLIPWAY_EXAMPLES_JAGGED_FAMILY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "examples/jagged/call.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/scan.h"
#include "slipway/embedded.h"

namespace slipway::jagged {

// How a family is computed where there are two ways to: by kernels of its own, which take one launch whatever the sizes
// are, or by an algorithm of the library, which looks at them, and shares long bins out.
enum class Way { kKernel, kAlgorithm };
inline constexpr Way kWay = Way::kKernel;  // Of all calls that do not say it: this line switches.

struct Family {
  const char* name;                        // Without the project's `awkward_` prefix.
  std::function<void(Call&)> run;          // Queues everything; nothing is read back.
  std::vector<const char*> messages = {};  // Of the mistakes, by the numbers that its kernels Fail with.
  // The same by an algorithm of the library; null where none computes it. What is left to kernels alone: scans and
  // sorts are building blocks of one launch for small arrays here (scan.h), and sort NaNs first.
  std::function<void(Call&)> by_algorithm = {};

  const std::function<void(Call&)>& By(Way way) const {
    return way == Way::kAlgorithm && by_algorithm != nullptr ? by_algorithm : run;
  }
};

std::vector<Family> OptionFamilies();          // Masks of bits and bytes.
std::vector<Family> IndexedFamilies();         // Indices into a content, where negative ones mean "missing".
std::vector<Family> UnionFamilies();           // Tags and indices into several contents.
std::vector<Family> RegularFamilies();         // Lists of one length.
std::vector<Family> ListFamilies();            // Lists of varying length.
std::vector<Family> SliceFamilies();           // Slicing them by numbers, ranges and arrays,
std::vector<Family> JaggedSliceFamilies();     // and by other jagged arrays.
std::vector<Family> CombinationFamilies();     // All combinations of a list's elements.
std::vector<Family> ReduceFamilies();          // Sums, products, extremes of each bin,
std::vector<Family> ComplexReduceFamilies();   // of complex numbers,
std::vector<Family> ReductionIndexFamilies();  // and the indices that reductions along an axis need.
std::vector<Family> SortFamilies();            // Sorting, runs, unique values.
// The one table: all of them. Thread-safe; kernels are compiled once for a process.
const std::vector<Family>& AllFamilies();
// The one of that name, null if there is none. Thread-safe.
const Family* FamilyCalled(std::string_view name);

// Calls a family by its name, with its arguments in the project's order and by their names, and waits if it can find
// mistakes: INVALID_ARGUMENT tells the first, with its row. NOT_FOUND for an unknown family; else what a launch
// returns.
absl::Status CallFamily(std::string_view name, const Stream& stream, std::initializer_list<NamedArg> arguments);

// How many threads a launch has, or how many elements a scan, from a call's arguments.
using Size = std::function<int64_t(Call&)>;
// The product of some arguments (of an array its extent) and `more`, at least 0.
Size Of(std::vector<const char*> names, int64_t more = 0);
// What ForEachRow shares out over rows, and something for what is done once: a warp for each, or a thread where the
// call's longest array has few elements for each.
Size Rows(std::vector<const char*> names);
int64_t ThreadsForRows(int64_t rows, int64_t elements);

// One launch.
template <class F>
Family Map(const char* name, Size size, const F& function, std::vector<const char*> messages = {}) {
  return {name, [kernel = MakeGenericKernel(name, function), size](Call& call) { call.Launch(kernel, size(call)); },
          std::move(messages)};
}

// One launch that combines into the first element of the argument `result`, which is set to `initial` before.
template <class F>
Family Reduced(const char* name, const char* result, int64_t initial, Size size, const F& function,
               std::vector<const char*> messages = {}) {
  return {name,
          [kernel = MakeGenericKernel(name, function), result, initial, size](Call& call) {
            call.SetFirst(result, initial);
            call.Launch(kernel, size(call));
          },
          std::move(messages)};
}

// The passes of a function whose first parameters are kScans Scans: for each of them one that counts, after which it is
// scanned; then one that places what was counted. The function is traced once for each pass and does in it what its
// Scans say. `Params` are its further parameters, the arguments of the call.
namespace internal {
template <size_t kScans, size_t kPass, class F, class Scans, class Params>
struct Pass;
template <size_t kScans, size_t kPass, class F, size_t... I, class... P>
struct Pass<kScans, kPass, F, std::index_sequence<I...>, std::tuple<P...>> {
  template <size_t>
  using Sums = Out<int64_t>;

  void operator()(Sums<I>... sums, P... params) const {
    F()(Scan{sums, I < kPass ? Scan::State::kDone : Scan::State::kCounting}..., params...);
  }
};

template <class... P>
struct SplitScans {
  static constexpr size_t kScans = 0;
  using Params = std::tuple<P...>;
};
template <class... P>
struct SplitScans<Scan, P...> {
  static constexpr size_t kScans = 1 + SplitScans<P...>::kScans;
  using Params = typename SplitScans<P...>::Params;
};
template <class Types>
struct SplitFunction;
template <class... P>
struct SplitFunction<std::tuple<P...>> : SplitScans<P...> {};
}  // namespace internal

// All passes of such a function, which captures nothing.
template <class F>
class ScanPasses {
  using Split = internal::SplitFunction<typename slipway::internal::FunctionParams<F>::Types>;

 public:
  static constexpr size_t kScans = Split::kScans;

  explicit ScanPasses(const char* name, const F& = F())
      : passes_([&]<size_t... kPass>(std::index_sequence<kPass...>) {
          return std::array{MakeGenericKernel(
              kPass == kScans ? name : name + std::string("_count"),
              internal::Pass<kScans, kPass, F, std::make_index_sequence<kScans>, typename Split::Params>())...};
        }(std::make_index_sequence<kScans + 1>())) {}

  // Queues them. `counts` are the elements of each scan, `place` the threads of the last pass; `temporaries` are
  // parameters between the Scans and the call's arguments.
  void Run(Call& call, const std::array<int64_t, kScans>& counts, int64_t place,
           std::initializer_list<Arg> temporaries = {}) const {
    std::vector<Arg> sums;
    for (const int64_t count : counts) sums.emplace_back(call.Temporary(count + 1));
    std::vector<Arg> leading = sums;
    leading.insert(leading.end(), temporaries);
    for (size_t pass = 0; pass < kScans; ++pass) {
      call.Launch(passes_[pass], counts[pass], leading);
      ExclusiveScan(call, sums[pass]);
    }
    call.Launch(passes_[kScans], place, leading);
  }

 private:
  std::array<GenericKernel, kScans + 1> passes_;
};

// The passes, one launch each, and the scans between them.
template <class F>
Family Scanned(const char* name, std::array<Size, ScanPasses<F>::kScans> counts, Size place, const F& function,
               std::vector<const char*> messages = {}) {
  return {name,
          [passes = ScanPasses<F>(name, function), counts, place](Call& call) {
            std::array<int64_t, ScanPasses<F>::kScans> numbers;
            for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = counts[i](call);
            passes.Run(call, numbers, place(call));
          },
          std::move(messages)};
}

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_FAMILY_H_
