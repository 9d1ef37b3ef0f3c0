// An argument of a dynamic launch: a scalar of any dtype, or an array view.
//
//   kernel.Launch(stream, ForSize(n), {y, x, 2.0f});
//
// An Arg refers to the view or array that it is made from, which must stay where it is until the call that takes the
// Arg returns; writing it in the call's argument list does that. A scalar is copied. Trivially copyable, never
// allocates.
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

namespace slipway {

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
  Arg(const Array<T, N>& array) : Arg(array.view()) {}  // NOLINT(google-explicit-constructor)
  Arg(const AnyArrayView& view)                         // NOLINT(google-explicit-constructor)
      : facts_(view.facts()), words_{Address(&view)} {}
  Arg(const AnyArray& array) : Arg(array.view()) {}  // NOLINT(google-explicit-constructor)

  Facts facts() const { return facts_; }
  bool is_scalar() const { return (facts_ & facts::kScalar) != 0; }
  DType dtype() const { return facts::DTypeOf(facts_); }
  int rank() const { return facts::RankOf(facts_); }  // 0 for scalars.

  // Of a scalar: its value, zero-extended to 16 bytes.
  const void* scalar() const { return words_; }
  template <Element T>
  T scalar_as() const {  // `T` is of dtype().
    T value;
    std::memcpy(&value, words_, sizeof(T));
    return value;
  }

  // Of an array: the strided ABI struct {data, shape[rank], strides[rank]}, with the facts word or more behind it.
  const void* struct_address() const { return reinterpret_cast<const void*>(words_[0]); }
  void* data() const;
  absl::Span<const int64_t> shape() const;
  absl::Span<const int64_t> strides() const;
  AnyArrayView view() const;

 private:
  static uint64_t Address(const void* view) { return reinterpret_cast<uint64_t>(view); }

  Facts facts_;
  uint64_t words_[2];  // A scalar's value; or the address of an array's ABI struct, and nothing.
};

// "float32 scalar", "float32[3,4] strides [4,1]": for messages.
std::string Describe(const Arg& arg);

// An argument by the name of its parameter: {{"a", 2.0f}, {"x", x}}.
struct NamedArg {
  std::string_view name;
  Arg arg;
};

namespace internal {

// How an argument whose C++ type is known where a kernel is called lies in memory: kBytes bytes, copied whole. Not
// defined for arguments whose dtype or rank is only known at run time.
template <class A>
struct StaticArg {};

template <Element T>
struct StaticArg<T> {
  // Zero-extended to whole words, and as in ParamPlan a complex64 to two, so that the padding behind it becomes zero.
  static constexpr size_t kBytes = sizeof(T) <= 8 && kDTypeOf<T> != DType::kComplex64 ? 8 : 16;
  static Facts FactsOf(const T&) { return facts::OfScalar(kDTypeOf<T>); }
  static void Copy(std::byte* to, const T& value) {
    uint64_t words[kBytes / 8] = {};
    std::memcpy(words, &value, sizeof(T));
    std::memcpy(to, words, kBytes);
  }
};

template <class T, int N, Layout L>
struct StaticArg<ArrayView<T, N, L>> {
  static constexpr size_t kBytes = 8 * (1 + 2 * N);
  static Facts FactsOf(const ArrayView<T, N, L>& view) { return view.facts(); }
  static void Copy(std::byte* to, const ArrayView<T, N, L>& view) {
    std::memcpy(to, static_cast<const void*>(&view), kBytes);
  }
};

template <class T, int N>
struct StaticArg<Array<T, N>> : StaticArg<ArrayView<T, N>> {};

template <class A>
concept HasStaticArg = requires {
  StaticArg<A>::kBytes;
};

}  // namespace internal
}  // namespace slipway

#endif  // SLIPWAY_ARG_H_
