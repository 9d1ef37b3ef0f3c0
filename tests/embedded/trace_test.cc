// What embedded kernels record, without a device: types, variables, control flow, and every mistake's message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "slipway/embedded.h"
#include "slipway/promotion.h"

namespace slipway {
namespace {

using testing::HasSubstr;

// Types are known to the compiler.

template <class A, class B>
using Sum = decltype(std::declval<A>() + std::declval<B>());
static_assert(std::is_same_v<Sum<Expr<int8_t>, Expr<int8_t>>, Expr<int8_t>>);
static_assert(std::is_same_v<Sum<Var<int8_t>, Expr<uint8_t>>, Expr<int16_t>>);
static_assert(std::is_same_v<Sum<Expr<int32_t>, Var<float>>, Expr<float>>);
static_assert(std::is_same_v<Sum<Expr<float16>, Expr<bfloat16>>, Expr<float>>);
static_assert(std::is_same_v<Sum<Expr<bool>, Expr<bool>>, Expr<int32_t>>);
static_assert(std::is_same_v<Sum<Expr<float>, double>, Expr<float>>);
static_assert(std::is_same_v<Sum<int, Expr<uint8_t>>, Expr<uint8_t>>);
static_assert(std::is_same_v<Sum<Expr<int32_t>, double>, Expr<double>>);
static_assert(std::is_same_v<decltype(std::declval<Var<float>>() < 1), Expr<bool>>);
static_assert(std::is_same_v<decltype(sqrt(std::declval<Var<int32_t>>())), Expr<double>>);
static_assert(std::is_same_v<decltype(abs(std::declval<Var<int32_t>>())), Expr<int32_t>>);
static_assert(std::is_same_v<decltype(std::declval<Expr<int8_t>>() << std::declval<Expr<uint64_t>>()), Expr<int8_t>>);
static_assert(std::is_same_v<decltype(Var(std::declval<ElementRef<const float>>())), Var<float>>);

// What has no meaning does not compile.
template <class A, class B>
concept Adds = requires(const A& a, const B& b) {
  a + b;
};
template <class A, class B>
concept Remains = requires(const A& a, const B& b) {
  a % b;
};
template <class A, class B>
concept Assigns = requires(A a, const B& b) {
  a = b;
};
template <class A>
concept Complements = requires(const A& a) {
  ~a;
};
static_assert(!Adds<Expr<uint64_t>, Expr<int32_t>>);
static_assert(!Adds<Expr<float>, const char*>);
static_assert(!Remains<Expr<float>, Expr<float>>);
static_assert(!Complements<Expr<bool>>);
static_assert(Assigns<Var<float>, Expr<int32_t>> && Assigns<Var<float16>, Expr<double>> && Assigns<Var<float>, int>);
static_assert(!Assigns<Var<int32_t>, Expr<float>> && !Assigns<Var<int32_t>, double> && !Assigns<Var<bool>, Expr<int>>);
static_assert(!Assigns<Expr<float>, Expr<float>>);
static_assert(!Assigns<ElementRef<const float>, Expr<float>>);
static_assert(!Assigns<ElementRef<int32_t>, Expr<double>>);
static_assert(!Condition<Expr<int32_t>> && !IndexLike<Expr<float>>);

TEST(Trace, Saxpy) {
  auto kernel =
      MakeKernel("saxpy", {"y", "x", "a"}, [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Expr<float> a) {
        For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = a * x[i] + y[i]; });
      });
  ASSERT_TRUE(kernel.status().ok()) << kernel.status();
  EXPECT_EQ(kernel.name(), "saxpy");
  EXPECT_EQ(kernel.ir(), R"(kernel saxpy(y: float32[:], x: const float32[:], a: float32) {
  %0:f32 = scalar a
  %1:i64 = shape y.0
  %2:u32 = special block.x
  %3:i64 = cast %2
  %4:u32 = special block_dim.x
  %5:i64 = cast %4
  %6:u32 = special thread.x
  %7:i64 = cast %6
  %8:i64 = * %3, %5
  %9:i64 = + %8, %7
  %10:u32 = special grid_dim.x
  %11:i64 = cast %10
  %12:u32 = special block_dim.x
  %13:i64 = cast %12
  %14:i64 = * %11, %13
  for $0 in %9, %1, %14 {
    %15:i64 = read $0
    %16:f32 = load x[%15]
    %17:f32 = * %0, %16
    %18:f32 = load y[%15]
    %19:f32 = + %17, %18
    store y[%15] = %19
  }
}
)");
}

