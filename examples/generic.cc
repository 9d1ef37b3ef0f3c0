// One function for any dtypes and ranks: specialised for what each launch gives it, then bound and launched in a loop.
#include <cstdio>
#include <vector>

#include <slipway/array.h>
#include <slipway/device.h>
#include <slipway/embedded.h>

namespace sw = slipway;

int main() {
  sw::Device device = sw::Device::Open().value();  // A GPU if there is one, else the CPU device.
  sw::Stream stream = device.CreateStream().value();

  sw::GenericKernel scale =
      sw::MakeGenericKernel("scale", {"out", "in", "k"}, [](sw::AnyArrayVar out, sw::AnyArrayVar in, sw::AnyVar k) {
        sw::For(sw::GridStride(out.size()), [&](sw::Expr<int64_t> i) { out.Flat(i) = k * in.Flat(i); });
      });

  // float32 in two dimensions, then int16 into float64 in three, read backwards.
  auto x = sw::Array<float, 2>::From(device, {1, 2, 3, 4, 5, 6}, {2, 3}).value();
  auto y = sw::Array<float, 2>::Zeros(device, {2, 3}).value();
  auto n = sw::Array<int16_t, 3>::From(device, {1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}).value();
  auto z = sw::Array<double, 3>::Zeros(device, {2, 2, 2}).value();
  sw::ArrayView<int16_t, 3> backwards(device, n.data() + 7, {2, 2, 2}, {-4, -2, -1});
  absl::Status status = scale(stream, sw::ForSize(6), y, x, 0.5f);
  status.Update(scale(stream, sw::ForSize(8), z, backwards, 0.25));

  // The first of these specialisations again, its arguments packed once: y = k * y for k = 1, 2, 3, 4.
  sw::BoundLaunch step = scale.For(device, {y, y, 1.0f}).value().Bind(sw::ForSize(6), {y, y, 1.0f}).value();
  for (int k = 1; k <= 4; ++k) {
    status.Update(step.Set("k", static_cast<float>(k)));
    status.Update(step.Launch(stream));
  }
  status.Update(stream.Synchronize());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }

  const bool right = y.ToVector().value() == std::vector<float>{12, 24, 36, 48, 60, 72} &&
                     z.ToVector().value() == std::vector<double>{2, 1.75, 1.5, 1.25, 1, 0.75, 0.5, 0.25};
  std::printf("%s: %s\n", device.Describe().c_str(), right ? "right" : "wrong");
  for (const sw::Kernel& variant : scale.variants()) {
    std::printf("  scale%s: %zu bytes of PTX\n", sw::Describe(variant.signature()).c_str(),
                variant.inspection().ptx.size());
  }
  return right && scale.variants().size() == 2 ? 0 : 1;
}
