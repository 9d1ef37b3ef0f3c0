// A kernel in C++: a function over symbolic values, compiled when it is first launched. Then what it became.
#include <cstdio>
#include <vector>

#include <slipway/array.h>
#include <slipway/device.h>
#include <slipway/embedded.h>

namespace sw = slipway;

int main() {
  constexpr int kSize = 1000;
  std::vector<float> host_x(kSize), host_y(kSize);
  for (int i = 0; i < kSize; ++i) host_x[i] = static_cast<float>(i), host_y[i] = 0.5f * static_cast<float>(i);

  sw::Device device = sw::Device::Open().value();  // A GPU if there is one, else the CPU device.
  sw::Stream stream = device.CreateStream().value();
  auto x = sw::Array<float, 1>::From(device, host_x).value();
  auto y = sw::Array<float, 1>::From(device, host_y).value();

  auto saxpy = sw::MakeKernel("saxpy", {"y", "x", "a"},
                              [](sw::ArrayVar<float, 1> y, sw::ArrayVar<const float, 1> x, sw::Var<float> a) {
                                sw::For(sw::GridStride(y.size()), [&](sw::Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
                              });
  absl::Status status = saxpy(stream, sw::ForSize(kSize), y, x, 2.0f);  // Wrong types do not compile.
  if (status.ok()) status = stream.Synchronize();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }

  int wrong = 0;
  const std::vector<float> result = sw::AnyArray(y).ToVector<float>().value();
  for (int i = 0; i < kSize; ++i) wrong += result[i] != 2.0f * host_x[i] + host_y[i];
  std::printf("%s: y = 2 * x + y over %d elements, %d wrong\n\n", device.Describe().c_str(), kSize, wrong);

  const sw::Inspection inspection = saxpy.Inspect(device, /*index32=*/true).value();
  std::printf("%s\n", inspection.ir.c_str());
  for (const auto& [stage, microseconds] : inspection.times)
    std::printf("%-12s %8.0f us\n", stage.c_str(), microseconds);
  return wrong == 0 ? 0 : 1;
}
