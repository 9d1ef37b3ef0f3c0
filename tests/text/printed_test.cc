// Texts, printed as what their kernels compute and parsed again: they take the same arguments and give the same
// results.
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slipway/elementwise.h"
#include "slipway/signature.h"
#include "slipway/target.h"
#include "tests/fuzz/text.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using C64 = std::complex<float>;

// The kind of argument that a call is given.
ParamSpec KindOf(const std::string& name, const Arg& arg) {
  ParamSpec spec{.name = name, .kind = ParamKind::kScalar, .dtype = arg.dtype()};
  if (arg.is_scalar()) return spec;
  spec.kind = ParamKind::kArray;
  spec.rank = arg.rank();
  spec.layout = Layout::kContiguous;
  spec.index = IndexWidth::kIndex32;
  return spec;
}

absl::StatusOr<Elementwise> PrintedAgain(const Elementwise& text, const Signature& arguments,
                                         const ElementwiseOptions& options, std::string* shown) {
  const absl::StatusOr<KernelText> printed = text.TextFor(arguments);
  if (!printed.ok()) return printed.status();
  *shown = printed->signature + "\n" + printed->text;
  ElementwiseOptions again = options;
  again.signature = printed->signature;
  return Elementwise::Parse(printed->text, again);
}

class PrintedTest : public CpuTest {
 protected:
  template <class T>
  AnyArray Make(std::vector<int64_t> shape, std::vector<T> values) {
    return AnyArray::From(device_, kDTypeOf<T>, shape, values.data()).value();
  }
  // 0.25, -0.5, 0.75, ... and no two the same.
  template <class T>
  AnyArray Numbers(std::vector<int64_t> shape, double step = 0.25) {
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    std::vector<T> values;
    for (int64_t i = 1; i <= size; ++i) values.push_back(static_cast<T>((i % 2 == 0 ? -step : step) * double(i)));
    return Make<T>(std::move(shape), values);
  }

  std::string BytesOf(const AnyArray& array) {
    std::string bytes(static_cast<size_t>(array.size()) * SizeOf(array.dtype()), '\0');
    EXPECT_EQ(stream_.Synchronize(), absl::OkStatus());
    EXPECT_TRUE(bytes.empty() || array.CopyTo(bytes.data()).ok());
    return bytes;
  }

  void ExpectSame(const std::string& text, const std::string& signature, const std::vector<NamedArg>& inputs) {
    SCOPED_TRACE(text);
    ElementwiseOptions options{.signature = signature};
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text, options);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    Signature kinds;
    for (const NamedArg& input : inputs) kinds.push_back(KindOf(std::string(input.name), input.arg));
    std::string shown;
    const absl::StatusOr<Elementwise> again = PrintedAgain(*parsed, kinds, options, &shown);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << shown;
    SCOPED_TRACE(shown);
    EXPECT_EQ(again->inputs(), parsed->inputs());
    EXPECT_EQ(again->outputs(), parsed->outputs());
    const auto first = parsed->Evaluate(stream_, inputs), second = again->Evaluate(stream_, inputs);
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(second.ok()) << second.status();
    for (size_t i = 0; i < first->size(); ++i) {
      const AnyArray &one = (*first)[i], &other = (*second)[i];
      EXPECT_EQ(one.dtype(), other.dtype());
      EXPECT_EQ(std::vector<int64_t>(one.shape().begin(), one.shape().end()),
                std::vector<int64_t>(other.shape().begin(), other.shape().end()));
      EXPECT_EQ(BytesOf(one), BytesOf(other));
    }
  }
};

