// The right-hand side of the evaluator example's models beside handwritten loops, for 4 groups x 2 stages and 16 x 8,
// independent and coupled: one call is one evaluation of all derivatives, and of the launch the wait for it, too.
//
//   evaluator_rhs --models examples/evaluator/data [--count 21]           a table with ratios
//   evaluator_rhs --models examples/evaluator/data --samples              for tools/compare
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/evaluator_loops.h"
#include "benchmarks/samples.h"
#include "examples/evaluator/inputs.h"
#include "examples/evaluator/model.h"
#include "examples/evaluator/rhs.h"
#include "slipway/device.h"

namespace slipway::evaluator {

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string models = "examples/evaluator/data";
  int count = 21;
  bool samples = false;
};

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "evaluator_rhs: %s\n", why.c_str());
  std::exit(1);
}

// Nanoseconds of a call, over as many as take a millisecond or so.
double Sample(const std::function<void()>& call) {
  constexpr int kCalls = 1000;
  const auto begin = Clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kCalls;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());  // NOLINT
  return values[values.size() / 2];
}

void RunCase(const Options& options, const Device& device, const char* name, size_t groups, size_t stages,
             SampleReport& report) {
  const bool coupled = std::strcmp(name, "coupled") == 0;
  std::ifstream file(options.models + "/" + name + ".model");
  std::stringstream text;
  text << file.rdbuf();
  if (!file) Fail("cannot read " + options.models + "/" + name + ".model; say where the models are with --models");
  const Model model = ParseModel(text.str()).value();
  const RightHandSide rhs = RightHandSide::Compile(model).value();
  const Stream stream = device.CreateStream().value();
  const auto g = static_cast<int64_t>(groups), s = static_cast<int64_t>(stages);
  const HostValues values = MakeInputs(model, groups, stages);
  const StateVector states = MakeStates(device, model, MemoryLayout::kFlat, g, s).value();
  const StateVector derivatives = MakeStates(device, model, MemoryLayout::kFlat, g, s).value();
  if (!FillStates(model, values, states).ok()) Fail("the states could not be copied");
  const ParameterValues parameters = ParametersOn(device, model, values, g, s).value();
  BoundRightHandSide launch = rhs.Bind(device, states, derivatives, parameters).value();

  std::vector<std::vector<double>> d(4, std::vector<double>(groups * stages));
  const auto of = [&](const char* which) { return values.find(which)->second.data(); };
  Loops loops = {.groups = groups,
                 .stages = stages,
                 .S = of("S"),
                 .E = of("E"),
                 .I = of("I"),
                 .R = of("R"),
                 .dS = d[0].data(),
                 .dE = d[1].data(),
                 .dI = d[2].data(),
                 .dR = d[3].data(),
                 .sigma = of("sigma")[0],
                 .omega = of("omega")[0],
                 .season = of("season")[0],
                 .time = 0,
                 .beta = of("beta"),
                 .gamma = of("gamma"),
                 .contact = coupled ? of("contact") : nullptr};
  double time = 0;
  const std::function<void()> launched = [&] {
    time += 1e-3;
    if (!launch.Set("time", time).ok() || !launch.Launch(stream).ok() || !stream.Synchronize().ok())
      Fail("a launch failed");
  };
  const std::function<void()> looped = [&] {
    loops.time += 1e-3;
    (coupled ? CoupledLoops : IndependentLoops)(loops);
  };
  launched(), looped();
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<double> got = derivatives.views[i].ToVector<double>().value();
    for (size_t k = 0; k < got.size(); ++k) {
      if (!(std::abs(got[k] - d[i][k]) <= 1e-9 * (1 + std::abs(d[i][k])))) Fail("the results differ");
    }
  }
  const std::string row = std::to_string(groups) + "x" + std::to_string(stages) + "/" + name;
  if (options.samples) {
    const std::string result = Fingerprint(d[0].data(), d[0].size() * sizeof(double));
    report.Add("slipway/" + row, "ns", result, options.count, [&] { return Sample(launched); });
    report.Add("loops/" + row, "ns", result, options.count, [&] { return Sample(looped); });
    return;
  }
  std::vector<double> kernel, loop, ratio;
  for (int i = 0; i < options.count; ++i) {
    kernel.push_back(Sample(launched));
    loop.push_back(Sample(looped));
    ratio.push_back(kernel.back() / loop.back());
  }
  std::printf("%-18s %10.0f %10.0f %10.2f\n", row.c_str(), Median(kernel), Median(loop), Median(ratio));
}

}  // namespace
}  // namespace slipway::evaluator

int main(int argc, char** argv) {
  using namespace slipway::evaluator;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--samples") {
      options.samples = true;
    } else if (i + 1 < argc && word == "--models") {
      options.models = argv[++i];
    } else if (i + 1 < argc && word == "--count" && std::atoi(argv[i + 1]) > 0) {
      options.count = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: evaluator_rhs [--models FOLDER] [--count N] [--samples]\n");
      return 2;
    }
  }
  const slipway::Device device = slipway::Device::Open().value();
  if (!options.samples) {
    std::printf("%s\n%-18s %10s %10s %10s\n", device.Describe().c_str(), "", "slipway ns", "loops ns", "ratio");
  }
  slipway::SampleReport report;
  for (const auto& [groups, stages] : {std::pair<size_t, size_t>(4, 2), {16, 8}}) {
    for (const char* name : {"independent", "coupled"}) RunCase(options, device, name, groups, stages, report);
  }
  if (options.samples) report.Print();
  return 0;
}
