// Shape, strides and first element of a view, and how they change when it is looked at another way.
#ifndef SLIPWAY_LAUNCH_VIEW_LAYOUT_H_
#define SLIPWAY_LAUNCH_VIEW_LAYOUT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "slipway/index.h"
#include "slipway/view.h"

namespace slipway::internal {

// "[3,4]", for messages.
std::string ShapeText(absl::Span<const int64_t> shape);

struct ViewLayout {
  explicit ViewLayout(const AnyArrayView& view);

  // The view of the same elements with this layout.
  AnyArrayView ViewOf(const AnyArrayView& original) const;

  absl::Span<const int64_t> Shape() const { return {shape, static_cast<size_t>(rank)}; }
  void Append(int64_t extent, int64_t stride) { shape[rank] = extent, strides[rank] = stride, ++rank; }

  int rank = 0;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];  // In elements.
  int64_t offset = 0;         // Of the first element, in elements.

 private:
  friend class ::slipway::AnyArrayView;
  ViewLayout() = default;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_VIEW_LAYOUT_H_
