// The evaluator example's parts: what models mean, against handwritten loops, and what is said of mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "examples/evaluator/inputs.h"
#include "examples/evaluator/integrator.h"
#include "examples/evaluator/model.h"
#include "examples/evaluator/oracle.h"
#include "examples/evaluator/plot.h"
#include "examples/evaluator/rhs.h"
#include "slipway/device.h"

namespace slipway::evaluator {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr char kEverything[] = R"(
state A, B
number rate
group weight
stage speed      # a comment
cell source
matrix links

total = A + B
relative = A / sum_groups(total)
d A = rate * mix(links, total * weight) - speed * A + mean_groups(mix(links, B)) * 2e-1
d B = source + exp(-relative) * weight - max(A, min_groups(B)) + max_groups(pow(weight, 2)) * cos(time) - -1
)";

TEST(EvaluatorTest, MeansWhatHandwrittenLoopsDo) {
  const Model model = ParseModel(kEverything).value();
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const RightHandSide rhs = RightHandSide::Compile(model).value();
  for (const auto& [groups, stages] : {std::pair<size_t, size_t>(1, 1), {4, 2}, {5, 3}, {16, 8}, {3, 40}}) {
    const size_t n = stages;
    HostValues v = MakeInputs(model, groups, stages);
    v["time"] = {0.75};
    const std::vector<double>&a = v["A"], &b = v["B"], &weight = v["weight"], &links = v["links"];
    const auto mixed = [&](const auto& at, size_t g, size_t s) {
      double sum = 0;
      for (size_t j = 0; j < groups; ++j) sum += links[g * groups + j] * at(j, s);
      return sum;
    };
    std::vector<double> da, db;
    for (size_t g = 0; g < groups; ++g) {
      for (size_t s = 0; s < stages; ++s) {
        const auto total = [&](size_t j, size_t k) { return a[j * n + k] + b[j * n + k]; };
        double all = 0, mean = 0, least = INFINITY, most = -INFINITY;
        for (size_t j = 0; j < groups; ++j) {
          all += total(j, s);
          mean += mixed([&](size_t i, size_t k) { return b[i * n + k]; }, j, s) / static_cast<double>(groups);
          least = std::min(least, b[j * n + s]);
          most = std::max(most, weight[j] * weight[j]);
        }
        const size_t i = g * n + s;
        da.push_back(v["rate"][0] * mixed([&](size_t j, size_t k) { return total(j, k) * weight[j]; }, g, s) -
                     v["speed"][s] * a[i] + mean * 0.2);
        db.push_back(v["source"][i] + std::exp(-a[i] / all) * weight[g] - std::max(a[i], least) +
                     most * std::cos(0.75) + 1);
      }
    }
    const std::vector<std::vector<double>> oracle = DerivativesOnHost(model, groups, stages, v);
    EXPECT_THAT(oracle[0], Pointwise(DoubleNear(1e-9), da));
    EXPECT_THAT(oracle[1], Pointwise(DoubleNear(1e-9), db));
    const auto g = static_cast<int64_t>(groups), s = static_cast<int64_t>(stages);
    for (const MemoryLayout layout : {MemoryLayout::kFlat, MemoryLayout::kStructured, MemoryLayout::kBlock}) {
      const StateVector states = MakeStates(device, model, layout, g, s).value();
      const StateVector derivatives = MakeStates(device, model, layout, g, s).value();
      const ParameterValues parameters = ParametersOn(device, model, v, g, s).value();
      ASSERT_EQ(FillStates(model, v, states), absl::OkStatus());
      BoundRightHandSide launch = rhs.Bind(device, states, derivatives, parameters).value();
      ASSERT_EQ(launch.Set("time", 0.75), absl::OkStatus());
      EXPECT_EQ(launch.Set("speed", 1), absl::NotFoundError("the model has no number 'speed'"));
      ASSERT_EQ(launch.Launch(stream), absl::OkStatus());
      ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
      EXPECT_THAT(derivatives.views[0].ToVector<double>().value(), Pointwise(DoubleNear(1e-9), da));
      EXPECT_THAT(derivatives.views[1].ToVector<double>().value(), Pointwise(DoubleNear(1e-9), db));
    }
  }
}

TEST(EvaluatorTest, IntegratesWithFourthOrder) {
  const Model model = ParseModel("state X, Y\nd X = Y\nd Y = -X\n").value();
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const RightHandSide rhs = RightHandSide::Compile(model).value();
  double errors[2];
  for (int i = 0; i < 2; ++i) {
    const StateVector states = MakeStates(device, model, MemoryLayout::kBlock, 1, 1).value();
    const double one = 1, zero = 0;
    ASSERT_EQ(states.views[0].CopyFrom(&one), absl::OkStatus());
    ASSERT_EQ(states.views[1].CopyFrom(&zero), absl::OkStatus());
    const int64_t steps = 50 << i;
    const Trajectory curve =
        Integrate(stream, model, rhs, MemoryLayout::kBlock, states, {}, 2.0 / static_cast<double>(steps), steps, steps)
            .value();
    errors[i] = std::abs(curve.totals[0].back() - std::cos(2.0));
    EXPECT_EQ(curve.times.back(), 2);
    EXPECT_THAT(CurvesAsSvg(model.states, curve), HasSubstr("<polyline"));
  }
  EXPECT_LT(errors[0], 1e-6);
  EXPECT_GT(errors[0] / errors[1], 14);  // 2^4, nearly.
  EXPECT_LT(errors[0] / errors[1], 18);
}

