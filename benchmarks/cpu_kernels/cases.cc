#include "benchmarks/cpu_kernels/cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/cpu_kernels/kernel.h"
#include "benchmarks/cpu_kernels/native.h"
#include "slipway/memory.h"

namespace slipway::cpu_kernels {
namespace {

constexpr uint32_t kBlock = 256;

uint32_t BlocksFor(int64_t n, uint32_t per_block = kBlock) {
  return static_cast<uint32_t>((n + per_block - 1) / per_block);
}

LaunchConfig Line(int64_t n) { return {.grid = {BlocksFor(n)}, .block = {kBlock}}; }
// For kernels with a loop over the grid's stride: no more blocks than keep the device busy, 32 a multiprocessor (M.
// Harris, CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops, 2013).
LaunchConfig Striding(const Bench& bench, int64_t n) {
  const auto most = static_cast<uint32_t>(32 * bench.device.properties().multiprocessors);
  return {.grid = {std::min(BlocksFor(n), most)}, .block = {kBlock}};
}

// Device memory, written and read in place.
template <class T>
class Buffer {
 public:
  Buffer(const Bench& bench, size_t size)
      : memory_(std::make_shared<DeviceMemory>(Must(DeviceMemory::Allocate(bench.device, size * sizeof(T))))),
        size_(size) {
    std::fill(begin(), end(), T{});
  }
  template <class Make>
  Buffer(const Bench& bench, size_t size, const Make& make) : Buffer(bench, size) {
    for (size_t i = 0; i < size; ++i) (*this)[i] = make(i);
  }

