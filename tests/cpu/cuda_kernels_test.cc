// What NVIDIA's compiler makes of small CUDA C++ kernels (tests/data/cuda-kernels), run on the CPU device against
// references of the host's own. Kernels whose threads race for what they read are run one thread at a time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Memory of the device with an array's contents.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_CUDA(Api().MemAlloc(&address_, size_ * sizeof(T)));
    EXPECT_CUDA(Api().MemcpyHtoD(address_, values.data(), size_ * sizeof(T)));
  }
  explicit DeviceArray(std::initializer_list<T> values) : DeviceArray(std::vector<T>(values)) {}
  std::vector<T> Read() const {
    std::vector<T> values(size_);
    EXPECT_CUDA(Api().MemcpyDtoH(values.data(), address_, size_ * sizeof(T)));
    return values;
  }
  CUdeviceptr at(size_t i = 0) const { return address_ + i * sizeof(T); }

 private:
  CUdeviceptr address_ = 0;
  size_t size_ = 0;
};

template <class T>
std::vector<T> Zeros(size_t count) {
  return std::vector<T>(count);
}

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

class Kernel {
 public:
  Kernel(const std::string& name, int sm) {
    const std::string path = std::string(SLIPWAY_CUDA_KERNELS) + "/" + name + ".sm_" + std::to_string(sm) + ".ptx";
    std::ifstream file(path);
    EXPECT_TRUE(file.good()) << path;
    std::stringstream text;
    text << file.rdbuf();
    CUmodule module = nullptr;
    std::string log(1024, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    result_ = Api().ModuleLoadDataEx(&module, text.str().c_str(), 2, options, values);
    log_ = log.c_str();
    if (result_ != CUDA_SUCCESS) return;
    EXPECT_CUDA(Api().ModuleGetFunction(&function_, module, "k"));
    AssembleAfterTests(text.str());
  }

  CUresult load_result() const { return result_; }
  const std::string& log() const { return log_; }

  // Launches and waits.
  template <class... Args>
  CUresult Run(Dim grid, Dim block, unsigned shared, Args... args) const {
    EXPECT_CUDA(result_) << log_;
    if (result_ != CUDA_SUCCESS) return result_;
    void* params[] = {static_cast<void*>(&args)...};
    EXPECT_CUDA(Api().LaunchKernel(function_, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, nullptr,
                                   params, nullptr));
    return Api().CtxSynchronize();
  }

 private:
  CUresult result_ = CUDA_SUCCESS;
  std::string log_;
  CUfunction function_ = nullptr;
};

// Numbers from a fixed seed.
template <class T>
std::vector<T> Random(size_t count, T low, T high, unsigned seed = 1) {
  std::mt19937_64 bits(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      value = low + static_cast<T>(static_cast<double>(bits() >> 11) * 0x1p-53 * (high - low));
    } else {
      const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
      value = static_cast<T>(static_cast<uint64_t>(low) + (span == 0 ? bits() : bits() % span));
    }
  }
  return values;
}

void Assert(int sm) {
  const Kernel kernel("assert", sm);
  DeviceArray<int> a(Zeros<int>(64));
  EXPECT_CUDA(kernel.Run({}, {32}, 0, a.at(), 64));
  const std::vector<int> got = a.Read();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], i < 32 ? i : 0);
  EXPECT_CUDA(kernel.Run({}, {3}, 0, a.at(), 3)) << "sleeps";
  testing::internal::CaptureStderr();
  EXPECT_EQ(kernel.Run({}, {4}, 0, a.at(), 3), CUDA_ERROR_ASSERT);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("assert.cu:1: void k(int *, int): block: [0,0,0], thread: [3,0,0] Assertion `i<n` failed.\n"));
}

void AtomicsGlobal(int sm) {
  constexpr int n = 100;
  const Kernel kernel("atomics_global", sm);
  const std::vector<int> a0 = {5, 6, 50, 0, -1, 0, 0, 1000, -1};
  const std::vector<unsigned> u0 = {3, 7, 0, 42};
  DeviceArray<int> a(a0);
  DeviceArray<unsigned> u(u0);
  DeviceArray<float> f({1.0F, 0.0F, 9.0F});
  DeviceArray<double> d({0.5});
  DeviceArray<uint64_t> l({10, 7, 0, 1});
  EXPECT_CUDA(kernel.Run({}, {n}, 0, a.at(), u.at(), f.at(), d.at(), l.at()));
  const int sum = n * (n - 1) / 2;
  const std::vector<int> a1 = a.Read();
  int all = 0, any = 0, odd = 0;
  for (int i = 0; i < n; ++i) all = i == 0 ? i : all & i, any |= i, odd ^= i;
  EXPECT_EQ(a1[0], 5 + sum);
  EXPECT_EQ(a1[1], 6 - sum);
  EXPECT_EQ(a1[2], 0);
  EXPECT_EQ(a1[4], -1 & all);
  EXPECT_EQ(a1[5], any);
  EXPECT_EQ(a1[6], odd);
  EXPECT_EQ(a1[8], -1) << "compared with 0 and more";
  const std::vector<unsigned> u1 = u.Read();
  unsigned inc = 3, dec = 7;
  for (int i = 0; i < n; ++i) inc = inc >= 9 ? 0 : inc + 1, dec = dec == 0 || dec > 9 ? 9 : dec - 1;
  EXPECT_EQ(u1[0], inc);
  EXPECT_EQ(u1[1], dec);
  EXPECT_EQ(u1[3], 99U);
  // What is added is what the exchanges gave (all that was there before, but the last) and -1 each.
  EXPECT_EQ(f.Read()[0], 1.0F + static_cast<float>(1000 + sum - a1[7] - n));
  EXPECT_EQ(f.Read()[2], 1.0F);
  EXPECT_EQ(d.Read()[0], 0.5 + 2.0 * n);
  const std::vector<uint64_t> l1 = l.Read();
  EXPECT_EQ(l1[0], 10U + 3U * n);
  EXPECT_EQ(l1[1], 99U);
  EXPECT_EQ(l1[3], 2U);
}

