// How soon a fresh process has its first result: saxpy over 1,000 elements on the CPU device, checked.
//
//   first_result [--rounds N] [--json]
//
// Runs itself: without a disk cache, and with one that an earlier run has filled, in alternation; prints the median of
// the microseconds from the beginning of main to the result. A program whose libraries are linked statically starts
// sooner
// (-DSLIPWAY_LLVM_STATIC=ON); what comes before main is not counted.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/stream.h"

namespace {

namespace sw = slipway;
using Clock = std::chrono::steady_clock;

// Prints the microseconds since `begin`.
int Child(Clock::time_point begin) {
  const sw::Device device = sw::Device::Open("cpu").value();
  const sw::Stream stream = device.CreateStream().value();
  std::vector<float> host_x(1000), host_y(1000);
  for (size_t i = 0; i < host_x.size(); ++i) host_x[i] = static_cast<float>(i), host_y[i] = 1;
  const auto x = sw::Array<float, 1>::From(device, host_x).value();
  const auto y = sw::Array<float, 1>::From(device, host_y).value();
  const auto saxpy = sw::Elementwise::Parse("y = a * x + y0", "a: f32, x: f32[], y0: f32[] -> y: f32[]").value();
  if (!saxpy.Into(stream, y, 2.0f, x, y).ok()) return 1;
  const std::vector<float> result = y.ToVector().value();
  const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] != 2 * host_x[i] + 1) return 1;
  }
  std::printf("%.1f\n", time.count());
  return 0;
}

double Run(const std::string& self, const std::string& folder) {
  const std::string command = "SLIPWAY_CACHE_DIR='" + folder + "' '" + self + "' --child";
  FILE* const pipe = popen(command.c_str(), "r");
  double microseconds = 0;
  const bool ok = pipe != nullptr && std::fscanf(pipe, "%lf", &microseconds) == 1;
  if (pipe == nullptr || pclose(pipe) != 0 || !ok) {
    std::fprintf(stderr, "first_result: a run failed\n");
    std::exit(1);
  }
  return microseconds;
}

double Median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<long>(samples.size() / 2), samples.end());  // NOLINT
  return samples[samples.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const Clock::time_point begin = Clock::now();
  int rounds = 21;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--child") == 0) return Child(begin);
    if (std::strcmp(argv[i], "--json") == 0) json = true;
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = std::max(1, std::atoi(argv[++i]));
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string folder = (std::filesystem::temp_directory_path() / "slipway-first-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  Run(self, folder);
  std::vector<double> without, with;
  for (int i = 0; i < rounds; ++i) {
    without.push_back(Run(self, "off"));
    with.push_back(Run(self, folder));
  }
  std::filesystem::remove_all(folder);
  const double a = Median(without), b = Median(with);
  std::printf(json ? "{\"without_us\": %.0f, \"with_us\": %.0f, \"ratio\": %.2f}\n"
                   : "first result: %.0f us without a disk cache, %.0f us with it: %.1f times sooner\n",
              a, b, a / b);
  return 0;
}
