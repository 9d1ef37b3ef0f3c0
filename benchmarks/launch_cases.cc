#include "benchmarks/launch_cases.h"

#include <array>
#include <cstddef>

namespace slipway::launch_cases {
namespace {

constexpr unsigned kBlock = 256;

void Require(bool ok) {
  if (!ok) [[unlikely]] {
    std::fputs("launch_cases: a launch on the null driver failed\n", stderr);
    std::exit(1);
  }
}

template <int N>
Tensor<N> MakeTensor(uint64_t address, int64_t extent) {
  Tensor<N> tensor{reinterpret_cast<float*>(address), {}, {}};
  int64_t stride = 2;  // Not contiguous.
  for (int d = N - 1; d >= 0; --d) {
    tensor.shape[d] = extent;
    tensor.strides[d] = stride;
    stride *= extent + 1;
  }
  return tensor;
}

template <int N>
ArrayView<float, N> ViewOf(const Device& device, const Tensor<N>& tensor) {
  return {device, tensor.data, std::to_array(tensor.shape), std::to_array(tensor.strides)};
}

// ---- bare: what one writes by hand for each kernel
// --------------------------------------------------------------------

// The call itself, with a launch buffer. `bytes` is the end of the last parameter.
[[gnu::always_inline]] inline bool Call(const Bench& bench, int64_t size, void* buffer, size_t bytes) {
  void* extra[] = {kLaunchParamBufferPointer, buffer, kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  return bench.device.api().LaunchKernel(bench.function, static_cast<unsigned>((size + kBlock - 1) / kBlock), 1, 1,
                                         kBlock, 1, 1, 0, bench.stream.handle(), nullptr,
                                         bytes == 0 ? nullptr : extra) == CUDA_SUCCESS;
}

bool Bare0(const Bench& bench, const ArgumentSet& set) { return Call(bench, set.size, nullptr, 0); }

bool Bare4s(const Bench& bench, const ArgumentSet& set) {
  struct {
    int32_t i;
    float f;
    int64_t l;
    double d;
  } params = {set.i, set.f, set.l, set.d};
  return Call(bench, set.size, &params, sizeof(params));
}

bool Bare3x1d(const Bench& bench, const ArgumentSet& set) {
  struct {
    Tensor<1> a, b, c;
  } params = {set.t1[0], set.t1[1], set.t1[2]};
  return Call(bench, set.size, &params, sizeof(params));
}

bool Bare3x1dS(const Bench& bench, const ArgumentSet& set) {
  struct {
    Tensor<1> a, b, c;
    float f;
  } params = {set.t1[0], set.t1[1], set.t1[2], set.f};
  return Call(bench, set.size, &params, offsetof(decltype(params), f) + sizeof(float));
}

bool Bare3x2d(const Bench& bench, const ArgumentSet& set) {
  struct {
    Tensor<2> a, b, c;
  } params = {set.t2[0], set.t2[1], set.t2[2]};
  return Call(bench, set.size, &params, sizeof(params));
}

bool Bare8x3d(const Bench& bench, const ArgumentSet& set) {
  struct {
    Tensor<3> a, b, c, d, e, f, g, h;
  } params = {set.t3[0], set.t3[1], set.t3[2], set.t3[3], set.t3[4], set.t3[5], set.t3[6], set.t3[7]};
  return Call(bench, set.size, &params, sizeof(params));
}

template <bool (*kLaunch)(const Bench&, const ArgumentSet&)>
void RunBare(const Bench& bench, int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) Require(kLaunch(bench, bench.sets[i % kSets]));
}

// ---- typed and dynamic: a case names its parameters and where its arguments are
// ---------------------------------------

template <class... P>
struct Params {};

using V1 = ArrayView<float, 1>;
using V2 = ArrayView<float, 2>;
using V3 = ArrayView<float, 3>;

struct Case0 {
  using Types = Params<>;
  static auto Arguments(const ArgumentSet& s) { return std::tie(); }
};
struct Case4s {
  using Types = Params<int32_t, float, int64_t, double>;
  static auto Arguments(const ArgumentSet& s) { return std::tie(s.i, s.f, s.l, s.d); }
};
struct Case3x1d {
  using Types = Params<V1, V1, V1>;
  static auto Arguments(const ArgumentSet& s) { return std::tie(s.a1[0], s.a1[1], s.a1[2]); }
};
struct Case3x1dS {
  using Types = Params<V1, V1, V1, float>;
  static auto Arguments(const ArgumentSet& s) { return std::tie(s.a1[0], s.a1[1], s.a1[2], s.f); }
};
struct Case3x2d {
  using Types = Params<V2, V2, V2>;
  static auto Arguments(const ArgumentSet& s) { return std::tie(s.a2[0], s.a2[1], s.a2[2]); }
};
struct Case8x3d {
  using Types = Params<V3, V3, V3, V3, V3, V3, V3, V3>;
  static auto Arguments(const ArgumentSet& s) {
    return std::tie(s.a3[0], s.a3[1], s.a3[2], s.a3[3], s.a3[4], s.a3[5], s.a3[6], s.a3[7]);
  }
};

template <class... P>
TypedKernel<P...> LoadKernel(const Device& device, Params<P...>) {
  Signature signature = {internal::ParamTraits<P>::Spec()...};
  for (size_t i = 0; i < signature.size(); ++i) signature[i].name = "p" + std::to_string(i);
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
  return TypedKernel<P...>::Load(device, {"k", std::move(signature), std::move(inspection)}).value();
}

template <class Case>
void RunTyped(const Bench& bench, int64_t iterations) {
  static const auto kernel = LoadKernel(bench.device, typename Case::Types());
  for (int64_t i = 0; i < iterations; ++i) {
    const ArgumentSet& set = bench.sets[i % kSets];
    const absl::Status status = std::apply(
        [&](const auto&... args) { return kernel(bench.stream, ForSize(set.size), args...); }, Case::Arguments(set));
    Require(status.ok());
  }
}

template <class Case>
void RunDynamic(const Bench& bench, int64_t iterations) {
  static const Kernel kernel = LoadKernel(bench.device, typename Case::Types()).kernel();
  for (int64_t i = 0; i < iterations; ++i) {
    const ArgumentSet& set = bench.sets[i % kSets];
    const absl::Status status = std::apply(
        [&](const auto&... args) { return kernel(bench.stream, ForSize(set.size), args...); }, Case::Arguments(set));
    Require(status.ok());
  }
}

template <class Case>
void RunList(const Bench& bench, int64_t iterations) {
  static const Kernel kernel = LoadKernel(bench.device, typename Case::Types()).kernel();
  for (int64_t i = 0; i < iterations; ++i) {
    const ArgumentSet& set = bench.sets[i % kSets];
    const absl::Status status =
        std::apply([&](const auto&... args) { return kernel.Launch(bench.stream, ForSize(set.size), {args...}); },
                   Case::Arguments(set));
    Require(status.ok());
  }
}

}  // namespace

Bench Bench::Make() {
  Device device = Device::Open(NullDriver()).value();
  Stream stream = device.CreateStream().value();
  Kernel kernel = LoadKernel(device, Params<>()).kernel();
  static const Kernel keep = kernel;  // The function of bare launches is its.
  Bench bench{device, std::move(stream), kernel.plan().function, {}};
  bench.sets.resize(kSets);
  for (int k = 0; k < kSets; ++k) {
    ArgumentSet& set = bench.sets[k];
    set.size = 100000 + 317 * k;
    set.i = k;
    set.f = 0.5f * k;
    set.l = int64_t{1} << k;
    set.d = 0.25 * k;
    const uint64_t base = (uint64_t{1} << 32) + (uint64_t{1} << 24) * k;
    for (int a = 0; a < 8; ++a) {
      const uint64_t address = base + (uint64_t{1} << 20) * a;
      if (a < 3) {
        set.t1[a] = MakeTensor<1>(address, 100 + k);
        set.t2[a] = MakeTensor<2>(address, 20 + k);
        set.a1.push_back(ViewOf(device, set.t1[a]));
        set.a2.push_back(ViewOf(device, set.t2[a]));
      }
      set.t3[a] = MakeTensor<3>(address, 10 + k);
      set.a3.push_back(ViewOf(device, set.t3[a]));
    }
  }
  return bench;
}

const std::vector<LaunchCase>& AllLaunchCases() {
  static const auto* const cases = new std::vector<LaunchCase>{
      {"bare", "0", RunBare<Bare0>},
      {"bare", "4s", RunBare<Bare4s>},
      {"bare", "3x1d", RunBare<Bare3x1d>},
      {"bare", "3x1d+s", RunBare<Bare3x1dS>},
      {"bare", "3x2d", RunBare<Bare3x2d>},
      {"bare", "8x3d", RunBare<Bare8x3d>},
      {"typed", "0", RunTyped<Case0>},
      {"typed", "4s", RunTyped<Case4s>},
      {"typed", "3x1d", RunTyped<Case3x1d>},
      {"typed", "3x1d+s", RunTyped<Case3x1dS>},
      {"typed", "3x2d", RunTyped<Case3x2d>},
      {"typed", "8x3d", RunTyped<Case8x3d>},
      {"dynamic", "0", RunDynamic<Case0>},
      {"dynamic", "4s", RunDynamic<Case4s>},
      {"dynamic", "3x1d", RunDynamic<Case3x1d>},
      {"dynamic", "3x1d+s", RunDynamic<Case3x1dS>},
      {"dynamic", "3x2d", RunDynamic<Case3x2d>},
      {"dynamic", "8x3d", RunDynamic<Case8x3d>},
      {"list", "0", RunList<Case0>},
      {"list", "4s", RunList<Case4s>},
      {"list", "3x1d", RunList<Case3x1d>},
      {"list", "3x1d+s", RunList<Case3x1dS>},
      {"list", "3x2d", RunList<Case3x2d>},
      {"list", "8x3d", RunList<Case8x3d>},
  };
  return *cases;
}

}  // namespace slipway::launch_cases
