// What launches, waits and loading cost on the CPU device, apart from what a kernel computes.
#ifndef SLIPWAY_BENCHMARKS_CPU_KERNELS_OVERHEADS_H_
#define SLIPWAY_BENCHMARKS_CPU_KERNELS_OVERHEADS_H_

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/cpu_kernels/cases.h"

namespace slipway::cpu_kernels {

struct Overhead {
  std::string name;
  double (*measure)(Bench& bench, int repeat);  // The median of so many samples, in `unit`.
  std::string unit;
};

const std::vector<Overhead>& Overheads();

// Milliseconds that loading a module of one small kernel takes.
double TimeLoad(const Device& device);

double Median(std::vector<double> values);
std::vector<double> Samples(int count, const std::function<double()>& sample);

}  // namespace slipway::cpu_kernels

#endif  // SLIPWAY_BENCHMARKS_CPU_KERNELS_OVERHEADS_H_
