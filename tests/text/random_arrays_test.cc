// Elementwise calls over arrays of random shapes, strides and overlaps, against loops on the host. The seeds are fixed;
// $SLIPWAY_TEST_ROUNDS asks for more of them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "slipway/dtype.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using Random = std::mt19937_64;
using Extents = std::vector<int64_t>;

int Rounds(int usual) {
  const char* const asked = std::getenv("SLIPWAY_TEST_ROUNDS");
  return asked == nullptr ? usual : std::atoi(asked);
}

int64_t Between(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}
bool OneIn(Random& random, int n) { return Between(random, 1, n) == 1; }

int64_t CountOf(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// An array within a buffer: element `index` lies at `first` + the sum of index[d] * strides[d].
struct Layout {
  Extents shape, strides;
  int64_t first = 0;

  // Where the element is that meets `index` of a broadcast shape.
  int64_t At(const Extents& index) const {
    int64_t at = first;
    const size_t shift = index.size() - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) at += shape[d] == 1 ? 0 : index[shift + d] * strides[d];
    return at;
  }
};

Extents RandomShape(Random& random) {
  Extents shape(static_cast<size_t>(Between(random, 0, 8)));
  const int64_t most = shape.size() > 4 ? 3 : 9;
  for (int64_t& extent : shape) extent = OneIn(random, 40) ? 0 : Between(random, 1, most);
  return shape;
}

// A shape that broadcasts to `shape`.
Extents Narrowed(Random& random, const Extents& shape) {
  Extents narrowed = shape;
  if (OneIn(random, 3)) narrowed.erase(narrowed.begin(), narrowed.begin() + Between(random, 0, shape.size()));
  for (int64_t& extent : narrowed) {
    if (OneIn(random, 5)) extent = 1;
  }
  return narrowed;
}

// Dimensions in any order in memory, with gaps, backwards, and, if elements may share addresses, with stride 0. The
// layout ends before `*end` and begins at 0.
Layout RandomLayout(Random& random, const Extents& shape, bool may_share, int64_t* end) {
  Layout layout{shape, Extents(shape.size())};
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::reverse(order.begin(), order.end());
  if (OneIn(random, 2)) std::shuffle(order.begin(), order.end(), random);
  const bool dense = OneIn(random, 3);
  int64_t step = dense ? 1 : Between(random, 1, 3);
  for (size_t d : order) {
    if (may_share && OneIn(random, 8)) continue;
    layout.strides[d] = step;
    if (!dense && OneIn(random, 3)) {
      layout.strides[d] = -step;
      layout.first += step * std::max<int64_t>(shape[d] - 1, 0);
    }
    step *= std::max<int64_t>(shape[d], 1);
    if (!dense && OneIn(random, 3)) step += Between(random, 0, 2);
  }
  *end = step + 1;
  return layout;
}