TEST(Trace, AssignmentWritesTheVariableAndCopiesAreVariablesOfTheirOwn) {
  auto kernel = MakeKernel("k", [](ArrayVar<int32_t, 0> y) {
    Var<int32_t> a = 1;
    Var<int32_t> b = a;  // A copy: assigning a does not change it.
    If(a < 5, [&] { a = 2; });
    y() = a + b;
  });
  EXPECT_EQ(kernel.ir(), R"(kernel k(arg0: int32[]) {
  write $0 = 1:i32
  %0:i32 = read $0
  write $1 = %0
  %1:i32 = read $0
  %2:bool = < %1, 5:i32
  if %2 {
    write $0 = 2:i32
  }
  %3:i32 = read $0
  %4:i32 = read $1
  %5:i32 = + %3, %4
  store arg0[] = %5
}
)");
}

TEST(Trace, TheFunctionRunsOnce) {
  int runs = 0;
  double factor = 0.5;
  auto kernel = MakeKernel("k", [&](ArrayVar<float, 0> y) {
    ++runs;
    y() = y() * Constant(factor);
  });
  factor = 3;
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(kernel.ir(), HasSubstr("0.5:f32"));
}

TEST(Trace, FunctionsAndPointersToThemWork) {
  struct Local {
    static void Kernel(ArrayVar<int8_t, 0> y) { y() = 1; }
  };
  EXPECT_TRUE(MakeKernel("k", &Local::Kernel).status().ok());
  auto lambda = [](ArrayVar<int8_t, 0> y) { y() = 2; };
  EXPECT_TRUE(MakeKernel("k", lambda).status().ok());
}

TEST(Trace, HelpersTakeExpressions) {
  auto square = [](Expr<float> v) { return v * v; };
  auto kernel =
      MakeKernel("k", [&](ArrayVar<float, 1> y, Var<float> a) { y[0] = square(a) + square(y[1]) + square(2); });
  EXPECT_TRUE(kernel.status().ok()) << kernel.status();
}

// Mistakes.

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(Mistakes, AValueLeavesItsBlock) {
  auto kernel = MakeKernel("k", [](ArrayVar<float, 1> y) {
    std::optional<Expr<float>> inside;
    If(y[0] > 0, [&] { inside.emplace(y[1]); });
    y[2] = *inside;
  });
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(kernel.status()), HasSubstr("is used outside of it; carry it out in a variable"));
  EXPECT_EQ(kernel.ir(), "");
}

TEST(Mistakes, AValueLeavesItsKernel) {
  std::optional<Expr<float>> value;
  std::optional<Var<float>> variable;
  auto first = MakeKernel("first", [&](ArrayVar<float, 1> y) {
    value.emplace(y[0]);
    variable.emplace(y[1]);
  });
  EXPECT_TRUE(first.status().ok());
  auto second = MakeKernel("second", [&](ArrayVar<float, 1> y) { y[0] = *value + 1; });
  EXPECT_EQ(MessageOf(second.status()),
            "kernel 'second': a Var, Expr or ArrayVar of another kernel is used; values belong to the kernel whose "
            "function made them");
  auto third = MakeKernel("third", [&](ArrayVar<float, 1> y) { *variable = y[0]; });
  EXPECT_THAT(MessageOf(third.status()), HasSubstr("of another kernel is used"));
}

TEST(Mistakes, OutsideOfAnyKernelNothingHappens) {
  std::optional<Var<float>> variable;
  auto kernel = MakeKernel("k", [&](ArrayVar<float, 1> y) { variable.emplace(y[0]); });
  *variable = *variable + 1;
  const Expr<float> constant = 2;
  If(constant > 1, [] {});
  For(Range(3), [](Expr<int64_t>) {});
  Return();
  auto other = MakeKernel("other", [&](ArrayVar<float, 1> y) { y[0] = constant; });
  EXPECT_EQ(MessageOf(other.status()),
            "kernel 'other': a Var that holds nothing is used: it was moved from, or made outside of any kernel");
}

TEST(Mistakes, AMovedFromVariableIsUsed) {
  auto kernel = MakeKernel("k", [](ArrayVar<float, 1> y) {
    Var<float> a = y[0];
    Var<float> b = std::move(a);
    y[1] = a + b;  // NOLINT(bugprone-use-after-move)
  });
  EXPECT_THAT(MessageOf(kernel.status()), HasSubstr("it was moved from"));
}

TEST(Mistakes, AKernelInsideAKernel) {
  absl::Status inner;
  auto outer = MakeKernel("outer", [&](ArrayVar<float, 1> y) {
    inner = MakeKernel("inner", [](ArrayVar<float, 1> x) { x[0] = 1; }).status();
    y[0] = 2;
  });
  EXPECT_EQ(inner.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      MessageOf(inner),
      "kernel 'inner' is made inside the function of kernel 'outer'; make it before, and launch the two one after "
      "the other");
  EXPECT_TRUE(outer.status().ok());  // It goes on as if nothing had happened.
  EXPECT_THAT(outer.ir(), HasSubstr("store arg0[0:i64] = 2.0:f32"));
}