float Brain(float x) {  // Rounds to bfloat16, to nearest even.
  uint32_t bits = std::bit_cast<uint32_t>(x);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  return std::bit_cast<float>(bits);
}
uint16_t BrainBits(float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(Brain(x)) >> 16); }

void Bf16(int sm) {
  const Kernel kernel("bf16", sm);
  const std::vector<float> values = Random(65, -8.0F, 8.0F), f0 = Random(64, -2.0F, 2.0F, 2);
  std::vector<uint16_t> a0;
  for (float x : values) a0.push_back(BrainBits(x));
  DeviceArray<uint16_t> a(a0);
  DeviceArray<float> f(f0);
  for (size_t i = 0; i < 64; ++i) EXPECT_CUDA(kernel.Run({}, {}, 0, a.at(i), f.at(i)));
  const std::vector<uint16_t> a1 = a.Read();
  const std::vector<float> f1 = f.Read();
  for (size_t i = 0; i < 64; ++i) {
    const float x = Brain(values[i]), y = Brain(values[i + 1]);
    EXPECT_EQ(a1[i], BrainBits(Brain(Brain(x * y) + x) - Brain(f0[i]))) << i;
    EXPECT_EQ(f1[i], x) << i;
  }
}

uint32_t BitwiseOf(uint32_t x, uint32_t next, uint64_t y, int i) {
  const auto reversed = [](uint32_t v) {
    uint32_t r = 0;
    for (int b = 0; b < 32; ++b) r |= (v >> b & 1) << (31 - b);
    return r;
  };
  const uint64_t bytes = uint64_t{next} << 32 | x;
  uint32_t permuted = 0;
  const uint32_t selector = 0x3210 + static_cast<uint32_t>(i);
  for (int b = 0; b < 4; ++b)
    permuted |= static_cast<uint32_t>(bytes >> (8 * (selector >> (4 * b) & 7)) & 255) << (8 * b);
  const int amount = std::min(i, 32);
  const uint32_t left = static_cast<uint32_t>(bytes << 3 >> 32), right = static_cast<uint32_t>(bytes >> amount);
  const int64_t difference = static_cast<int32_t>(x) - int64_t{i};
  const uint32_t sad = static_cast<uint32_t>(std::abs(difference)) + 3;
  const uint32_t usad = (x > 2 ? x - 2 : 2 - x) + 3;
  int32_t dot = 4;
  for (int b = 0; b < 4; ++b)
    dot += static_cast<int8_t>(x >> (8 * b)) * static_cast<int8_t>(static_cast<uint32_t>(i) >> (8 * b));
  uint32_t added = 0;
  for (int b = 0; b < 4; ++b) added |= (((x >> (8 * b)) + (3U >> (8 * b))) & 255) << (8 * b);
  return static_cast<uint32_t>(std::popcount(x)) + static_cast<uint32_t>(std::countl_zero(x)) + reversed(x) +
         (x == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(x)) + 1) + permuted + left + right +
         static_cast<uint32_t>(std::popcount(y)) + static_cast<uint32_t>(std::countl_zero(y)) + sad + usad +
         static_cast<uint32_t>(dot) + added;
}

void BitOperations(int sm) {
  const Kernel kernel("bits", sm);
  std::vector<uint32_t> a0 = Random<uint32_t>(8, 0, ~0U);
  a0[3] = 0;
  std::vector<uint64_t> b0 = Random<uint64_t>(8, 0, ~uint64_t{0}, 2);
  b0[4] = 0;
  for (size_t i = 0; i < 7; ++i) {
    // Thread i alone can be run only among others: it reads what thread i + 1 writes, so that the order matters.
    DeviceArray<uint32_t> a(a0);
    DeviceArray<uint64_t> b(b0);
    EXPECT_CUDA(kernel.Run({}, {1}, 0, a.at(i), b.at(i)));
    const uint32_t x = a0[i];
    EXPECT_EQ(a.Read()[i], BitwiseOf(x, a0[i + 1], b0[i], 0)) << i;
    uint64_t reversed = 0;
    for (int bit = 0; bit < 64; ++bit) reversed |= (b0[i] >> bit & 1) << (63 - bit);
    EXPECT_EQ(b.Read()[i], reversed + (x >> 5 & 31)) << i;
  }
  // All threads, on one value that they all read, so that the shifts vary: what a thread may read is what was there or
  // what its neighbour has written.
  DeviceArray<uint32_t> a(std::vector<uint32_t>(41, 0x12345678));
  DeviceArray<uint64_t> b(std::vector<uint64_t>(41, 77));
  EXPECT_CUDA(kernel.Run({}, {40}, 0, a.at(), b.at()));
  const std::vector<uint32_t> a1 = a.Read();
  for (int i = 0; i < 40; ++i) {
    const uint32_t before = BitwiseOf(0x12345678, 0x12345678, 77, i);
    const uint32_t after = BitwiseOf(0x12345678, a1[static_cast<size_t>(i) + 1], 77, i);
    EXPECT_TRUE(a1[static_cast<size_t>(i)] == before || a1[static_cast<size_t>(i)] == after) << i;
  }
}

