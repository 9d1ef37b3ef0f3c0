// The evaluator example's models by hand, as well as a loop nest can be written: sums over groups once, vectors along
// stages, nothing computed twice.
#include "benchmarks/evaluator_loops.h"

#include <cmath>
#include <cstddef>

namespace slipway::evaluator {

void IndependentLoops(const Loops& of) {
  const double wave = 1 + of.season * std::cos(6.283185307179586 * of.time);
  for (size_t g = 0; g < of.groups; ++g) {
    const double rate = of.beta[g] * wave;
    for (size_t s = 0; s < of.stages; ++s) {
      const size_t i = g * of.stages + s;
      const double S = of.S[i], E = of.E[i], I = of.I[i], R = of.R[i];
      const double infected = rate * I * S / (S + E + I + R);
      of.dS[i] = of.omega * R - infected;
      of.dE[i] = infected - of.sigma * E;
      of.dI[i] = of.sigma * E - of.gamma[s] * I;
      of.dR[i] = of.gamma[s] * I - of.omega * R;
    }
  }
}

void CoupledLoops(const Loops& of) {
  constexpr size_t kMostStages = 64;
  double mean[kMostStages] = {}, mixed[kMostStages];
  for (size_t g = 0; g < of.groups; ++g) {
    for (size_t s = 0; s < of.stages; ++s) mean[s] += of.I[g * of.stages + s];
  }
  for (size_t s = 0; s < of.stages; ++s) mean[s] /= static_cast<double>(of.groups);
  const double wave = 1 + of.season * std::cos(6.283185307179586 * of.time);
  for (size_t g = 0; g < of.groups; ++g) {
    for (size_t s = 0; s < of.stages; ++s) mixed[s] = 0;
    for (size_t j = 0; j < of.groups; ++j) {
      const double contact = of.contact[g * of.groups + j];
      for (size_t s = 0; s < of.stages; ++s) mixed[s] += contact * of.I[j * of.stages + s];
    }
    const double rate = of.beta[g] * wave;
    for (size_t s = 0; s < of.stages; ++s) {
      const size_t i = g * of.stages + s;
      const double S = of.S[i], E = of.E[i], I = of.I[i], R = of.R[i];
      const double infected = rate * mixed[s] * S / (S + E + I + R);
      of.dS[i] = of.omega * R - infected;
      of.dE[i] = infected - of.sigma * E;
      of.dI[i] = of.sigma * E - of.gamma[s] * I + 0.001 * (mean[s] - I);
      of.dR[i] = of.gamma[s] * I - of.omega * R;
    }
  }
}

}  // namespace slipway::evaluator
