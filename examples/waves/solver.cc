#include "examples/waves/solver.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/embedded.h"
#include "slipway/graph.h"
#include "slipway/launch_config.h"
#include "slipway/stream.h"

// Hands an error to the caller, who has one place to look at errors.
#define WAVES_CHECK(expression) \
  if (absl::Status waves_status = (expression); !waves_status.ok()) return waves_status

namespace slipway::waves {
namespace {

using Field = ArrayVar<float, 2>;
using ConstField = ArrayVar<const float, 2>;

// One step of the leapfrog scheme in every cell but the outermost, which stay 0.
auto MakePropagate() {
  return MakeKernel(
      "propagate", {"next", "current", "previous", "friction"},
      [](Field next, ConstField current, ConstField previous, ConstField friction) {
        const auto x = Cast<int64_t>(BlockIndex(0)) * Cast<int64_t>(BlockSize(0)) + Cast<int64_t>(ThreadIndex(0));
        const auto y = Cast<int64_t>(BlockIndex(1)) * Cast<int64_t>(BlockSize(1)) + Cast<int64_t>(ThreadIndex(1));
        If(x >= 1 && x < next.shape(1) - 1 && y >= 1 && y < next.shape(0) - 1, [&] {
          const auto here = 1.0f * current(y, x);
          const auto laplacian =
              current(y - 1, x) + current(y + 1, x) + current(y, x - 1) + current(y, x + 1) - 4.0f * here;
          const auto lost = 1.0f * friction(y, x);
          const auto moved = here + (1.0f - lost) * (here - previous(y, x)) + kCourantSquared * laplacian;
          next(y, x) = Select(lost == kWall, 0.0f, moved);
        });
      });
}

// The source: adds to a column.
auto MakeDrive() {
  return MakeKernel("drive", {"field", "column", "amplitude"},
                    [](Field field, Var<int64_t> column, Var<float> amplitude) {
                      For(GridStride(field.shape(0) - 2),
                          [&](Var<int64_t> i) { field(i + 1, column) = field(i + 1, column) + amplitude; });
                    });
}

// The screen: adds up what it sees.
auto MakeWatch() {
  return MakeKernel("watch", {"screen", "field", "column", "weight"},
                    [](ArrayVar<float, 1> screen, ConstField field, Var<int64_t> column, Var<float> weight) {
                      For(GridStride(screen.size()), [&](Var<int64_t> i) {
                        screen[i] = screen[i] + weight * field(i, column) * field(i, column);
                      });
                    });
}

using Propagate =
    BoundKernel<ArrayView<float, 2>, ArrayView<const float, 2>, ArrayView<const float, 2>, ArrayView<const float, 2>>;
using Drive = BoundKernel<ArrayView<float, 2>, int64_t, float>;
using Watch = BoundKernel<ArrayView<float, 1>, ArrayView<const float, 2>, int64_t, float>;

// The launches of one step. Three fields take turns at being the previous, the current and the next one, so every third
// step has the same arrays, and three of these are all that there are.
struct Step {
  Propagate propagate;
  Drive drive;
  Watch watch;

  absl::Status Launch(const Stream& stream) const {
    WAVES_CHECK(propagate.Launch(stream));
    WAVES_CHECK(drive.Launch(stream));
    return watch.Launch(stream);
  }
};

// What a step's launches need beside their arrays.
struct Numbers {
  float amplitude = 0;
  float weight = 0;
};

}  // namespace

absl::StatusOr<Result> Solve(const Device& device, const Scene& scene, int64_t steps, int64_t watch_from, Road road) {
  if (steps < 0 || steps % 3 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the number of steps is ", steps, "; give a multiple of 3"));
  }
  absl::StatusOr<Stream> stream = device.CreateStream();
  WAVES_CHECK(stream.status());
  const std::array<int64_t, 2> shape = {scene.rows, scene.columns};
  std::vector<Array<float, 2>> fields;
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<Array<float, 2>> field = Array<float, 2>::Zeros(device, shape);
    WAVES_CHECK(field.status());
    fields.push_back(*std::move(field));
  }
  absl::StatusOr<Array<float, 2>> friction = Array<float, 2>::From(device, scene.friction, shape);
  WAVES_CHECK(friction.status());
  absl::StatusOr<Array<float, 1>> screen = Array<float, 1>::Zeros(device, scene.rows);
  WAVES_CHECK(screen.status());

  // Arguments are checked and packed here, once; the loop below only launches.
  const auto propagate_cells = MakePropagate();
  const auto drive_column = MakeDrive();
  const auto watch_column = MakeWatch();
  std::vector<Step> turns;
  for (int turn = 0; turn < 3; ++turn) {
    const Array<float, 2>&previous = fields[turn], &current = fields[(turn + 1) % 3], &next = fields[(turn + 2) % 3];
    auto propagate = propagate_cells.Bind(ForShape(scene.rows, scene.columns), next, current, previous, *friction);
    auto drive = drive_column.Bind(ForSize(scene.rows), next, scene.source_column, 0.0f);
    auto watch = watch_column.Bind(ForSize(scene.rows), *screen, next, scene.screen_column, 0.0f);
    WAVES_CHECK(propagate.status());
    WAVES_CHECK(drive.status());
    WAVES_CHECK(watch.status());
    turns.push_back({*std::move(propagate), *std::move(drive), *std::move(watch)});
  }
  const auto numbers_of = [&](int64_t step) {
    return Numbers{.amplitude = SourceAmplitude(scene, step), .weight = step >= watch_from ? 1.0f : 0.0f};
  };

  std::optional<GraphExec> graph;
  if (road == Road::kGraph) {
    absl::StatusOr<Graph> captured = Graph::Capture(*stream, [&]() -> absl::Status {
      for (const Step& turn : turns) WAVES_CHECK(turn.Launch(*stream));
      return absl::OkStatus();
    });
    WAVES_CHECK(captured.status());
    absl::StatusOr<GraphExec> exec = captured->Instantiate();
    WAVES_CHECK(exec.status());
    graph = *std::move(exec);
  }
  Numbers last[3];
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t at = step % 3;
    Step& turn = turns[static_cast<size_t>(at)];
    const Numbers numbers = numbers_of(step);
    WAVES_CHECK(turn.drive.Set<2>(numbers.amplitude));
    WAVES_CHECK(turn.watch.Set<3>(numbers.weight));
    if (!graph.has_value()) {
      WAVES_CHECK(turn.Launch(*stream));
      continue;
    }
    // What is queued already keeps its numbers.
    WAVES_CHECK(turn.drive.UpdateIn(*graph));
    if (numbers.weight != last[at].weight) WAVES_CHECK(turn.watch.UpdateIn(*graph));
    last[at] = numbers;
    if (at == 2) WAVES_CHECK(graph->Launch(*stream));
  }
  WAVES_CHECK(stream->Synchronize());

  // Step t writes field (t + 2) % 3, and steps is a multiple of 3.
  absl::StatusOr<std::vector<float>> field = AnyArray(fields[1]).ToVector<float>();
  absl::StatusOr<std::vector<float>> seen = AnyArray(*screen).ToVector<float>();
  WAVES_CHECK(field.status());
  WAVES_CHECK(seen.status());
  return Result{*std::move(field), *std::move(seen)};
}

}  // namespace slipway::waves