void Clocks(int sm) {
  const Kernel kernel("clockk", sm);
  DeviceArray<int64_t> a(Zeros<int64_t>(1));
  DeviceArray<uint32_t> b(Zeros<uint32_t>(5));
  EXPECT_CUDA(kernel.Run({1, 1, 3}, {1, 4, 1}, 0, a.at(), b.at()));
  EXPECT_NE(a.Read()[0], 0);
  const std::vector<uint32_t> got = b.Read();
  EXPECT_LT(got[1], 4U) << "lanes 0 to 3 of multiprocessor 0";
  EXPECT_GE(got[2], 12U);  // gridDim.z * blockDim.y and blockIdx.z
  EXPECT_LE(got[2], 14U);
  EXPECT_THAT((std::vector<uint32_t>{32, 33, 35, 39}), testing::Contains(got[3]));  // 32 and a mask of lower lanes
  EXPECT_EQ(got[4], 3U);
}

void AtomicRef(int sm) {
  const Kernel kernel("cluster_mbar", sm);
  DeviceArray<int> a({41, 0});
  EXPECT_CUDA(kernel.Run({}, {}, 0, a.at()));
  EXPECT_THAT(a.Read(), ElementsAre(3, 42));
}

void Conversions(int sm) {
  const Kernel kernel("conv", sm);
  constexpr size_t n = 200;
  std::vector<float> f0 = Random(n, -500.0F, 500.0F);
  std::vector<double> d0 = Random(n, -1e6, 1e6, 2);
  for (size_t i = 0; i < 20; ++i) f0[i] = static_cast<float>(i) * 0.5F - 5, d0[i] = static_cast<double>(i) * 0.5 - 5;
  DeviceArray<float> f(f0);
  DeviceArray<double> d(d0);
  DeviceArray<int> a(Zeros<int>(n));
  DeviceArray<unsigned> u(Zeros<unsigned>(n));
  DeviceArray<int64_t> l(Zeros<int64_t>(n));
  DeviceArray<int16_t> s(Zeros<int16_t>(n));
  DeviceArray<uint8_t> c(Zeros<uint8_t>(n));
  EXPECT_CUDA(kernel.Run({}, {n}, 0, f.at(), d.at(), a.at(), u.at(), l.at(), s.at(), c.at()));
  const auto to_unsigned = [](double x) { return x <= 0 ? 0U : static_cast<unsigned>(x); };  // Within range here.
  const auto towards_zero = [](double x) {
    const float nearest = static_cast<float>(x);
    return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0.0F) : nearest;
  };
  for (size_t i = 0; i < n; ++i) {
    const float x = f0[i];
    const double y = d0[i];
    const uint32_t wa = static_cast<uint32_t>(static_cast<int>(x)) + static_cast<uint32_t>(std::lrintf(x)) +
                        static_cast<uint32_t>(static_cast<int>(std::ceil(x))) +
                        static_cast<uint32_t>(static_cast<int>(std::floor(x))) + static_cast<uint32_t>(std::lrint(y)) +
                        std::bit_cast<uint32_t>(x);
    const int want_a = static_cast<int>(wa);
    EXPECT_EQ(a.Read()[i], want_a) << i;
    const unsigned want_u = to_unsigned(x) + to_unsigned(y);
    EXPECT_EQ(u.Read()[i], want_u) << i;
    const int64_t want_l = static_cast<int64_t>(static_cast<uint64_t>(static_cast<int64_t>(y)) +
                                                static_cast<uint64_t>(std::llrintf(x)) + std::bit_cast<uint64_t>(y));
    EXPECT_EQ(l.Read()[i], want_l) << i;
    volatile float sum = static_cast<float>(want_a);
    for (float term :
         {static_cast<float>(want_u), static_cast<float>(want_l), static_cast<float>(y), towards_zero(y),
          towards_zero(want_a), std::rintf(x), std::floor(x), std::ceil(x), std::trunc(x), std::round(x)}) {
      sum = sum + term;
    }
    const float middle = sum;
    const double want_d = static_cast<double>(middle) + want_a + static_cast<double>(want_l) + want_u;
    EXPECT_EQ(d.Read()[i], want_d) << i;
    // float to integer saturates.
    const int64_t wide = middle >= 0x1p31F ? INT32_MAX : middle <= -0x1p31F ? INT32_MIN : static_cast<int64_t>(middle);
    const int16_t want_s = static_cast<int16_t>(static_cast<uint32_t>(wide) + static_cast<uint32_t>(want_a));
    EXPECT_EQ(s.Read()[i], want_s) << i;
    const uint8_t want_c = middle >= 0x1p32F ? 255
                           : middle <= 0     ? 0
                                             : static_cast<uint8_t>(static_cast<uint64_t>(middle));
    EXPECT_EQ(c.Read()[i], want_c) << i;
    EXPECT_EQ(f.Read()[i], middle + static_cast<float>(want_s + want_c + static_cast<int8_t>(want_c))) << i;
  }
}