  operator T*() const { return reinterpret_cast<T*>(memory_->address()); }  // NOLINT(google-explicit-constructor)
  T* begin() const { return *this; }
  T* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  void Clear() const { std::fill(begin(), end(), T{}); }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  size_t size_;
};

// Numbers in [0, 1) that look random and are the same in every run: the bits of SplitMix64 (Steele, Lea and Flood, Fast
// splittable pseudorandom number generators, OOPSLA 2014).
uint64_t Random(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
float Uniform(uint64_t i) { return static_cast<float>(Random(i) >> 40) * 0x1p-24F; }

// Parts of [0, n).
std::pair<int, int> Share(int64_t n, int part, int parts) {
  return {static_cast<int>(n * part / parts), static_cast<int>(n * (part + 1) / parts)};
}

// Sets both native functions to loop(begin, end), for parts of [0, n).
template <class Loop>
void SetNative(Bench& bench, int n, Prepared* prepared, Loop loop) {
  prepared->native = [&bench, n, loop] {
    bench.workers.Run([&](int part, int parts) {
      const auto [begin, end] = Share(n, part, parts);
      loop(begin, end);
    });
  };
  prepared->native_alone = [n, loop] { loop(0, n); };
}

// The first element of `actual` that is further from `expected(i)` than `tolerance` times `scale`, or than itself where
// that is larger; up to `allowed` of them are passed over.
template <class T, class Expected>
std::string Compare(std::span<T> actual, const Expected& expected, double tolerance, double scale = 0,
                    size_t allowed = 0) {
  for (size_t i = 0; i < actual.size(); ++i) {
    const double wanted = expected(i), given = static_cast<double>(actual[i]);
    if (std::abs(given - wanted) <= tolerance * std::max(scale, std::abs(wanted))) continue;
    if (allowed-- > 0) continue;
    return absl::StrCat("element ", i, " is ", given, ", and ", wanted, " in wider precision");
  }
  return {};
}
template <class T>
std::span<T> All(const Buffer<T>& buffer) {
  return {buffer.begin(), buffer.size()};
}

// --- The cases

Prepared Saxpy(Bench& bench, int64_t size) {
  const int n = static_cast<int>(size);
  const float a = 1.5F;
  const Buffer<float> x(bench, n, Uniform), y(bench, n);
  const auto start = [](size_t i) { return Uniform(i + 1'000'000'007); };
  Prepared prepared{.size = absl::StrCat(n)};
  SetNative(bench, n, &prepared, [=](int begin, int end) { native::Saxpy(begin, end, a, x, y); });
  const auto kernel = Find<int, float, const float*, float*>(bench.module, "saxpy");
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, Line(n), n, a, x.begin(), y.begin())); };
  prepared.reset = [=] {
    for (int i = 0; i < n; ++i) y[i] = start(i);
  };
  prepared.check = [=] {
    return Compare(
        All(y), [&](size_t i) { return double{a} * x[i] + start(i); }, 1e-6);
  };
  return prepared;
}

Prepared Dot(Bench& bench, int64_t size) {
  const int n = static_cast<int>(size);
  const Buffer<float> x(bench, n, Uniform), y(bench, n, [](size_t i) { return Uniform(i * 3) - 0.25F; }),
      result(bench, 1);
  Prepared prepared{.size = absl::StrCat(n)};
  prepared.native = [=, &bench] {
    std::array<float, 256> sums;  // One a thread; neighbours are written once.
    bench.workers.Run([&](int part, int parts) {
      const auto [begin, end] = Share(n, part, parts);
      sums[part] = native::Dot(begin, end, x, y);
    });
    for (int part = 0; part < bench.workers.count(); ++part) *result += sums[part];
  };
  prepared.native_alone = [=] { *result += native::Dot(0, n, x, y); };
  const auto kernel = Find<int, const float*, const float*, float*>(bench.module, "dot");
  prepared.launch = [=, &bench] {
    Must(kernel(bench.stream, Striding(bench, n), n, x.begin(), y.begin(), result.begin()));
  };
  prepared.reset = [=] { result.Clear(); };
  prepared.check = [=] {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double{x[i]} * y[i];
    // A float32 sum of so many terms of one sign, in order, is off by this much: it is the native loop that is.
    return Compare(
        All(result), [&](size_t) { return sum; }, 1e-6 * std::sqrt(n));
  };
  return prepared;
}

Prepared Stencil(Bench& bench, int64_t size) {
  const int width = size > 100'000 ? 4000 : 128, height = static_cast<int>(size / width);
  const Buffer<float> in(bench, size_t{1} * width * height, Uniform), out(bench, in.size());
  Prepared prepared{.size = absl::StrCat(width, " x ", height)};
  SetNative(bench, height, &prepared, [=](int begin, int end) { native::Stencil(begin, end, width, height, in, out); });
  const auto kernel = Find<int, int, const float*, float*>(bench.module, "stencil");
  const LaunchConfig config{.grid = {BlocksFor(width, 32), BlocksFor(height, 8)}, .block = {32, 8}};
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, config, width, height, in.begin(), out.begin())); };
  prepared.reset = [=] { out.Clear(); };
  prepared.check = [=] {
    return Compare(
        All(out),
        [&](size_t i) {
          const int x = static_cast<int>(i) % width, y = static_cast<int>(i) / width;
          if (x == 0 || y == 0 || x == width - 1 || y == height - 1) return 0.0;
          return 0.25 * (double{in[i - 1]} + in[i + 1] + in[i - width] + in[i + width]);
        },
        1e-6);
  };
  return prepared;
}

Prepared Histogram(Bench& bench, int64_t size) {
  const int n = static_cast<int>(size);
  // As a picture's grey values: not all equally often.
  const Buffer<uint8_t> values(bench, n, [](size_t i) { return static_cast<uint8_t>(Uniform(i) * Uniform(~i) * 256); });
  const Buffer<unsigned> counts(bench, 256);
  Prepared prepared{.size = absl::StrCat(n)};
  const auto own_counts = std::make_shared<std::vector<std::array<unsigned, 256>>>(bench.workers.count());
  prepared.native = [=, &bench] {
    bench.workers.Run([&](int part, int parts) {
      const auto [begin, end] = Share(n, part, parts);
      std::array<unsigned, 256>& own = (*own_counts)[part];
      own.fill(0);
      native::Histogram(begin, end, values, own.data());
    });
    for (const auto& own : *own_counts) {
      for (size_t i = 0; i < own.size(); ++i) counts[i] += own[i];
    }
  };
  prepared.native_alone = [=] { native::Histogram(0, n, values, counts); };
  const auto kernel = Find<int, const uint8_t*, unsigned*>(bench.module, "histogram");
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, Striding(bench, n), n, values.begin(), counts.begin())); };
  prepared.reset = [=] { counts.Clear(); };
  prepared.check = [=] {
    std::vector<uint64_t> wanted(256);
    for (const uint8_t value : All(values)) ++wanted[value];
    return Compare(
        All(counts), [&](size_t i) { return static_cast<double>(wanted[i]); }, 0);
  };
  return prepared;
}

