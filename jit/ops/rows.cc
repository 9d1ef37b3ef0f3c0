#include "jit/ops/rows.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "driver/compile_history.h"
#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/expressions.h"
#include "jit/ops/formula.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/parser.h"

namespace slipway::elementwise {

using text::AxisReduction;
using text::Cat;
using text::Node;
using text::NodeKind;

namespace {

// The first operand of a reduction, if any, that hangs on the value of another one: through a name, or a branch.
const Node* FindTangled(const text::Program& program) {
  std::vector<bool> hangs(program.symbols.size(), false);  // On a reduction: by symbol.
  std::vector<bool> blocks;                                // Of those that are open: what they begin with does.
  bool statement = false, in_operand = false;              // So far, what is computed does.
  NodeKind last = NodeKind::kDrop;
  const auto is_assignment = [](NodeKind kind) {
    return kind == NodeKind::kAssign || kind == NodeKind::kDeclare || kind == NodeKind::kWrite;
  };
  for (const Node& node : program.nodes) {
    switch (node.kind) {
      case NodeKind::kReduceAxes:
        in_operand = true;
        break;
      case NodeKind::kReduceEnd:
        if (program.nodes[node.begin].kind != NodeKind::kReduceAxes) break;
        in_operand = false;
        statement = true;
        break;
      case NodeKind::kName:
        if (hangs[node.symbol] && in_operand) return &node;
        statement = statement || hangs[node.symbol];
        break;
      case NodeKind::kAssign:
      case NodeKind::kDeclare:
      case NodeKind::kWrite:
        // Several are given their values by one statement.
        hangs[node.symbol] =
            hangs[node.symbol] || statement || std::find(blocks.begin(), blocks.end(), true) != blocks.end();
        break;
      case NodeKind::kIfBegin:
      case NodeKind::kForBegin:
      case NodeKind::kWhileBody:
        blocks.push_back(statement);
        break;
      case NodeKind::kIfEnd:
      case NodeKind::kForEnd:
      case NodeKind::kWhileEnd:
        blocks.pop_back();
        break;
      default:
        break;
    }
    // A statement's sign is over with what comes next.
    if (node.kind >= NodeKind::kAssign && !is_assignment(node.kind)) statement = false;
    if (is_assignment(last) && !is_assignment(node.kind))
      statement = node.kind == NodeKind::kName && hangs[node.symbol];
    last = node.kind;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<ParsedRows> ParseRows(std::string_view text, const ElementwiseOptions& options, std::string_view what,
                                     Along along) {
  SLIPWAY_RETURN_IF_ERROR(CheckFormulaOptions(options));
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(text::Program program, text::Parse(AsText(text), options.signature, options.constants,
                                                              options.functions, along == Along::kElements));
  if (program.axis_reductions.empty()) {
    return absl::InvalidArgumentError(
        Cat(what, " wants a reduction over axes, such as sum(x), in its text; there is none in '",
            program.source.text().substr(0, 200), "'"));
  }
  const AxisReduction& first = program.axis_reductions[0];
  for (const AxisReduction& reduction : program.axis_reductions) {
    const auto wrong = [&](std::string_view message, std::string_view hint) {
      return program.source.ErrorAt(reduction.span, Cat(message, " in ", what), hint);
    };
    if (reduction.outer != AxisReduction::kNoReduction) {
      return wrong("a reduction stands in another one", "work the inner one out first, by a call of its own");
    }
    if (reduction.axes != first.axes) {
      return wrong("reductions go over different axes", "name the same ones in each");
    }
  }
  if (!IsShareable(program)) {
    return program.source.ErrorAt(
        first.span, Cat("not every element comes to a reduction in ", what),
        "reductions stand outside of branches, loops and functions, and before the first store: give them names first");
  }
  if (const Node* tangled = FindTangled(program); tangled != nullptr) {
    return program.source.ErrorAt(
        tangled->span, Cat("'", program.source.TextOf(tangled->span), "' hangs on another reduction, in ", what),
        "reductions that run together know nothing of each other: use two calls");
  }
  return ParsedRows{std::move(program), internal::MicrosecondsSince(begin)};
}

absl::Status CheckOffsets(const Arg& offsets) {
  const bool integer =
      offsets.dtype() == DType::kInt32 || offsets.dtype() == DType::kInt64 || offsets.dtype() == DType::kUInt32;
  if (offsets.is_scalar() || !integer || offsets.rank() != 1) {
    return absl::InvalidArgumentError(
        Cat("offsets: an array of rank 1 of int32, int64 or uint32 is wanted; ", Describe(offsets), " is given"));
  }
  if (offsets.shape()[0] < 1) {
    return absl::InvalidArgumentError(
        "offsets: there is none; of n segments n + 1 are wanted, the first for 0 segments");
  }
  return absl::OkStatus();
}

absl::Status CheckOffsetsOverlaps(const text::Program& program, const Arguments& arguments, const Arg& offsets) {
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    if (!MayOverlap(FootprintOf(*arguments.outputs[i]), FootprintOf(offsets))) continue;
    return absl::InvalidArgumentError(Cat("output '", program.outputs[i].name,
                                          "' overlaps the offsets, which are read while it is written; write into an ",
                                          "array of its own"));
  }
  return absl::OkStatus();
}

}  // namespace slipway::elementwise
