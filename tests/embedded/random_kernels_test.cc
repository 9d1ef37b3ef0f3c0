// Kernels of random, nested control flow, traced through the embedded C++ and run on the CPU device, against an
// interpreter on the host. The seeds are fixed; $SLIPWAY_TEST_ROUNDS asks for more of them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "slipway/slipway.h"

namespace slipway {
namespace {

using Random = std::mt19937_64;

constexpr int kThreads = 96;
constexpr int kVariables = 4;  // int64
constexpr int kInputs = 64;
constexpr int kMaxDepth = 4;

int64_t Between(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

// --- Programs

struct Term {
  enum Kind { kConstant, kVariable, kThread, kInput, kBinary, kSelect };
  Kind kind = kConstant;
  int64_t value = 0;  // A constant, or the index of a variable or of a binary operator.
  std::vector<Term> parts;
};

struct Statement {
  enum Kind { kAssign, kIf, kFor, kWhile, kStore, kReturn };
  Kind kind = kAssign;
  int variable = 0;         // Assigned, or given the loop's value.
  std::vector<Term> terms;  // The value; the condition (unequal to 0); begin, end and step; slot and value.
  std::vector<Statement> body, otherwise;
};

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  Term MakeTerm(int depth) {
    switch (Between(random_, depth == 0 ? 0 : -4, 5)) {
      case 0:
        return {Term::kConstant, kConstants[Between(random_, 0, std::size(kConstants) - 1)], {}};
      case 1:
      case 2:
        return {Term::kVariable, Between(random_, 0, kVariables - 1), {}};
      case 3:
        return {Term::kThread, 0, {}};
      case 4:
        return depth == 0 ? Term{Term::kThread, 0, {}} : Term{Term::kInput, 0, {MakeTerm(depth - 1)}};
      case 5:
        if (depth == 0) return {Term::kConstant, Between(random_, -9, 9), {}};
        return {Term::kSelect, 0, {MakeTerm(depth - 1), MakeTerm(depth - 1), MakeTerm(depth - 1)}};
      default:
        return {Term::kBinary, Between(random_, 0, 15), {MakeTerm(depth - 1), MakeTerm(depth - 1)}};
    }
  }

  std::vector<Statement> MakeBlock(int depth) {
    std::vector<Statement> block(static_cast<size_t>(Between(random_, depth == 0 ? 3 : 0, 4)));
    for (Statement& statement : block) statement = MakeStatement(depth);
    return block;
  }

 private:
  static constexpr int64_t kConstants[] = {0, 1, -1, 2, 7, 63, 64, INT64_MAX, INT64_MIN, 0x80000000, -256, 1000003};

  Statement MakeStatement(int depth) {
    const int64_t kind = Between(random_, 0, depth < kMaxDepth ? 9 : 4);
    const int variable = static_cast<int>(Between(random_, 0, kVariables - 1));
    if (kind <= 3) return {Statement::kAssign, variable, {MakeTerm(3)}, {}, {}};
    if (kind == 4) {
      if (depth > 1 && Between(random_, 0, 3) == 0) return {Statement::kReturn, 0, {}, {}, {}};
      return {Statement::kStore, 0, {MakeTerm(1), MakeTerm(2)}, {}, {}};
    }
    if (kind <= 6) {
      return {Statement::kIf,
              0,
              {MakeTerm(2)},
              MakeBlock(depth + 1),
              Between(random_, 0, 1) == 0 ? std::vector<Statement>() : MakeBlock(depth + 1)};
    }
    if (kind <= 8) {
      return {Statement::kFor, variable, {MakeTerm(1), MakeTerm(1), MakeTerm(0)}, MakeBlock(depth + 1), {}};
    }
    return {Statement::kWhile, 0, {MakeTerm(2)}, MakeBlock(depth + 1), {}};
  }

  Random& random_;
};

// --- On the host

constexpr int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

// docs/semantics.md: wrapping arithmetic, division that never traps, shifts past the width.
int64_t Compute(int64_t op, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool past = ub > 63;
  switch (op) {
    case 0:
      return Wrap(ua + ub);
    case 1:
      return Wrap(ua - ub);
    case 2:
      return Wrap(ua * ub);
    case 3:
      return b == 0 ? -1 : b == -1 ? Wrap(0 - ua) : a / b;
    case 4:
      return b == 0 ? -1 : b == -1 ? 0 : a % b;
    case 5:
      return a & b;
    case 6:
      return a | b;
    case 7:
      return a ^ b;
    case 8:
      return past ? 0 : Wrap(ua << ub);
    case 9:
      return a >> (past ? 63 : b);
    case 10:
      return a < b;
    case 11:
      return a == b;
    case 12:
      return std::min(a, b);
    case 13:
      return static_cast<int32_t>(Wrap(ua + ub));
    case 14: {
      const int64_t quotient = b == 0 ? -1 : b == -1 ? Wrap(0 - ua) : a / b;
      return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
    }
    default:
      return static_cast<uint8_t>(ua) / std::max<int64_t>(static_cast<uint8_t>(ub), 1);
  }
}

struct Thread {
  int64_t index = 0;
  const std::vector<int64_t>* inputs = nullptr;
  int64_t variables[kVariables] = {};
  std::vector<int64_t> out = std::vector<int64_t>(2 * kVariables);
  bool returned = false;

