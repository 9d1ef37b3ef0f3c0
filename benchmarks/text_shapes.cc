#include "benchmarks/text_shapes.h"

namespace slipway {
namespace {

std::string Number(size_t i) { return std::to_string(i); }

// Before, again and again, behind; with $ for the number of the time.
struct Shape {
  std::string_view name;
  std::string_view before, each, after;
  std::string_view end = "";  // As often as `each`, behind `after`.
  // Of a text that has one; where it ends with '$', what grows is the signature.
  std::string_view signature = "";
};

constexpr Shape kShapes[] = {
    {"formula", "z = x", " + 0.25 * max(x * 3, y) - (y > 1 ? y / 2.5e-3 : alpha_2)", ""},
    {"statements", "var s = 0.0\nvar n = 0\n", "s += 0.5 * x\nif s > 10 {\n  s -= x * 3; n += 1\n}\n", "z = s\n"},
    {"locals", "let v0 = x\n", "let v$ = x * $ + 0.5\n", "z = x\n"},
    {"functions", "", "def f$(a, b) = a * b + $\n", "z = f1(x, x)\n"},
    {"gathers", "z = 0.5", " + t[i + $; 0] * u[i, j]", ""},
    {"reductions", "z = 0", " + sum(k in 0..8: k * $)", ""},
    {"parentheses", "z = ", "(", "x", ")"},
    {"calls", "z = ", "abs(", "x", ")"},
    {"minima", "z = ", "min(", "x", ", 1)"},
    {"signs", "z = ", "- ", "x"},
    {"choices", "z = ", "x > $ ? x : ", "x"},
    {"blocks", "var s = 0\n", "if x > $ { s = 1 } else { s = 2 }\n", "z = s\n"},
    {"names", "z = 0", " + name_of_an_input_$", ""},
    {"mistakes", "", "z$ = )\n", ""},
    {"unknown", "z = x", "\nlet v$ = unknown$", "", "", "x: f32 -> z: f32[]"},
    {"open_brackets", "z = ", "t[(", ""},
    {"open_blocks", "", "if x {\n", ""},
    {"long_line", "z = x # ", "a comment without end ", ""},
    {"empty_lines", "z = x", " ;\n\n", ""},
    {"names_of_functions", "", "def g(a) = g$(a)\n", "z = g(x)\n"},
    {"parameters", "z = x", "p$: f32[], ", "", "", "x: f32[] -> z: f32[]$"},
};

void Append(std::string& out, std::string_view piece, size_t i) {
  for (char c : piece) {
    if (c == '$') {
      out += Number(i);
    } else {
      out += c;
    }
  }
}

}  // namespace

std::vector<std::string_view> TextShapes() {
  std::vector<std::string_view> names;
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  return names;
}

ShapedText MakeText(std::string_view name, size_t bytes) {
  ShapedText made;
  for (const Shape& shape : kShapes) {
    if (shape.name != name) continue;
    const bool in_signature = !shape.signature.empty() && shape.signature.back() == '$';
    made.text = shape.before;
    if (!in_signature) made.signature = shape.signature;
    std::string& grows = in_signature ? made.signature : made.text;
    size_t times = 0;
    while (grows.size() + times * shape.end.size() < bytes) Append(grows, shape.each, ++times);
    grows += shape.after;
    for (size_t i = 0; i < times; ++i) Append(grows, shape.end, i);
    if (in_signature) made.signature += shape.signature.substr(0, shape.signature.size() - 1);
  }
  return made;
}

}  // namespace slipway
