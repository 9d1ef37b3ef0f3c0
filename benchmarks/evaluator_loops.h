// The evaluator example's models as handwritten loops (evaluator_loops.cc, compiled at -O3 -march=native).
#ifndef SLIPWAY_BENCHMARKS_EVALUATOR_LOOPS_H_
#define SLIPWAY_BENCHMARKS_EVALUATOR_LOOPS_H_

#include <cstddef>

namespace slipway::evaluator {

// Sizes are known at run time, as they are to the kernel. States and derivatives are groups x stages, row-major.
struct Loops {
  size_t groups, stages;
  const double *S, *E, *I, *R;
  double *dS, *dE, *dI, *dR;
  double sigma, omega, season, time;
  const double *beta, *gamma, *contact;
};
void CoupledLoops(const Loops& of);
void IndependentLoops(const Loops& of);

}  // namespace slipway::evaluator

#endif  // SLIPWAY_BENCHMARKS_EVALUATOR_LOOPS_H_