  int64_t Value(const Term& term) const {
    switch (term.kind) {
      case Term::kConstant:
        return term.value;
      case Term::kVariable:
        return variables[term.value];
      case Term::kThread:
        return index;
      case Term::kInput:
        return (*inputs)[Value(term.parts[0]) & (kInputs - 1)];
      case Term::kBinary:
        return Compute(term.value, Value(term.parts[0]), Value(term.parts[1]));
      case Term::kSelect:
        return Value(term.parts[0]) != 0 ? Value(term.parts[1]) : Value(term.parts[2]);
    }
    return 0;
  }

  void Run(const std::vector<Statement>& block) {
    for (const Statement& s : block) {
      if (returned) return;
      switch (s.kind) {
        case Statement::kAssign:
          variables[s.variable] = Value(s.terms[0]);
          break;
        case Statement::kStore:
          out[Value(s.terms[0]) & (kVariables - 1)] = Value(s.terms[1]);
          break;
        case Statement::kReturn:
          returned = true;
          return;
        case Statement::kIf:
          Run(Value(s.terms[0]) != 0 ? s.body : s.otherwise);
          break;
        case Statement::kFor: {
          // At most seven turns, in either direction.
          const int64_t begin = Value(s.terms[0]) & 15, end = Value(s.terms[1]) & 15;
          const int64_t step = (Value(s.terms[2]) & 7) - 3;
          if (step == 0) break;
          for (int64_t i = begin; !returned && (step > 0 ? i < end : i > end); i += step) {
            variables[s.variable] = Compute(7, variables[s.variable], i);
            Run(s.body);
          }
          break;
        }
        case Statement::kWhile:
          for (int64_t turns = 0; !returned && turns < 3 && Value(s.terms[0]) != 0; ++turns) Run(s.body);
          break;
      }
    }
  }
};

// --- As a kernel

class Tracer {
 public:
  Tracer(const ArrayVar<int64_t, 2>& out, const ArrayVar<const int64_t, 1>& inputs, const Expr<int64_t>& index)
      : out_(out), inputs_(inputs), index_(index) {}

  void Run(const std::vector<Statement>& block) {
    for (const Statement& s : block) {
      switch (s.kind) {
        case Statement::kAssign:
          variables_[s.variable] = Value(s.terms[0]);
          break;
        case Statement::kStore:
          out_(index_, Value(s.terms[0]) & (kVariables - 1)) = Value(s.terms[1]);
          break;
        case Statement::kReturn:
          Return();
          break;
        case Statement::kIf:
          if (s.otherwise.empty()) {
            If(Value(s.terms[0]) != 0, [&] { Run(s.body); });
          } else {
            If(Value(s.terms[0]) != 0, [&] { Run(s.body); }).Else([&] { Run(s.otherwise); });
          }
          break;
        case Statement::kFor: {
          const Expr<int64_t> begin = Value(s.terms[0]) & 15, end = Value(s.terms[1]) & 15;
          For(Range(begin, end, (Value(s.terms[2]) & 7) - 3), [&](Var<int64_t> i) {
            variables_[s.variable] ^= i;
            i = 1000;  // A copy: the loop does not see it.
            Run(s.body);
          });
          break;
        }
        case Statement::kWhile: {
          Var<int64_t> turns = 0;
          While([&] { return turns < 3 && Value(s.terms[0]) != 0; },
                [&] {
                  Run(s.body);
                  turns += 1;
                });
          break;
        }
      }
    }
  }