template <int kTile>
Prepared MatrixProduct(Bench& bench, int64_t size) {
  const int n = size > 100'000 ? 1024 : 96;  // A million elements of a thousand steps each, or 9216 of 96.
  const Buffer<float> a(bench, size_t{1} * n * n, Uniform), b(bench, a.size(), [](size_t i) { return Uniform(~i); }),
      c(bench, a.size());
  Prepared prepared{.size = absl::StrCat(n, " x ", n)};
  SetNative(bench, n, &prepared, [=](int begin, int end) { native::MatrixProduct(begin, end, n, a, b, c); });
  const auto kernel = Find<int, const float*, const float*, float*>(
      bench.module, kTile == 16 ? "matrix_product_16" : "matrix_product_32");
  const uint32_t tiles = BlocksFor(n, kTile);
  const LaunchConfig config{.grid = {tiles, tiles}, .block = {kTile, kTile}};
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, config, n, a.begin(), b.begin(), c.begin())); };
  prepared.reset = [=] { c.Clear(); };
  prepared.check = [=] {
    std::vector<double> wanted(c.size());
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < n; ++j) wanted[i * n + j] += double{a[i * n + k]} * b[k * n + j];
      }
    }
    return Compare(
        All(c), [&](size_t i) { return wanted[i]; }, 1e-5);
  };
  return prepared;
}

Prepared Mandelbrot(Bench& bench, int64_t size) {
  const int width = size > 100'000 ? 4000 : 128, height = static_cast<int>(size / width), most = 64;
  const float left = -2, top = -1.25F, step = 2.5F / static_cast<float>(width);
  const Buffer<int> counts(bench, size_t{1} * width * height);
  Prepared prepared{.size = absl::StrCat(width, " x ", height)};
  SetNative(bench, height, &prepared,
            [=](int begin, int end) { native::Mandelbrot(begin, end, width, left, top, step, most, counts); });
  const auto kernel = Find<int, int, float, float, float, int, int*>(bench.module, "mandelbrot");
  const LaunchConfig config{.grid = {BlocksFor(width, 16), BlocksFor(height, 16)}, .block = {16, 16}};
  prepared.launch = [=, &bench] {
    Must(kernel(bench.stream, config, width, height, left, top, step, most, counts.begin()));
  };
  prepared.reset = [=] { counts.Clear(); };
  prepared.check = [=] {
    // Close to the border of the set one rounding more or less decides.
    return Compare(
        All(counts),
        [&](size_t i) {
          const double c_re = left + double{step} * static_cast<double>(i % width);
          const double c_im = top + double{step} * static_cast<double>(i / width);
          double re = 0, im = 0;
          int count = 0;
          for (; count < most && re * re + im * im < 4; ++count) {
            const double next = re * re - im * im + c_re;
            im = 2 * re * im + c_im;
            re = next;
          }
          return static_cast<double>(count);
        },
        0, 0, counts.size() / 1000);
  };
  return prepared;
}

Prepared BlackScholes(Bench& bench, int64_t size) {
  const int n = static_cast<int>(size);
  const float rate = 0.02F, volatility = 0.3F;
  const Buffer<float> price(bench, n, [](size_t i) { return 5 + 25 * Uniform(3 * i); });
  const Buffer<float> strike(bench, n, [](size_t i) { return 1 + 99 * Uniform(3 * i + 1); });
  const Buffer<float> years(bench, n, [](size_t i) { return 0.25F + 9.75F * Uniform(3 * i + 2); });
  const Buffer<float> call(bench, n), put(bench, n);
  Prepared prepared{.size = absl::StrCat(n)};
  SetNative(bench, n, &prepared, [=](int begin, int end) {
    native::BlackScholes(begin, end, price, strike, years, rate, volatility, call, put);
  });
  const auto kernel =
      Find<int, const float*, const float*, const float*, float, float, float*, float*>(bench.module, "black_scholes");
  prepared.launch = [=, &bench] {
    Must(kernel(bench.stream, Line(n), n, price.begin(), strike.begin(), years.begin(), rate, volatility, call.begin(),
                put.begin()));
  };
  prepared.reset = [=] {
    call.Clear();
    put.Clear();
  };
  prepared.check = [=] {
    const auto value = [&](size_t i, bool is_call) {
      const double s = price[i], k = strike[i], t = years[i], deviation = volatility * std::sqrt(t);
      const double d1 = (std::log(s / k) + (rate + 0.5 * volatility * volatility) * t) / deviation;
      const double d2 = d1 - deviation, discounted = k * std::exp(-rate * t);
      const auto normal = [](double d) { return 0.5 * std::erfc(-d * std::sqrt(0.5)); };
      return is_call ? s * normal(d1) - discounted * normal(d2) : discounted * normal(-d2) - s * normal(-d1);
    };
    // Prices of up to 100; the formula's normal distribution is good to 7.5e-8.
    std::string problem = Compare(
        All(call), [&](size_t i) { return value(i, true); }, 1e-6, 100);
    if (!problem.empty()) return problem;
    return Compare(
        All(put), [&](size_t i) { return value(i, false); }, 1e-6, 100);
  };
  return prepared;
}