TEST(Mistakes, ElseAwayFromItsIf) {
  auto kernel = MakeKernel("k", [](ArrayVar<float, 1> y) {
    Var<float> a = y[0];
    // The by-value capture computes a copy of `a` between the If and its Else.
    If(a > 0, [&] { y[1] = 1; }).Else([a, &y] { y[1] = a; });
  });
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(kernel.status()), HasSubstr("capture by reference"));
}

TEST(Mistakes, LiteralOutOfRange) {
  auto kernel = MakeKernel("k", [](ArrayVar<uint8_t, 1> y) { y[0] = y[1] + 300; });
  EXPECT_THAT(MessageOf(kernel.status()), HasSubstr("'+': literal 300 does not fit uint8"));
}

TEST(Mistakes, DimensionOutOfRange) {
  EXPECT_THAT(MessageOf(MakeKernel("k", [](ArrayVar<float, 2> y) { y(0, 0) = y.shape(2); }).status()),
              HasSubstr("dimension 2 of an array of rank 2"));
  EXPECT_THAT(MessageOf(MakeKernel("k", [](ArrayVar<float, 1> y) { y[ThreadIndex(3)] = 1; }).status()),
              HasSubstr("a grid has dimensions 0, 1 and 2, not 3"));
}

TEST(Mistakes, AtomicAddOnATypeThatHasNone) {
  auto kernel = MakeKernel("k", [](ArrayVar<complex64, 1> y) { AtomicAdd(y[0], y[1]); });
  EXPECT_THAT(MessageOf(kernel.status()), HasSubstr("it takes no complex numbers"));
}

TEST(Mistakes, ComplexArithmetic) {
  auto copy = MakeKernel("k", [](ArrayVar<complex64, 1> y) { y[0] = y[1]; });
  EXPECT_TRUE(copy.status().ok()) << copy.status();
  auto order = MakeKernel("k", [](ArrayVar<complex64, 1> y) {
    const AnyExpr z = y[1];
    If(z < y[2], [&] { y[0] = z; });
  });
  EXPECT_THAT(MessageOf(order.status()), HasSubstr("complex numbers have no order"));
}

TEST(Mistakes, KernelName) {
  EXPECT_THAT(MessageOf(MakeKernel("not a name", [](ArrayVar<float, 1>) {}).status()), HasSubstr("not an identifier"));
}

TEST(Mistakes, ParameterNames) {
  const auto status = [](std::initializer_list<const char*> names) {
    bool ran = false;
    auto kernel = MakeKernel("k", names, [&](ArrayVar<float, 1> y, Var<float> a) {
      ran = true;
      y[0] = a;
    });
    EXPECT_EQ(ran, kernel.status().ok());
    return kernel.status();
  };
  EXPECT_TRUE(status({"y", "a"}).ok());
  EXPECT_TRUE(status({}).ok());
  EXPECT_EQ(MessageOf(status({"y", "a", "n"})),
            "kernel 'k': the number of names (3) is not that of its parameters (2); name each, in order, or none");
  EXPECT_THAT(MessageOf(status({"y"})), HasSubstr("the number of names (1) is not that of its parameters (2)"));
  EXPECT_EQ(MessageOf(status({"y", "y"})), "kernel 'k': two parameters are called 'y'; give each its own name");
}

TEST(Mistakes, NestingTooDeep) {
  auto kernel = MakeKernel("k", [](ArrayVar<float, 1> y) {
    std::function<void(int)> nest = [&](int depth) {
      if (depth > 0) If(y[0] > 0, [&] { nest(depth - 1); });
    };
    nest(1000);
  });
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kResourceExhausted);
}

// The function may throw: the thread is as it was before.
TEST(Mistakes, AnExceptionLeavesTheThreadFree) {
  EXPECT_THROW(MakeKernel("k", [](ArrayVar<float, 1> y) { If(y[0] > 0, [] { throw std::runtime_error("no"); }); }),
               std::runtime_error);
  EXPECT_TRUE(MakeKernel("k", [](ArrayVar<float, 1> y) { y[0] = 1; }).status().ok());
}

TEST(Threads, EachTracesItsOwnKernel) {
  std::vector<std::thread> threads;
  std::vector<std::string> texts(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &texts] {
      for (int round = 0; round < 50; ++round) {
        auto kernel = MakeKernel(
            "k", [t](ArrayVar<int32_t, 1> y) { For(Range(10), [&](Var<int64_t> i) { y[i] = Constant(t); }); });
        texts[t] = kernel.ir();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 8; ++t) EXPECT_THAT(texts[t], HasSubstr("= " + std::to_string(t) + ":i32"));
}

}  // namespace
}  // namespace slipway