  void StoreVariables() {
    for (int v = 0; v < kVariables; ++v) out_(index_, kVariables + v) = variables_[v];
  }

 private:
  Expr<int64_t> Value(const Term& term) {
    switch (term.kind) {
      case Term::kConstant:
        return term.value;
      case Term::kVariable:
        return variables_[term.value];
      case Term::kThread:
        return index_;
      case Term::kInput:
        return inputs_[Value(term.parts[0]) & (kInputs - 1)];
      case Term::kSelect: {
        const Expr<int64_t> condition = Value(term.parts[0]), then = Value(term.parts[1]);
        return Select(condition != 0, then, Value(term.parts[2]));
      }
      case Term::kBinary: {
        const Expr<int64_t> a = Value(term.parts[0]), b = Value(term.parts[1]);
        switch (term.value) {
          case 0:
            return a + b;
          case 1:
            return a - b;
          case 2:
            return a * b;
          case 3:
            return a / b;
          case 4:
            return a % b;
          case 5:
            return a & b;
          case 6:
            return a | b;
          case 7:
            return a ^ b;
          case 8:
            return a << b;
          case 9:
            return a >> b;
          case 10:
            return Cast<int64_t>(a < b);
          case 11:
            return Cast<int64_t>(a == b);
          case 12:
            return min(a, b);
          case 13:
            return Cast<int64_t>(Cast<int32_t>(a) + Cast<int32_t>(b));
          case 14:
            return floor_div(a, b);
          default:
            return Cast<int64_t>(Cast<uint8_t>(a) / max(Cast<uint8_t>(b), 1));
        }
      }
    }
    return 0;
  }

  const ArrayVar<int64_t, 2>& out_;
  const ArrayVar<const int64_t, 1>& inputs_;
  const Expr<int64_t>& index_;
  Var<int64_t> variables_[kVariables];
};

class RandomKernels : public testing::TestWithParam<int> {};

TEST_P(RandomKernels, RunAsAnInterpreterDoes) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const char* const asked = std::getenv("SLIPWAY_TEST_ROUNDS");
  const int rounds = asked == nullptr ? 3 : std::atoi(asked);
  for (int round = 0; round < rounds; ++round) {
    Random random(static_cast<uint64_t>(GetParam() * 1000 + round));
    std::vector<int64_t> inputs(kInputs);
    for (int64_t& value : inputs) value = Wrap(random()) >> Between(random, 0, 63);
    const std::vector<Statement> program = Writer(random).MakeBlock(0);
    const auto kernel = MakeKernel("random", [&](ArrayVar<int64_t, 2> out, ArrayVar<const int64_t, 1> in) {
      const Expr<int64_t> index = GlobalIndex();
      If(index < out.shape(0), [&] {
        Tracer tracer(out, in, index);
        tracer.Run(program);
        tracer.StoreVariables();
      });
    });
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + kernel.ir());
    ASSERT_TRUE(kernel.status().ok()) << kernel.status();
    const auto out = Array<int64_t, 2>::Zeros(device, {kThreads, 2 * kVariables}).value();
    const auto in = Array<int64_t, 1>::From(device, inputs).value();
    const absl::Status launched = kernel(stream, ForSize(kThreads), out, in);
    ASSERT_TRUE(launched.ok()) << launched;
    ASSERT_TRUE(stream.Synchronize().ok());
    const std::vector<int64_t> got = out.ToVector().value();
    for (int t = 0; t < kThreads; ++t) {
      Thread thread{.index = t, .inputs = &inputs};
      thread.Run(program);
      for (int v = 0; v < kVariables && !thread.returned; ++v) thread.out[kVariables + v] = thread.variables[v];
      for (int v = 0; v < 2 * kVariables; ++v) {
        ASSERT_EQ(got[static_cast<size_t>(t * 2 * kVariables + v)], thread.out[static_cast<size_t>(v)])
            << "thread " << t << " word " << v;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKernels, testing::Range(0, 8));

}  // namespace
}  // namespace slipway
