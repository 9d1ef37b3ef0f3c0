#include <slipway/array.h>
#include <slipway/device.h>
#include <slipway/null_driver.h>
#include <slipway/stream.h>
#include <slipway/typed_kernel.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace sw = slipway;

int main() {
  // What a build step would have made. The recording driver does not read it.
  auto inspection = std::make_shared<sw::Inspection>();
  inspection->ptx = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry scale(.param .u64 p) { ret; }\n";
  sw::Signature signature = {{.name = "x", .kind = sw::ParamKind::kArray, .dtype = sw::DType::kFloat32, .rank = 1},
                             {.name = "a", .kind = sw::ParamKind::kScalar, .dtype = sw::DType::kFloat32}};

  absl::StatusOr<sw::Device> device = sw::Device::Open(sw::RecordingDriver());
  if (!device.ok()) return std::puts(device.status().ToString().c_str()), 1;
  absl::StatusOr<sw::Stream> stream = device->CreateStream();
  using Scale = sw::TypedKernel<sw::ArrayView<float, 1>, float>;
  absl::StatusOr<Scale> scale = Scale::Load(*device, {"scale", signature, inspection});
  auto x = sw::Array<float, 1>::Empty(*device, {1000});
  if (!stream.ok() || !scale.ok() || !x.ok()) return std::puts("could not set up"), 1;
  sw::TakeRecordedLaunches();
  if (absl::Status status = (*scale)(*stream, sw::ForSize(1000), *x, 2.0f); !status.ok()) {
    return std::puts(status.ToString().c_str()), 1;
  }
  const std::vector<sw::RecordedLaunch> launches = sw::TakeRecordedLaunches();
  const bool right = launches.size() == 1 && launches[0].buffer.size() == 28;
  std::printf("launch recorded: %s\n", right ? "right" : "WRONG");

  // No CPU device in this program, and Open says so.
  const absl::Status cpu = sw::Device::Open("cpu").status();
  std::puts(cpu.ToString().c_str());
  return right && cpu.code() == absl::StatusCode::kNotFound ? 0 : 1;
}