void AsynchronousCopy(int sm) {
  const Kernel kernel("cpasync", sm);
  if (sm >= 80) {  // Before, the compiler copies by loads and stores.
    EXPECT_EQ(kernel.load_result(), CUDA_ERROR_INVALID_PTX);
    EXPECT_THAT(kernel.log(), HasSubstr("cp.async.cg.shared.global: the CPU device has no asynchronous copies"));
    return;
  }
  const std::vector<float> a0 = Random(4 * 128, -1.0F, 1.0F);
  DeviceArray<float> a(a0), b(Zeros<float>(4 * 128));
  EXPECT_CUDA(kernel.Run({}, {128}, 0, a.at(), b.at()));
  const std::vector<float> got = b.Read();
  for (size_t i = 0; i < 4 * 128; ++i) EXPECT_EQ(got[i], a0[4 * (127 - i / 4) + i % 4]) << i;
}

void DeviceFunctions(int sm) {
  const Kernel kernel("devcall", sm);
  for (const int which : {0, 1}) {
    DeviceArray<float> a({1.5F, 10.0F});
    DeviceArray<int> b({5, 10, which});
    EXPECT_CUDA(kernel.Run({}, {}, 0, a.at(), b.at()));
    EXPECT_THAT(a.Read(), ElementsAre(1.5F * 3.0F + 3.0F, which == 0 ? 11.0F : 20.0F));
    EXPECT_THAT(b.Read(), ElementsAre(5 + 1 + 55, 10, which));
  }
}

void DoubleFunctions(int sm) {
  const Kernel kernel("dmath", sm);
  constexpr int n = 1000;
  const std::vector<double> x = Random(n, 0.5, 50.0), y = Random(n, 0.5, 50.0, 2);
  DeviceArray<double> a(x), b(y);
  EXPECT_CUDA(kernel.Run({8}, {128}, 0, a.at(), b.at(), n - 1));
  const std::vector<double> got = a.Read();
  for (size_t i = 0; i + 1 < n; ++i) {
    const long double p = x[i], q = y[i];
    const long double terms[] = {std::sqrt(p) / q,
                                 p * q + 1,
                                 1 / std::sqrt(q),
                                 std::fabs(p),
                                 -std::floor(q),
                                 std::ceil(p),
                                 std::trunc(q),
                                 std::rint(p),
                                 std::fmin(p, q) * std::fmax(p, q),
                                 1 / p,
                                 p / q};
    long double want = 0, size = 0;
    for (long double term : terms) want += term, size += std::fabs(term);
    // Each of some twenty operations rounds once.
    EXPECT_NEAR(got[i], static_cast<double>(want), static_cast<double>(size) * 20 * 0x1p-53) << i;
  }
  EXPECT_EQ(got[n - 1], x[n - 1]) << "past the end";
}

void DynamicShared(int sm) {
  const Kernel kernel("dynshared", sm);
  std::vector<float> a0(256);
  for (size_t i = 0; i < 256; ++i) a0[i] = static_cast<float>(i % 7);
  DeviceArray<float> a(a0), b(Zeros<float>(2));
  EXPECT_CUDA(kernel.Run({1}, {128}, 128 * sizeof(float), a.at(), b.at(), 100));
  EXPECT_THAT(b.Read(), ElementsAre(std::accumulate(a0.begin(), a0.begin() + 128, 0.0F), 1.0F));
  DeviceArray<float> c(Zeros<float>(2));
  EXPECT_CUDA(kernel.Run({2}, {128}, 128 * sizeof(float), a.at(), c.at(), 2));
  EXPECT_EQ(c.Read()[0], std::accumulate(a0.begin(), a0.begin() + 128, 0.0F));
  EXPECT_EQ(c.Read()[1], std::accumulate(a0.begin() + 128, a0.end(), 0.0F))
      << "two threads below n are not more than 2";
}

void FastMath(int sm) {
  const Kernel kernel("fastm", sm);
  const std::vector<float> a0 = Random(200, 0.05F, 1.4F);
  DeviceArray<float> a(a0);
  EXPECT_CUDA(kernel.Run({}, {200}, 0, a.at()));
  const std::vector<float> got = a.Read();
  for (size_t i = 0; i < 200; ++i) {
    const double x = a0[i];
    const double want = std::sin(x) + std::cos(x) + std::exp(x) + std::log(x) + std::pow(x, 1.5) + x / 3.1F + 1 / x +
                        std::sqrt(x) + 1 / std::sqrt(x) + std::min(x, 1.0) + (x * x + x) + (x + 1) + x * 2 +
                        std::tan(x) + std::log2(x) + x / 3;
    // The largest terms are near 20 (1 / x) and 6 (tan); the approximate ones are good to about 2^-21.
    EXPECT_NEAR(got[i], want, 60 * 0x1p-21) << i;
  }
}