TEST_F(PrintedTest, ReductionsOverAxes) {
  const AnyArray x = Numbers<float>({4, 5}), row = Numbers<float>({5}), column = Numbers<float>({4, 1});
  const AnyArray n = Numbers<int32_t>({4, 5}, 3), cube = Numbers<double>({2, 4, 5});
  const AnyArray z = Make<C64>({4, 5}, std::vector<C64>(20, C64(0.5f, -2)));
  ExpectSame("y = sum(x)", "", {{"x", x}});
  ExpectSame("y = sum(x, axis=0)", "", {{"x", x}});
  ExpectSame("y = sum(x * w, axis=-1)", "", {{"x", x}, {"w", row}});  // Broadcast inside of the operand.
  ExpectSame("y = sum(x * w, axis=-1)", "", {{"x", x}, {"w", column}});
  ExpectSame("y = sum(x * w, axis=-1)", "", {{"x", x}, {"w", 2.5f}});
  ExpectSame("y = (x - mean(x, axis=-1, keepdims=true)) / max(x)", "", {{"x", x}});
  ExpectSame("y = min(x, axis=(0, 1), keepdims=true) + w", "", {{"x", x}, {"w", row}});
  ExpectSame("y = argmax(n, axis=1) + argmin(n)", "", {{"n", n}});
  ExpectSame("y = count(n > 0, axis=0); z = int64(any(n == 3, axis=0)) + int64(all(n < 100, axis=0))", "", {{"n", n}});
  ExpectSame("y = count(n < 1e30)", "", {{"n", n}});  // What is counted is a constant.
  ExpectSame("y = prod(z, axis=0) + mean(z)", "", {{"z", z}});
  ExpectSame("y = sum(x > 0 ? exp(x) : x * x, axis=0)", "", {{"x", x}});
  ExpectSame("y = sum((x - w) * (x - w), axis=1)", "", {{"x", x}, {"w", row}});
  ExpectSame("y = sum(cube * sum(cube, axis=0, keepdims=true), axis=(0, 2))", "", {{"cube", cube}});
  ExpectSame("y = sum(exp(sum(x, axis=1, keepdims=true)) > 1 ? x : 0.5)", "", {{"x", x}});
  ExpectSame("y = mean(z * mean(z, axis=0)) + real(mean(z, axis=1, keepdims=true))", "", {{"z", z}});
  ExpectSame("const c = pow(2.0, 0.5); y = sum(x * c, axis=0) + shape(x, 0) + size()", "", {{"x", x}});
  ExpectSame("y = x[1, 2] + sum(x, axis=0) + x", "", {{"x", x}});
  ExpectSame("def f(a) = sum(k in 0..3: a * k)\ny = sum(f(x), axis=0)", "", {{"x", x}});
  ExpectSame("def f(a) {\n  if a > 0 { return a }\n  return 0.5\n}\ny = sum(f(x), axis=0)", "", {{"x", x}});
  ExpectSame("def f(a) = a + sum(w)\ny = sum(f(x), axis=0)", "", {{"x", x}, {"w", row}});
  ExpectSame("def f(a) = a * w\ny = sum(f(x), axis=0) + w", "", {{"x", x}, {"w", row}});
  ExpectSame("def f(a) = mean(x) * a\ny = f(x) + f(w)", "", {{"x", x}, {"w", row}});
}

TEST_F(PrintedTest, WhatIsAskedOfArguments) {
  const AnyArray x = Numbers<float>({4, 5}), t = Numbers<double>({3});
  ExpectSame("y = x / x[0, 0] + shape(x, 0)", "", {{"x", x}});
  ExpectSame("y = x + rank(a) + size(t)", "", {{"x", x}, {"a", int32_t{1}}, {"t", t}});
  ExpectSame("y = x + index(0) * 10 + index(-1) + index() + shape(1) + rank()", "", {{"x", x}});
  ExpectSame("let unused = a; y = x", "", {{"a", 1.5f}, {"x", x}});
  ExpectSame("y = t[index(0) % 3] + x; let unused = w", "x: f32[], t: f64[:], w: f32[] -> y: f64[]",
             {{"x", x}, {"t", t}, {"w", x}});
}

TEST_F(PrintedTest, ComplexNumbers) {
  const AnyArray z = Make<C64>({3}, {{1, 2}, {-0.5f, 0}, {0, -3}}), x = Numbers<double>({3});
  ExpectSame("y = z * conj(z) + x / z - exp(z) + polar(1.5, x)", "", {{"z", z}, {"x", x}});
  ExpectSame("y = z == x ? z : complex(real(z), -0.0)", "", {{"z", z}, {"x", x}});
  ExpectSame("u = complex(1, 2); v = x", "x: f64[] -> u: c64[], v: c128[]", {{"x", x}});
}