Prepared Gather(Bench& bench, int64_t size) {
  const int n = static_cast<int>(size);
  const Buffer<float> table(bench, n, Uniform), out(bench, n);
  const Buffer<int> index(bench, n, [&](size_t i) { return static_cast<int>(Random(i) % static_cast<uint64_t>(n)); });
  Prepared prepared{.size = absl::StrCat(n)};
  SetNative(bench, n, &prepared, [=](int begin, int end) { native::Gather(begin, end, table, index, out); });
  const auto kernel = Find<int, const float*, const int*, float*>(bench.module, "gather");
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, Line(n), n, table.begin(), index.begin(), out.begin())); };
  prepared.reset = [=] { out.Clear(); };
  prepared.check = [=] {
    return Compare(
        All(out), [&](size_t i) { return double{table[index[i]]}; }, 0);
  };
  return prepared;
}

Prepared NBody(Bench& bench, int64_t size) {
  const int n = size > 100'000 ? 8192 : 512;  // Work grows with its square.
  const Buffer<native::Body> bodies(bench, n, [](size_t i) {
    return native::Body{Uniform(4 * i), Uniform(4 * i + 1), Uniform(4 * i + 2), Uniform(4 * i + 3)};
  });
  const Buffer<native::Vector> result(bench, n);
  Prepared prepared{.size = absl::StrCat(n, " bodies")};
  SetNative(bench, n, &prepared, [=](int begin, int end) { native::NBody(begin, end, n, bodies, result); });
  const auto kernel = Find<int, const native::Body*, native::Vector*>(bench.module, "n_body");
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, Line(n), n, bodies.begin(), result.begin())); };
  prepared.reset = [=] { result.Clear(); };
  prepared.check = [=] {
    std::vector<double> wanted(size_t{3} * n);
    double largest = 0;
    for (int i = 0; i < n; ++i) {
      double sum[3] = {};
      for (int j = 0; j < n; ++j) {
        const double d[3] = {double{bodies[j].x} - bodies[i].x, double{bodies[j].y} - bodies[i].y,
                             double{bodies[j].z} - bodies[i].z};
        const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + double{1e-4F};
        for (int axis = 0; axis < 3; ++axis) sum[axis] += d[axis] * bodies[j].mass / (square * std::sqrt(square));
      }
      for (int axis = 0; axis < 3; ++axis) {
        wanted[3 * i + axis] = sum[axis];
        largest = std::max(largest, std::abs(sum[axis]));
      }
    }
    const std::span<float> flat(&result.begin()->x, wanted.size());
    return Compare(
        flat, [&](size_t i) { return wanted[i]; }, 1e-5, largest);
  };
  return prepared;
}