void GridStride(int sm) {
  const Kernel kernel("gridstride", sm);
  constexpr size_t n = 5000;
  const std::vector<float> x0 = Random(n, -9.0F, 9.0F), y0 = Random(n + 3, -9.0F, 9.0F, 2);
  DeviceArray<float> x(x0), y(y0);
  EXPECT_CUDA(kernel.Run({7}, {64}, 0, x.at(), y.at(), 1.25F, n));
  const std::vector<float> got = y.Read();
  for (size_t i = 0; i < n + 3; ++i) EXPECT_EQ(got[i], i < n ? std::fmaf(1.25F, x0[i], y0[i]) : y0[i]) << i;
}

float Half(float x) {  // Rounds to binary16, to nearest even, within the range of normal numbers.
  if (x == 0) return x;
  const float step = std::exp2(static_cast<float>(std::max(std::ilogb(x), -14) - 10));
  return std::nearbyint(x / step) * step;
}
uint16_t HalfBits(float x) {  // Of a normal number or 0.
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x == 0) return sign;
  const int exponent = std::ilogb(x);
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 |
                               (static_cast<int>(std::ldexp(std::fabs(x), 10 - exponent)) - 1024));
}
float HalfValue(uint16_t bits) {
  const float magnitude = (bits >> 10 & 31) == 0
                              ? std::ldexp(static_cast<float>(bits & 1023), -24)
                              : std::ldexp(static_cast<float>((bits & 1023) + 1024), (bits >> 10 & 31) - 25);
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

void HalfArithmetic(int sm) {
  const Kernel kernel("half", sm);
  for (unsigned seed = 1; seed < 50; ++seed) {
    std::vector<float> v = Random(5, 0.5F, 4.0F, seed);
    for (float& x : v) x = Half(x);
    const float x = v[0], y = v[1], low = v[2], high = v[3], f0 = v[4];
    DeviceArray<uint16_t> a({HalfBits(x), HalfBits(y)});
    DeviceArray<uint32_t> b({HalfBits(low) | uint32_t{HalfBits(high)} << 16});
    DeviceArray<float> f({f0});
    EXPECT_CUDA(kernel.Run({}, {}, 0, a.at(), b.at(), f.at()));
    float z = Half(Half(x + Half(y * x)) - Half(y / x));
    if (x < y) z = Half(std::fma(x, y, z));
    // hsqrt, hexp and hrcp are right to the last bit or next to it, and each sum rounds to steps of 2^-7 at most.
    const double sum = std::sqrt(z) + std::exp(x) + f0 + 0 + std::max(x, y) - x + 1 / y;
    const uint16_t got = a.Read()[0];
    if (z < 0) {
      EXPECT_GT(got & 0x7fff, 0x7c00) << "a NaN " << seed;
    } else {
      EXPECT_NEAR(HalfValue(got), sum, 9 * 0x1p-7) << seed;
    }
    const auto both = [&](float q, float addend) { return Half(Half(std::fma(q, q, addend)) + Half(q + q)); };
    EXPECT_EQ(b.Read()[0], HalfBits(both(low, f0)) | uint32_t{HalfBits(both(high, 1.0F))} << 16) << seed;
    EXPECT_EQ(f.Read()[0], z + low + std::trunc(x)) << seed;
  }
}

void IntegerDivision(int sm) {
  const Kernel kernel("idivmod", sm);
  constexpr size_t n = 256;
  std::vector<int> a0 = Random<int>(n, INT32_MIN, INT32_MAX);
  std::vector<unsigned> b0 = Random<unsigned>(n, 0, ~0U, 2);
  std::vector<int64_t> c0 = Random<int64_t>(n, INT64_MIN, INT64_MAX, 3);
  std::vector<uint64_t> d0 = Random<uint64_t>(n, 0, ~uint64_t{0}, 4);
  a0[0] = INT32_MIN, c0[0] = INT64_MIN, b0[0] = ~0U, d0[0] = ~uint64_t{0};
  for (const int m : {1, 3, -7, 1000, 65537}) {
    DeviceArray<int> a(a0);
    DeviceArray<unsigned> b(b0);
    DeviceArray<int64_t> c(c0);
    DeviceArray<uint64_t> d(d0);
    EXPECT_CUDA(kernel.Run({}, {n}, 0, a.at(), b.at(), c.at(), d.at(), m));
    const auto a1 = a.Read();
    const auto b1 = b.Read();
    const auto c1 = c.Read();
    const auto d1 = d.Read();
    for (size_t i = 0; i < n; ++i) {
      const auto wrap = [](int64_t x) { return static_cast<uint32_t>(x); };
      uint32_t wa = wrap(int64_t{a0[i]} / m) + wrap(int64_t{a0[i]} % m) + wrap(a0[i] / 7) + wrap(a0[i] % 10);
      wa += static_cast<uint32_t>((int64_t{static_cast<int32_t>(wa)} * m) >> 32);
      EXPECT_EQ(a1[i], static_cast<int>(wa)) << i << " " << m;
      uint32_t wb = b0[i] / static_cast<unsigned>(m) + b0[i] % 13;
      wb += static_cast<uint32_t>(uint64_t{wb} * static_cast<unsigned>(m) >> 32);
      EXPECT_EQ(b1[i], wb) << i << " " << m;
      EXPECT_EQ(static_cast<uint64_t>(c1[i]), static_cast<uint64_t>(c0[i] / m) + static_cast<uint64_t>(c0[i] % m)) << i;
      const uint64_t divisor = static_cast<uint64_t>(int64_t{m}) + 1;
      uint64_t wd = d0[i] / divisor + d0[i] % 1000;
      __extension__ using uint128 = unsigned __int128;
      wd += static_cast<uint64_t>(uint128{wd} * static_cast<uint64_t>(int64_t{m}) >> 64);
      EXPECT_EQ(d1[i], wd) << i << " " << m;
    }
  }
}

void LocalArray(int sm) {
  const Kernel kernel("localarr", sm);
  constexpr size_t threads = 40;
  const std::vector<int> a0 = Random<int>(threads * 16, -1000, 1000);
  for (const int n : {0, 5, 30, 600}) {
    DeviceArray<int> a(a0), o(Zeros<int>(threads));
    EXPECT_CUDA(kernel.Run({}, {threads}, 0, a.at(), o.at(), n));
    const std::vector<int> got = o.Read();
    for (size_t thread = 0; thread < threads; ++thread) {
      int t[16];
      std::copy_n(a0.begin() + static_cast<ptrdiff_t>(16 * thread), 16, t);
      const auto add = [](int x, int y) {
        return static_cast<int>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
      };
      for (int i = 0; i < n; ++i) {
        const int j = a0[static_cast<size_t>(i)] & 15;
        t[j] = add(t[j], t[(j + 1) & 15]);
      }
      EXPECT_EQ(got[thread], t[n & 15]) << thread << " " << n;
    }
  }
}

void TiledProduct(int sm) {
  const Kernel kernel("matmul_tiled", sm);
  constexpr size_t n = 48;
  const std::vector<float> a0 = Random(n * n, -1.0F, 1.0F), b0 = Random(n * n, -1.0F, 1.0F, 2);
  DeviceArray<float> a(a0), b(b0), c(Zeros<float>(n * n));
  EXPECT_CUDA(kernel.Run({3, 3}, {16, 16}, 0, a.at(), b.at(), c.at(), static_cast<int>(n)));
  const std::vector<float> got = c.Read();
  for (size_t row = 0; row < n; ++row) {
    for (size_t column = 0; column < n; ++column) {
      float want = 0;
      for (size_t k = 0; k < n; ++k) want = std::fmaf(a0[row * n + k], b0[k * n + column], want);
      EXPECT_EQ(got[row * n + column], want) << row << " " << column;
    }
  }
}

void CopyAndSet(int sm) {
  const Kernel kernel("memcpy_memset", sm);
  struct Bytes {
    char c[37];
  };
  std::vector<Bytes> b0(6);
  for (size_t i = 0; i < 6; ++i) {
    for (size_t j = 0; j < 37; ++j) b0[i].c[j] = static_cast<char>(10 * i + j);
  }
  DeviceArray<Bytes> a(Zeros<Bytes>(6)), b(b0);
  DeviceArray<char> z(std::vector<char>(70, 'z'));
  for (size_t i = 0; i < 2; ++i) EXPECT_CUDA(kernel.Run({}, {}, 0, a.at(i), b.at(i), z.at()));
  const std::vector<Bytes> got = a.Read();
  for (size_t i = 0; i < 2; ++i) {
    Bytes want = b0[i + 3];
    want.c[0] = 1;  // z[1] is 0 by then.
    EXPECT_EQ(std::memcmp(got[i].c, want.c, 37), 0) << i;
  }
  const std::vector<char> set = z.Read();
  for (size_t i = 0; i < 70; ++i) EXPECT_EQ(set[i], i < 64 ? 0 : 'z') << i;
  // With more threads, each of its own.
  DeviceArray<Bytes> c(Zeros<Bytes>(6));
  EXPECT_CUDA(kernel.Run({}, {6}, 0, c.at(), b.at(), z.at()));
  for (size_t i = 1; i < 6; ++i) EXPECT_EQ(std::memcmp(c.Read()[i].c, b0[i].c, 37), 0) << i;
}

void NBody(int sm) {
  const Kernel kernel("nbody", sm);
  constexpr size_t n = 128;
  const std::vector<float> p0 = Random(4 * n, 0.1F, 3.0F), v0 = Random(4 * n, -1.0F, 1.0F, 2);
  DeviceArray<float> p(p0), v(v0);
  EXPECT_CUDA(kernel.Run({n / 64}, {64}, 64 * 16, p.at(), v.at(), static_cast<int>(n), 0.01F));
  const std::vector<float> got = v.Read();
  for (size_t i = 0; i < n; ++i) {
    double sum[3] = {}, size = 0;
    for (size_t j = 0; j < n; ++j) {
      double d[3], square = 1e-9;
      for (size_t k = 0; k < 3; ++k) d[k] = double{p0[4 * j + k]} - p0[4 * i + k], square += d[k] * d[k];
      const double f = p0[4 * j + 3] / (square * std::sqrt(square));
      for (size_t k = 0; k < 3; ++k) sum[k] += d[k] * f, size += std::fabs(d[k] * f);
    }
    for (size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(got[4 * i + k], v0[4 * i + k] + sum[k] * 0.01, size * 0.01 * 1e-5 + 1e-6) << i;
    EXPECT_EQ(got[4 * i + 3], v0[4 * i + 3]);
  }
}

void Printf(int sm) {
  const Kernel kernel("printf", sm);
  DeviceArray<int> a({-5});
  testing::internal::CaptureStdout();
  EXPECT_CUDA(kernel.Run({}, {2}, 0, a.at(), 2.5F));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "hello 0 2.500000 str -5\nhello 1 2.500000 str -5\n");
}

struct Strided {  // The struct of structparam.cu.
  CUdeviceptr p;
  int64_t shape[3];
  int strides[3];
  float k;
  bool f;
};

void StructParameters(int sm) {
  const Kernel kernel("structparam", sm);
  static_assert(sizeof(Strided) == 56);
  for (const bool flag : {false, true}) {
    const std::vector<float> t0 = Random(100, -9.0F, 9.0F);
    DeviceArray<float> out(Zeros<float>(100)), in(t0);
    const Strided s = {out.at(), {2, 3, 5}, {1, 2, 7}, 1.5F, false};
    const Strided t = {in.at(), {1, 1, 1}, {0, 0, 0}, 0, flag};
    EXPECT_CUDA(kernel.Run({}, {30}, 0, s, t));
    std::vector<float> want(100);
    for (size_t i = 0; i < 30; ++i) {
      const size_t o = i % 2 * 1 + i % 3 * 2 + i % 5 * 7;
      want[o] = std::fmaf(t0[o], 1.5F, flag ? 1.0F : 0.0F);
    }
    EXPECT_EQ(out.Read(), want);
  }
}

void Switch(int sm) {
  const Kernel kernel("switchk", sm);
  for (int which = -1; which <= 11; ++which) {
    const std::vector<float> f0 = {2.25F, 5.0F, 7.0F, 11.0F};
    DeviceArray<int> a({which});
    DeviceArray<float> f(f0);
    EXPECT_CUDA(kernel.Run({}, {}, 0, a.at(), f.at()));
    std::vector<float> want = f0;
    const float x = f0[0];
    const float results[] = {1, x + std::sqrt(x), x * 3, x - 4, -x, x / 7.0F, f0[1], f0[2] * 2};
    if (which >= 0 && which < 8) {
      want[0] = results[which];
    } else if (which == 9) {
      want[3] = 3;
    } else {
      want[0] = 0;
    }
    EXPECT_EQ(f.Read(), want) << which;
  }
}

void Vectors(int sm) {
  const Kernel kernel("vec", sm);
  constexpr size_t n = 100;
  const auto a0 = Random(4 * n, -9.0F, 9.0F);
  const auto d0 = Random(2 * n, -9.0, 9.0);
  const auto i0 = Random<int>(2 * n, INT32_MIN, INT32_MAX);
  const auto c0 = Random<unsigned>(n, 0, ~0U);
  const auto q0 = Random<int>(4 * n, INT32_MIN, INT32_MAX, 2);
  const auto s0 = Random<int>(2 * n, INT16_MIN, INT16_MAX);
  DeviceArray<float> a(a0), b(Zeros<float>(4 * n));
  DeviceArray<double> d(d0), e(Zeros<double>(2 * n));
  DeviceArray<int> i2(i0), o2(Zeros<int>(2 * n)), q(q0), r(Zeros<int>(4 * n));
  DeviceArray<unsigned> c(c0);
  DeviceArray<int16_t> s(std::vector<int16_t>(s0.begin(), s0.end()));
  EXPECT_CUDA(
      kernel.Run({5}, {20}, 0, a.at(), b.at(), d.at(), e.at(), i2.at(), o2.at(), c.at(), q.at(), r.at(), s.at()));
  EXPECT_EQ(r.Read(), q0);
  const auto b1 = b.Read();
  const auto e1 = e.Read();
  const auto o2_after = o2.Read();
  const auto c1 = c.Read();
  const auto s1 = s.Read();
  for (size_t i = 0; i < n; ++i) {
    const float* x = &a0[4 * i];
    EXPECT_EQ(b1[4 * i], x[0] + x[3]) << i;
    EXPECT_EQ(b1[4 * i + 1], x[1] * 2);
    EXPECT_EQ(b1[4 * i + 2], x[2]);
    EXPECT_EQ(b1[4 * i + 3], x[3]);
    EXPECT_EQ(e1[2 * i], d0[2 * i] + d0[2 * i + 1]);
    EXPECT_EQ(e1[2 * i + 1], d0[2 * i + 1]);
    EXPECT_EQ(o2_after[2 * i], i0[2 * i] ^ i0[2 * i + 1]);
    EXPECT_EQ(o2_after[2 * i + 1], i0[2 * i + 1]);
    const unsigned w = c0[i];
    EXPECT_EQ(c1[i], (((w & 255) + (w >> 8 & 255)) & 255) | (w & 0xff00) | (((w >> 16 & 255) ^ (w >> 24)) << 16) |
                         (w & 0xff000000));
    EXPECT_EQ(s1[2 * i], static_cast<int16_t>(s0[2 * i] + s0[2 * i + 1]));
    EXPECT_EQ(s1[2 * i + 1], s0[2 * i + 1]);
  }
}

void Volatile(int sm) {
  const Kernel kernel("volat", sm);
  std::vector<int> a0(32);
  std::iota(a0.begin(), a0.end(), 10);
  const std::vector<float> f0 = Random(32, -9.0F, 9.0F);
  DeviceArray<int> a(a0), flag(Zeros<int>(1));
  DeviceArray<float> f(f0);
  EXPECT_CUDA(kernel.Run({}, {32}, 0, a.at(), f.at(), flag.at()));
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(a.Read()[i], a0[i] + 1);
    EXPECT_EQ(f.Read()[i], f0[31 - i]);
  }
  EXPECT_EQ(flag.Read()[0], 1);
}

