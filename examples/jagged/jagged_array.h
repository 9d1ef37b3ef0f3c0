// A jagged array: lists of numbers of different lengths, in two flat arrays on a device, and what a user does with it.
//
//   auto a = JaggedArray::From<double>(stream, {{1.5, 2.5}, {}, {3.5, 4.5, 5.5}}).value();
//   auto big = a.Masked(a_above_2)->DropNone();                  // {{2.5}, {}, {3.5, 4.5, 5.5}}
//   auto totals = a.Sum();                                       // of each list: {4.0, 0.0, 13.5}
//
// It is made of the kernel families of this folder, and of a few kernels of its own. All work is queued on the stream
// that it was made with; what it waits for is only the size of a result that depends on the values, and checks.
#ifndef SLIPWAY_EXAMPLES_JAGGED_JAGGED_ARRAY_H_
#define SLIPWAY_EXAMPLES_JAGGED_JAGGED_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/array.h"
#include "slipway/stream.h"

namespace slipway::jagged {

// Immutable; copies share the memory. The stream has to outlive it. Not for several threads at once, as its stream.
// Elements may be missing, after Masked; operations that have no use for such say INVALID_ARGUMENT, naming DropNone().
class JaggedArray {
 public:
  // List i is content[offsets[i]] to content[offsets[i + 1] - 1]. INVALID_ARGUMENT unless the offsets are there, begin
  // with 0, do not decrease, and end with the size of the content, which has rank 1.
  static absl::StatusOr<JaggedArray> From(const Stream& stream, const std::vector<int64_t>& offsets, AnyArray content);
  template <class T>
  static absl::StatusOr<JaggedArray> From(const Stream& stream, const std::vector<std::vector<T>>& lists);

  int64_t size() const { return offsets_.size() - 1; }  // Lists.
  DType dtype() const { return content_.dtype(); }
  const AnyArray& offsets() const { return offsets_; }  // int64, size() + 1 of them.
  // All elements, without the lists: what is called flattening.
  const AnyArray& content() const { return content_; }
  bool has_missing() const { return mask_.has_value(); }

  // The length of each list, in int64.
  absl::StatusOr<AnyArray> Num() const;
  // Element `index` of each list, from its end where that is negative. INVALID_ARGUMENT, with the list, where it has
  // none.
  absl::StatusOr<AnyArray> At(int64_t index) const;
  // Of each list what Python's start:stop:step chooses; without a value from its end to its end. INVALID_ARGUMENT for a
  // step of 0.
  absl::StatusOr<JaggedArray> Sliced(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step = 1) const;

  // The same with those elements missing where `keep`, of bools in lists of the same lengths, is false.
  absl::StatusOr<JaggedArray> Masked(const JaggedArray& keep) const;
  // Without the elements that are missing.
  absl::StatusOr<JaggedArray> DropNone() const;

  // Lists of all first elements, of all second ones, ... up to the longest list.
  absl::StatusOr<JaggedArray> Columns() const;
  // The sum of each list, in int64, uint64 or, for floats, the elements' type; missing elements count for nothing. That
  // of the columns is Columns()->Sum().
  absl::StatusOr<AnyArray> Sum() const;

  // The lists of this, then those of `other`, of the same dtype.
  absl::StatusOr<JaggedArray> Concatenate(const JaggedArray& other) const;
  // For each list, all pairs of its elements with those of the same list of `other`: the first of each pair, the
  // second.
  absl::StatusOr<std::pair<JaggedArray, JaggedArray>> Cartesian(const JaggedArray& other) const;

  // Each list in order, stable; and which of its elements comes where, in int64.
  absl::StatusOr<JaggedArray> Sort(bool ascending = true) const;
  absl::StatusOr<JaggedArray> ArgSort(bool ascending = true) const;

  // On the host; what is missing is nullopt.
  template <class T>
  absl::StatusOr<std::vector<std::vector<std::optional<T>>>> ToVector() const;

 private:
  JaggedArray(const Stream& stream, AnyArray offsets, AnyArray content, std::optional<AnyArray> mask = std::nullopt)
      : stream_(&stream), offsets_(std::move(offsets)), content_(std::move(content)), mask_(std::move(mask)) {}
  absl::StatusOr<AnyArray> Empty(int64_t count, DType dtype = DType::kInt64) const;
  // The elements at the positions that `carry` holds, in lists by `offsets`.
  absl::StatusOr<JaggedArray> Taken(AnyArray offsets, const AnyArray& carry) const;
  absl::StatusOr<JaggedArray> Sorted(const char* family, DType result, bool ascending) const;
  absl::Status CheckNoneMissing(const char* operation) const;
  absl::Status CheckLists(const JaggedArray& other, const char* operation) const;

  const Stream* stream_;
  AnyArray offsets_;
  AnyArray content_;
  std::optional<AnyArray> mask_;  // int8, 1 where an element is missing.
};

template <class T>
absl::StatusOr<JaggedArray> JaggedArray::From(const Stream& stream, const std::vector<std::vector<T>>& lists) {
  std::vector<int64_t> offsets = {0};
  std::vector<T> content;
  for (const std::vector<T>& list : lists) {
    content.insert(content.end(), list.begin(), list.end());
    offsets.push_back(static_cast<int64_t>(content.size()));
  }
  absl::StatusOr<Array<T, 1>> there = Array<T, 1>::From(stream, content);
  if (!there.ok()) return there.status();
  return From(stream, offsets, AnyArray(*there));
}

template <class T>
absl::StatusOr<std::vector<std::vector<std::optional<T>>>> JaggedArray::ToVector() const {
  if (absl::Status status = stream_->Synchronize(); !status.ok()) return status;
  absl::StatusOr<std::vector<int64_t>> offsets = offsets_.ToVector<int64_t>();
  if (!offsets.ok()) return offsets.status();
  absl::StatusOr<std::vector<T>> content = content_.ToVector<T>();
  if (!content.ok()) return content.status();
  std::vector<int8_t> mask(content->size(), 0);
  if (mask_.has_value()) {
    if (absl::Status status = mask_->CopyTo(mask.data()); !status.ok()) return status;
  }
  std::vector<std::vector<std::optional<T>>> lists(offsets->size() - 1);
  for (size_t i = 0; i < lists.size(); ++i) {
    for (auto p = static_cast<size_t>((*offsets)[i]); p < static_cast<size_t>((*offsets)[i + 1]); ++p) {
      lists[i].push_back(mask[p] == 0 ? std::optional<T>((*content)[p]) : std::nullopt);
    }
  }
  return lists;
}

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_JAGGED_ARRAY_H_