Prepared PrefixSum(Bench& bench, int64_t size) {
  const int n = static_cast<int>(size);
  const uint32_t blocks = BlocksFor(n);
  const Buffer<unsigned> in(bench, n, [](size_t i) { return static_cast<unsigned>(Random(i) % 1000); });
  const Buffer<unsigned> out(bench, n), totals(bench, blocks);
  Prepared prepared{.size = absl::StrCat(n)};
  prepared.native = [=, &bench] {  // Each part's sum, and then each part from where those before it end.
    std::array<unsigned, 256> sums;
    bench.workers.Run([&](int part, int parts) {
      const auto [begin, end] = Share(n, part, parts);
      sums[part] = native::Sum(begin, end, in);
    });
    bench.workers.Run([&](int part, int parts) {
      const auto [begin, end] = Share(n, part, parts);
      unsigned before = 0;
      for (int i = 0; i < part; ++i) before += sums[i];
      native::Scan(begin, end, before, in, out);
    });
  };
  prepared.native_alone = [=] { native::Scan(0, n, 0, in, out); };
  const auto scan_blocks = Find<int, const unsigned*, unsigned*, unsigned*>(bench.module, "scan_blocks");
  const auto scan_totals = Find<int, unsigned*>(bench.module, "scan_totals");
  const auto add_totals = Find<int, const unsigned*, unsigned*>(bench.module, "add_totals");
  const LaunchConfig one_block{.grid = {1}, .block = {1024}};
  prepared.launch = [=, &bench] {
    Must(scan_blocks(bench.stream, Line(n), n, in.begin(), out.begin(), totals.begin()));
    Must(scan_totals(bench.stream, one_block, static_cast<int>(blocks), totals.begin()));
    Must(add_totals(bench.stream, Line(n), n, totals.begin(), out.begin()));
  };
  prepared.reset = [=] { out.Clear(); };
  prepared.check = [=] {
    std::vector<uint64_t> wanted(n);
    uint64_t sum = 0;
    for (int i = 0; i < n; ++i) wanted[i] = sum += in[i];
    return Compare(
        All(out), [&](size_t i) { return static_cast<double>(wanted[i] & UINT32_MAX); }, 0);
  };
  return prepared;
}

Prepared Transpose(Bench& bench, int64_t size) {
  const int width = size > 100'000 ? 4000 : 128, height = static_cast<int>(size / width);
  const Buffer<float> in(bench, size_t{1} * width * height, Uniform), out(bench, in.size());
  Prepared prepared{.size = absl::StrCat(width, " x ", height)};
  SetNative(bench, width, &prepared,
            [=](int begin, int end) { native::Transpose(begin, end, width, height, in, out); });
  const auto kernel = Find<int, int, const float*, float*>(bench.module, "transpose");
  const LaunchConfig config{.grid = {BlocksFor(width, 32), BlocksFor(height, 32)}, .block = {32, 8}};
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, config, width, height, in.begin(), out.begin())); };
  prepared.reset = [=] { out.Clear(); };
  prepared.check = [=] {
    return Compare(
        All(out), [&](size_t i) { return double{in[i % height * width + i / height]}; }, 0);
  };
  return prepared;
}

Prepared Softmax(Bench& bench, int64_t size) {
  const int columns = 1024, rows = static_cast<int>(size / columns);
  const Buffer<float> in(bench, size_t{1} * rows * columns, [](size_t i) { return 8 * Uniform(i); });
  const Buffer<float> out(bench, in.size());
  Prepared prepared{.size = absl::StrCat(rows, " x ", columns)};
  SetNative(bench, rows, &prepared, [=](int begin, int end) { native::Softmax(begin, end, columns, in, out); });
  const auto kernel = Find<int, const float*, float*>(bench.module, "softmax");
  const LaunchConfig config{.grid = {static_cast<uint32_t>(rows)}, .block = {kBlock}};
  prepared.launch = [=, &bench] { Must(kernel(bench.stream, config, columns, in.begin(), out.begin())); };
  prepared.reset = [=] { out.Clear(); };
  prepared.check = [=] {
    std::vector<double> sums(rows);
    for (size_t i = 0; i < in.size(); ++i) sums[i / columns] += std::exp(double{in[i]});
    return Compare(
        All(out), [&](size_t i) { return std::exp(double{in[i]}) / sums[i / columns]; }, 1e-5);
  };
  return prepared;
}

}  // namespace

Bench::Bench(Device device, Stream stream, Module module)
    : device(std::move(device)),
      stream(std::move(stream)),
      module(std::move(module)),
      workers(this->device.properties().multiprocessors) {}

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      {"saxpy", Saxpy},
      {"dot", Dot},
      {"stencil", Stencil},
      {"histogram", Histogram},
      {"matrix product, tiles of 16", MatrixProduct<16>},
      {"matrix product, tiles of 32", MatrixProduct<32>},
      {"Mandelbrot", Mandelbrot},
      {"Black-Scholes", BlackScholes},
      {"gather", Gather},
      {"n-body", NBody},
      {"prefix sum", PrefixSum},
      {"transpose", Transpose},
      {"softmax", Softmax},
  };
  return *cases;
}

}  // namespace slipway::cpu_kernels