void WarpReduce(int sm) {
  const Kernel kernel("warp_reduce80", sm);
  const std::vector<int> a0 = Random<int>(64, -1000000, 1000000);
  const std::vector<unsigned> u0 = Random<unsigned>(64, 0, ~0U, 2);
  DeviceArray<int> a(a0);
  DeviceArray<unsigned> u(u0);
  EXPECT_CUDA(kernel.Run({}, {64}, 0, a.at(), u.at()));
  const std::vector<int> a1 = a.Read();
  const std::vector<unsigned> u1 = u.Read();
  for (size_t i = 0; i < 64; ++i) {
    const auto first = static_cast<ptrdiff_t>(i / 32 * 32);
    const int sum = std::accumulate(a0.begin() + first, a0.begin() + first + 32, 0);
    const int most = *std::max_element(a0.begin() + first, a0.begin() + first + 32);
    unsigned odd = 0;
    for (size_t j = 0; j < 32; ++j) odd ^= u0[static_cast<size_t>(first) + j];
    EXPECT_EQ(a1[i], sm < 80 ? a0[i] : sum + most) << i;
    EXPECT_EQ(u1[i], sm < 80 ? u0[i] : odd) << i;
  }
}

void Constants(int sm) {  // Initial values that are addresses: a list, a string, a table of functions.
  const Kernel kernel("constants", sm);
  DeviceArray<int> a(Zeros<int>(64));
  EXPECT_CUDA(kernel.Run({}, {64}, 0, a.at()));
  const std::vector<int> got = a.Read();
  const int twice[4] = {2, 4, 6, 9};
  for (int i = 0; i < 64; ++i) {
    const int list = 65;
    const int want = (i & 3) + 1 + twice[i & 3] + 3 + 'i' + 1000 + ((i & 1) != 0 ? list * 4 : list + 3);
    EXPECT_EQ(got[static_cast<size_t>(i)], want) << i;
  }
}