TEST(EvaluatorTest, MistakesAreShown) {
  const auto message = [](const std::string& text) { return std::string(ParseModel(text).status().message()); };
  EXPECT_EQ(message("state S\nnumber beta\nd S = -beat * S"),
            "model:3:8: unknown name 'beat'; did you mean 'beta'?\n  d S = -beat * S\n         ^");
  EXPECT_THAT(message("state S\nd S = sum_group(S)"), HasSubstr("model:2:7: unknown function 'sum_group'; did you mean "
                                                                "'sum_groups'?"));
  EXPECT_THAT(message("state S\nd S = pow(S)"), HasSubstr("model:2:7: pow takes 2 and was given 1"));
  EXPECT_THAT(message("state S\nmatrix M\nd S = M * S"),
              HasSubstr("a matrix may only be mixed with: mix(matrix, expression)"));
  EXPECT_THAT(message("state S\nmatrix M\nd S = mix(S, S)"), HasSubstr("mix(matrix, expression) wants a matrix here"));
  EXPECT_THAT(message("state S\nmatrix M\nd S = mix(1, S)"), HasSubstr("mix(matrix, expression) wants a matrix here"));
  EXPECT_THAT(message("state S, S"), HasSubstr("model:1:10: 'S' means something already"));
  EXPECT_THAT(message("state time"), HasSubstr("'time' means something already"));
  EXPECT_THAT(message("state 5"), HasSubstr("model:1:7: a name was expected"));
  EXPECT_THAT(message("state A B"), HasSubstr("model:1:9: ',' was expected"));
  EXPECT_THAT(message("state A,"), HasSubstr("a name was expected"));
  EXPECT_THAT(message("hello"), HasSubstr("'NAME = ...', 'd STATE = ...', or one of state"));
  EXPECT_THAT(message("state S\nd T = 1"), HasSubstr("model:2:3: the name of a state was expected"));
  EXPECT_THAT(message("state S\nd S 1"), HasSubstr("model:2:5: '=' was expected"));
  EXPECT_THAT(message("state S\nd S = 1\nd S = 2"), HasSubstr("this state has an equation already"));
  EXPECT_EQ(message("state S"), "model: state 'S' has no equation; add 'd S = ...'");
  EXPECT_EQ(message("# nothing"), "model: there is no state; begin with 'state NAME, ...'");
  EXPECT_THAT(message("state S\nd S = (S"), HasSubstr("')' was expected"));
  EXPECT_THAT(message("state S\nd S = S S"), HasSubstr("model:2:9: an operator was expected"));
  EXPECT_THAT(message("state S\nd S = max(S; S)"), HasSubstr("',' or ')' was expected"));
  EXPECT_THAT(message("state S\nd S = "), HasSubstr("the expression ends here"));
  EXPECT_THAT(message("state S\nd S = *"), HasSubstr("a number, a name or '(' was expected"));
  EXPECT_THAT(message("state S\nd S = ."), HasSubstr("this is no number"));
  EXPECT_THAT(message("state S\nd S = " + std::string(200, '(') + "S"), HasSubstr("the expression nests too deep"));
  EXPECT_THAT(message("state S\nd S = " + std::string(200, '-') + "S"), HasSubstr("the expression nests too deep"));

  const Device device = Device::Open("cpu").value();
  const Model model = ParseModel("state S\nnumber a\nstage b\nd S = a * b").value();
  const RightHandSide rhs = RightHandSide::Compile(model).value();
  EXPECT_FALSE(rhs.Uses("S"));
  const StateVector states = MakeStates(device, model, MemoryLayout::kFlat, 4, 2).value();
  ParameterValues parameters;
  const auto bind = [&] { return std::string(rhs.Bind(device, states, states, parameters).status().message()); };
  EXPECT_EQ(bind(), "parameter 'a' is missing; give a number");
  parameters.numbers["a"] = 1;
  EXPECT_EQ(bind(), "parameter 'b' is missing; give an array");
  parameters.arrays.emplace("b", AnyArray::Zeros(device, DType::kFloat64, {4}).value());
  EXPECT_EQ(bind(), "parameter 'b' is float64[4], and float64[stages] is wanted: [2]");
  const Stream stream = device.CreateStream().value();
  EXPECT_EQ(Integrate(stream, model, rhs, MemoryLayout::kFlat, states, parameters, 0.1, 0, 1).status(),
            absl::InvalidArgumentError("steps is 0 and keep is 1; give 1 or more"));
}

}  // namespace
}  // namespace slipway::evaluator
