// Arrays on the host, indexed in the manner of std::mdspan (C++23): HostView sees memory, HostArray owns it.
//
//   HostArray<float, 2> x({rows, columns});                    // zeros
//   x(1, 2) = 3;
//   HostView<const float, 2> flipped(&x(rows - 1, 0), {rows, columns}, {-columns, 1});
#ifndef SLIPWAY_HOST_ARRAY_H_
#define SLIPWAY_HOST_ARRAY_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "slipway/dtype.h"
#include "slipway/signature.h"
#include "slipway/view.h"

namespace slipway {

// A cheap value; the elements are somebody else's. Strides are in elements, of any sign. Indices are not checked, but
// for assert in debug builds.
template <Element T, int N>
class HostView {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using Shape = std::array<int64_t, N>;

  // Row-major and without gaps, or with strides.
  HostView(T* data, const Shape& shape) : HostView(data, shape, RowMajorStrides<N>(shape)) {}
  HostView(T* data, const Shape& shape, const Shape& strides) : data_(data), shape_(shape), strides_(strides) {}
  HostView(absl::Span<T> values) requires(N == 1)  // NOLINT(google-explicit-constructor)
      : HostView(values.data(), {static_cast<int64_t>(values.size())}) {}
  // A view of T is a view of const T.
  template <class U>
  requires(std::is_same_v<const U, T>) HostView(const HostView<U, N>& other)  // NOLINT(google-explicit-constructor)
      : HostView(other.data(), other.shape(), other.strides()) {}

  template <std::integral... I>
  requires(sizeof...(I) == N) T& operator()(I... at) const {
    int64_t offset = 0;
    [[maybe_unused]] int d = 0;
    ((assert(static_cast<int64_t>(at) >= 0 && static_cast<int64_t>(at) < shape_[d]),
      offset += static_cast<int64_t>(at) * strides_[d], ++d),
     ...);
    return data_[offset];
  }
  T& operator()(const Shape& at) const {
    int64_t offset = 0;
    for (int d = 0; d < N; ++d) offset += at[d] * strides_[d];
    return data_[offset];
  }
  T& operator[](int64_t at) const requires(N == 1) { return (*this)(at); }

  static constexpr int rank() { return N; }
  int64_t extent(int dimension) const { return shape_[dimension]; }
  int64_t stride(int dimension) const { return strides_[dimension]; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t size() const { return ElementCount(N, shape_.data()); }
  bool empty() const { return size() == 0; }
  T* data() const { return data_; }
  bool is_contiguous() const { return size() <= 1 || strides_ == RowMajorStrides<N>(shape_); }

  // Calls `visit` with each element in row-major order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    const int64_t count = size();
    Shape at = {};
    for (int64_t i = 0; i < count; ++i) {
      visit((*this)(at));
      for (int d = N - 1; d >= 0 && ++at[d] == shape_[d]; --d) at[d] = 0;
    }
  }

 private:
  T* data_;
  Shape shape_;
  Shape strides_;
};

// Row-major; zeros at first. Copying copies the elements. As with std::vector, a shape that the host has no room for
// ends the program; Array::ToHost asks first.
template <Element T, int N>
class HostArray {
 public:
  using element_type = T;
  using Shape = std::array<int64_t, N>;

  explicit HostArray(const Shape& shape)
      : shape_(shape),
        size_(static_cast<size_t>(std::max<int64_t>(0, ElementCount(N, shape.data())))),
        values_(std::make_unique<T[]>(size_)) {}
  HostArray(const HostArray& other) : HostArray(other.shape_) {
    std::copy(other.data(), other.data() + size_, values_.get());
  }
  HostArray& operator=(const HostArray& other) { return *this = HostArray(other); }
  HostArray(HostArray&&) noexcept = default;
  HostArray& operator=(HostArray&&) noexcept = default;

  // A packed copy of what a view sees.
  static HostArray From(const HostView<const T, N>& view) {
    HostArray copy(view.shape());
    T* to = copy.data();
    view.ForEach([&](const T& value) { *to++ = value; });
    return copy;
  }

  template <std::integral... I>
  requires(sizeof...(I) == N) T& operator()(I... at) { return view()(at...); }
  template <std::integral... I>
  requires(sizeof...(I) == N) const T& operator()(I... at) const { return view()(at...); }
  T& operator[](int64_t at) requires(N == 1) { return values_[static_cast<size_t>(at)]; }
  const T& operator[](int64_t at) const requires(N == 1) { return values_[static_cast<size_t>(at)]; }

  HostView<T, N> view() { return {values_.get(), shape_}; }
  HostView<const T, N> view() const { return {values_.get(), shape_}; }
  operator HostView<T, N>() { return view(); }              // NOLINT(google-explicit-constructor)
  operator HostView<const T, N>() const { return view(); }  // NOLINT(google-explicit-constructor)
  absl::Span<T> values() { return {values_.get(), size_}; }
  absl::Span<const T> values() const { return {values_.get(), size_}; }

  static constexpr int rank() { return N; }
  int64_t extent(int dimension) const { return shape_[dimension]; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return static_cast<int64_t>(size_); }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }

 private:
  Shape shape_;
  size_t size_;
  std::unique_ptr<T[]> values_;  // Not a vector: of bool that has no elements.
};

}  // namespace slipway

#endif  // SLIPWAY_HOST_ARRAY_H_