void VirtualCalls(int sm) {
  const Kernel kernel("virtual_calls", sm);
  for (int launch = 1; launch <= 2; ++launch) {
    DeviceArray<int> o(Zeros<int>(42));
    EXPECT_CUDA(kernel.Run({}, {40}, 0, o.at(), 7));
    const std::vector<int> got = o.Read();
    for (int i = 0; i < 40; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], i % 2 == 1 ? i * 7 : i + 7) << i;
    EXPECT_EQ(got[40], 39 * 7);
    EXPECT_EQ(got[41], 40 * launch) << "a static variable lives on";
  }
}

struct Case {
  const char* name;
  void (*run)(int sm);
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};
constexpr Case kCases[] = {
    {"assert", &Assert},
    {"atomics_global", &AtomicsGlobal},
    {"bf16", &Bf16},
    {"bits", &BitOperations},
    {"clockk", &Clocks},
    {"cluster_mbar", &AtomicRef},
    {"constants", &Constants},
    {"conv", &Conversions},
    {"cpasync", &AsynchronousCopy},
    {"devcall", &DeviceFunctions},
    {"dmath", &DoubleFunctions},
    {"dynshared", &DynamicShared},
    {"fastm", &FastMath},
    {"gridstride", &GridStride},
    {"half", &HalfArithmetic},
    {"idivmod", &IntegerDivision},
    {"localarr", &LocalArray},
    {"matmul_tiled", &TiledProduct},
    {"memcpy_memset", &CopyAndSet},
    {"nbody", &NBody},
    {"printf", &Printf},
    {"structparam", &StructParameters},
    {"switchk", &Switch},
    {"vec", &Vectors},
    {"virtual_calls", &VirtualCalls},
    {"volat", &Volatile},
    {"warp_reduce80", &WarpReduce},
};

class CudaKernels : public ApiTest, public testing::WithParamInterface<std::tuple<Case, int>> {};

TEST_P(CudaKernels, GiveWhatTheReferenceGives) {
  const auto [kernel, sm] = GetParam();
  kernel.run(sm);
}
INSTANTIATE_TEST_SUITE_P(All, CudaKernels, testing::Combine(testing::ValuesIn(kCases), testing::Values(75, 90)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_sm_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace slipway::cpu
