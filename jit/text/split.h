// Texts whose reductions over axes are worked out by texts of their own: each reduction once, instead of once for every
// element that wants its value.
//
//   y = (x - mean(x, axis=-1, keepdims=true)) / max(abs(x))
//
// becomes  mean0 = mean(x, axis=-1, keepdims=true),  max1 = max(abs(x))  and  y = (x - mean0) / max1.
#ifndef SLIPWAY_JIT_TEXT_SPLIT_H_
#define SLIPWAY_JIT_TEXT_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/text/program.h"

namespace slipway::text {

struct Split {
  struct Part {
    Program program;
    // What each of its inputs is: an input of the whole text by its index, or, counted on from there, a result of an
    // earlier stage.
    std::vector<uint32_t> inputs;
  };
  // Each works out reductions over the same axes of the same arrays, one an output, inner ones before outer ones.
  std::vector<Part> stages;
  Part rest;  // Without reductions over axes.
  // With the last stage's in it, where only that stage's do not stand in others, and nothing is checked: a thread that
  // ends would leave the others of its block without its share.
  std::optional<Part> fused;
};

// None where there is nothing to split, or where an operand depends on the output that is computed: its extents, or a
// function that asks for its index or checks.
std::optional<Split> SplitReductions(const Program& program);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_SPLIT_H_