TEST_F(PrintedTest, FunctionsThatReturnEarly) {
  const AnyArray x = Numbers<double>({6}), i = Numbers<int64_t>({6}, 1);
  ExpectSame("def f(a) {\n  if a < 0 { return -a }\n  return a\n}\ny = f(x) + f(i)", "", {{"x", x}, {"i", i}});
  ExpectSame(
      "def divmod(a, b) {\n  if b == 0 { return 0, a }\n  let q = floor_div(a, b)\n  return q, a - q * b\n}\n"
      "q, r = divmod(i, 3)",
      "", {{"i", i}});
  ExpectSame(
      "def inner(a) {\n  for k in 0..5 {\n    if k * 0.3 > a { return k }\n  }\n  return 9\n}\n"
      "def outer(a) {\n  while inner(a) < 4 {\n    return inner(a + 0.1)\n  }\n  return inner(-a)\n}\n"
      "var s = 0\nfor k in 0..3 { s += outer(x * k) }\ny = s + inner(x)",
      "", {{"x", x}});
  ExpectSame("def f(a) {\n  if a > 0 { return complex(a, 1.0) }\n  return complex(0.0, a)\n}\ny = f(x)", "",
             {{"x", x}});
}

TEST_F(PrintedTest, UpdatesByIndex) {
  const AnyArray at = Make<int32_t>({6}, {0, 1, 1, 3, 3, 3});
  const std::string text = "h[at] += 2; let old = atomic_max(m[at, 0], at); s[at] = at + 1";
  const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::vector<std::string> names = {"h", "m", "s"};
  const std::vector<std::vector<int64_t>> shapes = {{4}, {4, 2}, {4}};
  Signature kinds = {KindOf("at", at)};
  std::vector<AnyArray> first, second;
  for (size_t i = 0; i < names.size(); ++i) {
    for (auto* arrays : {&first, &second}) arrays->push_back(Make<int64_t>(shapes[i], std::vector<int64_t>(8, 1)));
    kinds.push_back(KindOf(names[i], first[i]));
  }
  std::string shown;
  const absl::StatusOr<Elementwise> again = PrintedAgain(*parsed, kinds, {}, &shown);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << shown;
  for (const auto& [formula, arrays] : {std::pair(*parsed, first), std::pair(*again, second)}) {
    ASSERT_EQ(formula.Into(stream_, {{"h", arrays[0]}, {"m", arrays[1]}, {"s", arrays[2]}, {"at", at}}),
              absl::OkStatus());
  }
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(BytesOf(first[i]), BytesOf(second[i])) << shown;
}

// The texts that fuzzing starts from, of every construct of the language, with arguments of several types and ranks:
// what can be compiled can be printed, and is soon the text of its own kernel.
TEST_F(PrintedTest, TextsOfTheCorpus) {
  const Target target = ParseTarget("sm_90").value();
  int printed_texts = 0;
  for (const auto& file : std::filesystem::directory_iterator(SLIPWAY_TEXT_CORPUS)) {
    std::ifstream in(file.path());
    std::stringstream content;
    content << in.rdbuf();
    const std::string input = content.str();
    const fuzz::TextInput split = fuzz::SplitInput(input);
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(split.text, split.signature);
    if (!parsed.ok()) continue;  // A text with a mistake.
    for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kFloat16, DType::kComplex128, DType::kBool}) {
      for (int rank : {0, 1, 2}) {  // 0: numbers.
        Signature kinds;
        for (const std::string& name : parsed->inputs()) {
          kinds.push_back({.name = name,
                           .kind = rank == 0 ? ParamKind::kScalar : ParamKind::kArray,
                           .dtype = dtype,
                           .rank = rank,
                           .layout = Layout::kStrided,
                           .index = IndexWidth::kIndex32});
        }
        SCOPED_TRACE(testing::Message() << file.path().filename() << " of " << Name(dtype) << " of rank " << rank);
        const absl::StatusOr<CompiledKernel> compiled = parsed->CompileFor(target, kinds);
        std::string shown, shown_again;
        const absl::StatusOr<Elementwise> again = PrintedAgain(*parsed, kinds, {}, &shown);
        if (!compiled.ok()) {
          EXPECT_EQ(again.status(), compiled.status());
          continue;
        }
        ++printed_texts;
        ASSERT_TRUE(again.ok()) << again.status() << "\n" << shown;
        const absl::StatusOr<Elementwise> third = PrintedAgain(*again, kinds, {}, &shown_again);
        ASSERT_TRUE(third.ok()) << third.status() << "\n" << shown << shown_again;
        const absl::StatusOr<CompiledKernel> two = again->CompileFor(target, kinds),
                                             three = third->CompileFor(target, kinds);
        ASSERT_TRUE(two.ok()) << two.status() << shown;
        ASSERT_TRUE(three.ok()) << three.status() << shown_again;
        EXPECT_EQ(two->inspection->ptx, three->inspection->ptx) << shown << shown_again;
      }
    }
  }
  EXPECT_GT(printed_texts, 20);
}

}  // namespace
}  // namespace slipway
