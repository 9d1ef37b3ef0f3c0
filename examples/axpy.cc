// A formula from a user: parsed, compiled on first use, evaluated over arrays. Then a mistake, as its author would see
// it.
#include <cstdio>
#include <vector>

#include <slipway/array.h>
#include <slipway/device.h>
#include <slipway/elementwise.h>

namespace sw = slipway;

int main() {
  constexpr int kSize = 1000;
  std::vector<float> host_x(kSize), host_y(kSize);
  for (int i = 0; i < kSize; ++i) host_x[i] = static_cast<float>(i), host_y[i] = 0.5f * static_cast<float>(i);

  sw::Device device = sw::Device::Open().value();  // A GPU if there is one, else the CPU device.
  sw::Stream stream = device.CreateStream().value();
  auto x = sw::Array<float, 1>::From(device, host_x).value();
  auto y = sw::Array<float, 1>::From(device, host_y).value();

  auto axpy = sw::Elementwise::Parse("z = a * x + y").value();
  auto z = axpy(stream, {{"a", 2.0f}, {"x", x}, {"y", y}}).value();  // Allocates z; type and shape are inferred.
  absl::Status status = axpy.Into(stream, z, 3.0f, x, y);            // By position, into what is there.
  if (status.ok()) status = stream.Synchronize();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }

  int wrong = 0;
  const std::vector<float> host_z = z.ToVector<float>().value();
  for (int i = 0; i < kSize; ++i) wrong += host_z[i] != 3.0f * host_x[i] + host_y[i];
  std::printf("%s: z = 3 * x + y over %d elements, %d wrong\n", device.Describe().c_str(), kSize, wrong);

  const auto mistake = sw::Elementwise::Parse("z = a * xx + y", "a: T, x: T[], y: T[] -> z: T[]");
  std::printf("%s\n", std::string(mistake.status().message()).c_str());
  return wrong == 0 ? 0 : 1;
}
