#include <slipway/slipway.h>

#include <cstdio>
#include <vector>

namespace sw = slipway;

int main() {
  // Found by name, which shows that the installed package links the CPU device in although nothing here names it.
  absl::StatusOr<sw::Device> device = sw::Device::Open("cpu");
  if (!device.ok()) return std::puts(device.status().ToString().c_str()), 1;
  absl::StatusOr<sw::Stream> stream = device->CreateStream();
  absl::StatusOr<sw::Elementwise> axpy = sw::Elementwise::Parse("z = a * x + y");
  const std::vector<float> host_x = {1, 2, 3}, host_y = {10, 20, 30};
  auto x = sw::Array<float, 1>::From(*device, host_x);
  auto y = sw::Array<float, 1>::From(*device, host_y);
  if (!stream.ok() || !axpy.ok() || !x.ok() || !y.ok()) return std::puts("could not set up"), 1;

  absl::StatusOr<sw::AnyArray> z = (*axpy)(*stream, {{"a", 2.0f}, {"x", *x}, {"y", *y}});
  if (!z.ok()) return std::puts(z.status().ToString().c_str()), 1;
  absl::StatusOr<std::vector<float>> result = z->ToVector<float>();
  if (!result.ok()) return std::puts(result.status().ToString().c_str()), 1;
  const bool right = *result == std::vector<float>{12, 24, 36};
  std::printf("on %s: %s\n", device->Describe().c_str(), right ? "right" : "WRONG");
  return right ? 0 : 1;
}