template <class Body>
void ForEachIndex(const Extents& shape, Body&& body) {
  if (CountOf(shape) == 0) return;
  Extents index(shape.size());
  while (true) {
    body(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

std::string Show(const Extents& values) {
  std::string text = "[";
  for (int64_t value : values) text += (text.size() == 1 ? "" : ",") + std::to_string(value);
  return text + "]";
}

template <class T>
T RandomValue(Random& random) {
  // Floats of few digits, so that sums and products are exact.
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(Between(random, -50, 50));
  return static_cast<T>(random());
}

template <class T>
T Add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T Times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T>
class RandomArrays : public CpuTest {
 protected:
  struct Buffer {
    AnyArray array;
    std::vector<T> host;
  };

  Buffer NewBuffer(Random& random, int64_t size) {
    std::vector<T> host(static_cast<size_t>(size));
    for (T& value : host) value = RandomValue<T>(random);
    return {AnyArray::From(device_, kDTypeOf<T>, {size}, host.data()).value(), host};
  }
  AnyArrayView View(const Buffer& buffer, const Layout& layout) {
    return AnyArrayView::Make(device_, kDTypeOf<T>, static_cast<T*>(buffer.array.data()) + layout.first, layout.shape,
                              layout.strides)
        .value();
  }
  std::vector<T> Back(const Buffer& buffer) {
    EXPECT_TRUE(stream_.Synchronize().ok());
    std::vector<T> values(buffer.host.size());
    EXPECT_TRUE(buffer.array.CopyTo(values.data()).ok());
    return values;
  }
};

using Types = testing::Types<int8_t, int64_t, float>;
TYPED_TEST_SUITE(RandomArrays, Types);

// z = x + y * w, each over its own buffer; z given or allocated. What lies between the elements of z stays as it was.
TYPED_TEST(RandomArrays, BroadcastLikeLoops) {
  using T = TypeParam;
  const Elementwise text = Elementwise::Parse("z = x + y * w").value();
  for (int seed = 0; seed < Rounds(8); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Extents shape = RandomShape(random);
    std::vector<Layout> layouts;
    std::vector<typename RandomArrays<T>::Buffer> buffers;
    std::string trace = "seed " + std::to_string(seed) + " shape " + Show(shape);
    for (int i = 0; i < 4; ++i) {
      int64_t end = 0;
      layouts.push_back(RandomLayout(random, i == 0 ? shape : Narrowed(random, shape), /*may_share=*/i != 0, &end));
      buffers.push_back(this->NewBuffer(random, end));
      trace += "; " + Show(layouts[i].shape) + " strides " + Show(layouts[i].strides);
    }
    SCOPED_TRACE(trace);
    std::vector<AnyArrayView> views;
    for (int i = 0; i < 4; ++i) views.push_back(this->View(buffers[i], layouts[i]));
    const absl::Status status = text.Into(this->stream_, views[0], views[1], views[2], views[3]);
    ASSERT_TRUE(status.ok()) << status;
    std::vector<T> want = buffers[0].host;
    const auto value = [&](const Extents& index) {
      return Add(buffers[1].host[layouts[1].At(index)],
                 Times(buffers[2].host[layouts[2].At(index)], buffers[3].host[layouts[3].At(index)]));
    };
    ForEachIndex(shape, [&](const Extents& index) { want[layouts[0].At(index)] = value(index); });
    ASSERT_EQ(this->Back(buffers[0]), want);

    const absl::StatusOr<AnyArray> made = text(this->stream_, views[1], views[2], views[3]);
    ASSERT_TRUE(made.ok()) << made.status();
    std::vector<T> dense;
    const Extents made_shape(made->shape().begin(), made->shape().end());
    ForEachIndex(made_shape, [&](const Extents& index) { dense.push_back(value(index)); });
    ASSERT_EQ(this->template Values<T>(made), dense);
  }
}

// Outputs and inputs anywhere in one buffer: the call is refused, or it reads everything before it writes.
TYPED_TEST(RandomArrays, OverlapsAreRefusedOrRight) {
  using T = TypeParam;
  const Elementwise text = Elementwise::Parse("z = x + y; u = x * y").value();
  int accepted = 0;
  for (int seed = 0; seed < Rounds(50); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    Extents shape(static_cast<size_t>(Between(random, 1, 3)));
    for (int64_t& extent : shape) extent = Between(random, 1, 6);
    std::vector<Layout> layouts;
    int64_t size = 0;
    std::string trace = "seed " + std::to_string(seed) + " shape " + Show(shape);
    for (int i = 0; i < 4; ++i) {
      int64_t end = 0;
      Layout layout = RandomLayout(random, shape, /*may_share=*/i >= 2, &end);
      if (i >= 2 && OneIn(random, 2)) {
        layout = layouts[i - 2];  // An input that is an output.
        end = 0;
      } else {
        const int64_t shift = OneIn(random, 2) ? size : Between(random, 0, 7);
        layout.first += shift;
        end += shift;
      }
      size = std::max(size, end);
      layouts.push_back(layout);
      trace += "; " + std::to_string(layout.first) + " + " + Show(layout.strides);
    }
    SCOPED_TRACE(trace);
    auto buffer = this->NewBuffer(random, size);
    std::vector<AnyArrayView> views;
    for (const Layout& layout : layouts) views.push_back(this->View(buffer, layout));
    const absl::Status status = text.Into(this->stream_, views[0], views[1], views[2], views[3]);
    if (!status.ok()) {
      ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      ASSERT_EQ(this->Back(buffer), buffer.host);
      continue;
    }
    ++accepted;
    std::vector<T> want = buffer.host;
    ForEachIndex(shape, [&](const Extents& index) {
      const T x = buffer.host[layouts[2].At(index)], y = buffer.host[layouts[3].At(index)];
      want[layouts[0].At(index)] = Add(x, y);
      want[layouts[1].At(index)] = Times(x, y);
    });
    ASSERT_EQ(this->Back(buffer), want);
  }
  EXPECT_GT(accepted, Rounds(50) / 10) << "too few layouts are accepted for this to test much";
}

// z = t[i, j] + x: a table of any layout, indices of any layout.
TYPED_TEST(RandomArrays, GathersReadWhereTheIndicesSay) {
  using T = TypeParam;
  const Elementwise text = Elementwise::Parse("z = t[i, j] + x").value();
  for (int seed = 0; seed < Rounds(6); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Extents shape = RandomShape(random);
    const Extents table_shape = {Between(random, 1, 9), Between(random, 1, 9)};
    int64_t end = 0;
    const Layout table = RandomLayout(random, table_shape, /*may_share=*/true, &end);
    const auto table_buffer = this->NewBuffer(random, end);
    const Layout x = RandomLayout(random, Narrowed(random, shape), /*may_share=*/true, &end);
    const auto x_buffer = this->NewBuffer(random, end);
    const Layout i = RandomLayout(random, shape, /*may_share=*/true, &end);
    std::vector<uint8_t> i_host(static_cast<size_t>(end));
    for (uint8_t& value : i_host) value = static_cast<uint8_t>(Between(random, 0, table_shape[0] - 1));
    const Layout j = RandomLayout(random, Narrowed(random, shape), /*may_share=*/true, &end);
    std::vector<int64_t> j_host(static_cast<size_t>(end));
    for (int64_t& value : j_host) value = Between(random, 0, table_shape[1] - 1);
    const AnyArray i_array =
        AnyArray::From(this->device_, DType::kUInt8, {static_cast<int64_t>(i_host.size())}, i_host.data()).value();
    const AnyArray j_array =
        AnyArray::From(this->device_, DType::kInt64, {static_cast<int64_t>(j_host.size())}, j_host.data()).value();
    const AnyArrayView i_view = AnyArrayView::Make(this->device_, DType::kUInt8,
                                                   static_cast<uint8_t*>(i_array.data()) + i.first, i.shape, i.strides)
                                    .value();
    const AnyArrayView j_view = AnyArrayView::Make(this->device_, DType::kInt64,
                                                   static_cast<int64_t*>(j_array.data()) + j.first, j.shape, j.strides)
                                    .value();
    SCOPED_TRACE("seed " + std::to_string(seed));
    const absl::StatusOr<AnyArray> made =
        text(this->stream_,
             {{"t", this->View(table_buffer, table)}, {"i", i_view}, {"j", j_view}, {"x", this->View(x_buffer, x)}});
    ASSERT_TRUE(made.ok()) << made.status();
    std::vector<T> want;
    ForEachIndex(shape, [&](const Extents& index) {
      const Extents at = {i_host[i.At(index)], j_host[j.At(index)]};
      want.push_back(Add(table_buffer.host[table.At(at)], x_buffer.host[x.At(index)]));
    });
    ASSERT_EQ(this->template Values<T>(made), want);
  }
}

}  // namespace
}  // namespace slipway
