#include "tests/fuzz/text.h"

#include "jit/text/functions.h"

namespace slipway::fuzz {

TextInput SplitInput(std::string_view input) {
  constexpr std::string_view kMark = "\n---\n";
  const size_t mark = input.find(kMark);
  if (mark == std::string_view::npos) return {.text = input};
  return {.text = input.substr(mark + kMark.size()), .signature = input.substr(0, mark)};
}

Vocabulary TextVocabulary() {
  const absl::Span<const std::string_view> functions = text::FunctionNames();
  return {
      .groups =
          {
              {"let", "var", "const", "def", "if", "else", "for", "in", "step", "while", "break", "continue", "return"},
              {functions.begin(), functions.end()},
              {"clamp", "wrap", "reflect", "symmetric"},
              {"axis", "keepdims"},
              {"bool", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float16", "bfloat16", "float32",
               "float64", "f32", "i32_sat", "u32_bits", "float32_rz", "complex64"},
              {"+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "!", "~", "=", "?", ":", ".", ",", ";"},
              {"true", "false"},
              {"(", ")", "[", "]", "{", "}"},
              {"x", "y", "z", "t", "i", "k", "a", "b", "s", "f", "g"},
          },
      .snippets =
          {
              "let i = index(0);",
              "var s = 0;",
              "s += 1;",
              "s = s * x;",
              "if x > 0 { s = 1 } else if x < 0 { s = 2 } else { s = 3 };",
              "for k in 0..10 step 3 { s += k; if k > 5 { break } };",
              "while s < 9 { s += 2; continue };",
              "def f(a, b) = a * b + 1;",
              "def g(a, i) { if i < 0 { return 0 } return a[i; clamp] };",
              "def h(a) { var s = a; for k in 0..3 { s = s * a }; return s, a };",
              "let p, q = h(x);",
              "const c = 2 * 3.5;",
              "h[i] += x;",
              "z = sum(x, axis=0, keepdims=true);",
              "z = sum(k in 0..5: t[k] * k);",
              "z = x[index(0) - 1; 0];",
              "atomic_max(h[i], 3);",
              "x > 0 ? sin(x) : t[i; wrap]",
          },
      .numbers = {"0", "1", "2", "-1", "8", "255", "256", "0.5", "1e400", "1e-400", "0x1p-3", "0xffffffff",
                  "2147483648", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1..3"},
      .ends_statement = ";\n",
  };
}

bool RefusesText(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kResourceExhausted:
      return !status.message().empty();
    default:
      return false;
  }
}

}  // namespace slipway::fuzz
