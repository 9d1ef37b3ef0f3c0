#include "jit/text/split.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"

namespace slipway::text {
namespace {

constexpr uint32_t kNowhere = ~uint32_t{0};

struct Range {
  uint32_t begin = 0, end = 0;  // Nodes; the end is the one behind.
};

bool IsStatement(NodeKind kind) { return kind >= NodeKind::kAssign && kind != NodeKind::kBindArray; }

// Whether a node says where another one is (Node::begin).
bool PointsBack(const Node& node) {
  switch (node.kind) {
    case NodeKind::kReduceBegin:
    case NodeKind::kReduceAxes:
      return static_cast<Reduction>(node.detail) == Reduction::kCustom;
    case NodeKind::kChooseElse:
    case NodeKind::kChooseEnd:
    case NodeKind::kAndEnd:
    case NodeKind::kOrEnd:
    case NodeKind::kReduceEnd:
    case NodeKind::kFunction:
      return true;
    default:
      return false;
  }
}

// Of a reduction, where its identity begins, too.
uint32_t BeginOf(const Program& program, uint32_t index) {
  const Node& node = program.nodes[index];
  return static_cast<Reduction>(node.detail) == Reduction::kCustom ? node.begin : index;
}

bool AsksForOutput(const Node& node) {
  return node.kind == NodeKind::kQuery && static_cast<Query>(node.detail) < Query::kArrayExtent;
}

class Splitter {
 public:
  explicit Splitter(const Program& program) : program_(program), reductions_(program.axis_reductions.size()) {
    for (uint32_t i = 0; i < program.nodes.size(); ++i) {
      const Node& node = program.nodes[i];
      if (node.kind == NodeKind::kReduceAxes) reductions_[node.symbol].begin = BeginOf(program, i);
      if (node.kind == NodeKind::kReduceEnd && program.nodes[node.begin].kind == NodeKind::kReduceAxes) {
        reductions_[program.nodes[node.begin].symbol].end = i + 1;
      }
    }
  }

  std::optional<Split> Run() {
    if (reductions_.empty()) return std::nullopt;
    Split split;
    const std::vector<std::vector<uint32_t>> groups = Groups();
    results_.resize(reductions_.size());
    uint32_t results = 0;
    for (const std::vector<uint32_t>& group : groups) {
      for (uint32_t reduction : group) {
        results_[reduction] = results;
        results += At(reduction).parts;
      }
    }
    for (const std::vector<uint32_t>& group : groups) {
      std::optional<Split::Part> stage = Stage(group);
      if (!stage.has_value()) return std::nullopt;
      split.stages.push_back(*std::move(stage));
    }
    split.rest = Rest({});
    const std::vector<uint32_t>& last = groups.back();
    const auto in_last = [&](uint32_t r) { return std::find(last.begin(), last.end(), r) != last.end(); };
    bool alone = true;
    for (uint32_t r = 0; r < reductions_.size(); ++r) {
      if (program_.axis_reductions[r].outer == AxisReduction::kNoReduction) alone &= in_last(r);
    }
    if (alone && program_.checks.empty()) split.fused = Rest(last);
    return split;
  }

 private:
  // A part while its nodes are copied.
  struct Copy {
    Split::Part part;
    std::set<uint32_t> kept;      // Reductions that are in it,
    uint32_t open = kNowhere;     // and the one whose operand is being copied: its new number.
    std::vector<uint32_t> place;  // Of each node: where its copy is, or kNowhere.
  };

  const AxisReduction& At(uint32_t reduction) const { return program_.axis_reductions[reduction]; }

  // What a reduction goes over: the inputs in its operand, and the reductions.
  std::set<std::pair<bool, uint32_t>> ArraysOf(uint32_t reduction) const {
    std::set<std::pair<bool, uint32_t>> arrays;
    for (const ReducedArray& reduced : program_.reduced) {
      if (reduced.reduction == reduction) arrays.insert({false, reduced.input});
    }
    for (uint32_t r = 0; r < reductions_.size(); ++r) {
      if (At(r).outer == reduction) arrays.insert({true, r});
    }
    return arrays;
  }

  // Inner ones stand behind those that they stand in. Those that stand in none come last, and together where they can.
  std::vector<std::vector<uint32_t>> Groups() const {
    std::vector<std::vector<uint32_t>> groups;
    const auto depth = [&](uint32_t r) {
      int depth = 0;
      while (At(r).outer != AxisReduction::kNoReduction) r = At(r).outer, ++depth;
      return depth;
    };
    std::vector<uint32_t> order;
    for (uint32_t r = 0; r < reductions_.size(); ++r) order.push_back(r);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return depth(a) > depth(b); });
    for (uint32_t r : order) {
      const auto fits = [&](const std::vector<uint32_t>& group) {
        const uint32_t other = group[0];
        return depth(other) == depth(r) && At(other).axes == At(r).axes &&
               At(other).keep_dimensions == At(r).keep_dimensions && ArraysOf(other) == ArraysOf(r);
      };
      const auto group = std::find_if(groups.begin(), groups.end(), fits);
      if (group != groups.end()) {
        group->push_back(r);
      } else {
        groups.push_back({r});
      }
    }
    return groups;
  }

  Copy Begin(absl::Span<const uint32_t> kept) const {
    Copy copy;
    Program& program = copy.part.program;
    program.source = program_.source;
    program.signature = program_.signature;
    program.generics = program_.generics;
    program.symbols = program_.symbols;
    program.functions = program_.functions;
    program.externals = program_.externals;
    program.operations = program_.operations;
    program.checks = program_.checks;
    copy.kept.insert(kept.begin(), kept.end());
    copy.place.resize(program_.nodes.size(), kNowhere);
    return copy;
  }

  // The number that an input of the whole text, or a stage's result, has in the part.
  uint32_t InputOf(Copy& copy, uint32_t source) const {
    auto& inputs = copy.part.inputs;
    const auto at = std::find(inputs.begin(), inputs.end(), source);
    if (at != inputs.end()) return static_cast<uint32_t>(at - inputs.begin());
    inputs.push_back(source);
    Program& program = copy.part.program;
    const auto whole = static_cast<uint32_t>(program_.inputs.size());
    if (source < whole) {
      Parameter input = program_.inputs[source];
      input.plain = input.indexed = input.asked = input.reduced = false;
      program.inputs.push_back(input);
    } else {
      const uint32_t reduction = ReductionOf(source - whole);
      program.inputs.push_back(
          {.name = NameOf(reduction, source - whole - results_[reduction]), .span = At(reduction).span, .used = true});
    }
    return static_cast<uint32_t>(inputs.size()) - 1;
  }
  uint32_t ReductionOf(uint32_t result) const {
    uint32_t r = 0;
    while (result < results_[r] || result >= results_[r] + At(r).parts) ++r;
    return r;
  }
  // A name that nothing in the text has, for one of a reduction's results.
  std::string NameOf(uint32_t reduction, uint32_t part) const {
    std::string name = Cat(Name(At(reduction).reduction), reduction);
    if (part != 0) name = Cat(name, "_", part);
    const auto taken = [&](const Symbol& symbol) { return symbol.name == name; };
    while (std::any_of(program_.symbols.begin(), program_.symbols.end(), taken)) name += "_";
    return name;
  }

  // The symbol of an input of the part.
  uint32_t SymbolOf(Copy& copy, uint32_t source) const {
    Program& program = copy.part.program;
    const uint32_t input = InputOf(copy, source);
    for (uint32_t s = 0; s < program.symbols.size(); ++s) {
      if (program.symbols[s].kind == SymbolKind::kInput && program.symbols[s].name == program.inputs[input].name) {
        program.symbols[s].index = input;
        return s;
      }
    }
    program.symbols.push_back({.name = program.inputs[input].name,
                               .kind = SymbolKind::kInput,
                               .index = input,
                               .span = program.inputs[input].span});
    return static_cast<uint32_t>(program.symbols.size()) - 1;
  }

  // The reduction over axes, if any, that the node begins.
  uint32_t BeginningAt(uint32_t node) const {
    const auto found = std::find_if(reductions_.begin(), reductions_.end(), [&](Range r) { return r.begin == node; });
    return found == reductions_.end() ? kNowhere : static_cast<uint32_t>(found - reductions_.begin());
  }

  void Use(Copy& copy, uint32_t symbol, bool plain, bool indexed, bool asked) const {
    if (program_.symbols[symbol].kind != SymbolKind::kInput) return;
    const uint32_t source = program_.symbols[symbol].index;
    Parameter& input = copy.part.program.inputs[copy.part.program.symbols[SymbolOf(copy, source)].index];
    input.plain |= plain;
    input.indexed |= indexed;
    input.asked |= asked;
  }

  // An input, or a stage's result, as an array in the operand that is open.
  void AddElement(Copy& copy, uint32_t source, Span span) const {
    Program& program = copy.part.program;
    const uint32_t input = InputOf(copy, source);
    program.inputs[input].reduced = true;
    uint32_t at = 0;
    while (at < program.reduced.size() &&
           (program.reduced[at].input != input || program.reduced[at].reduction != copy.open)) {
      ++at;
    }
    if (at == program.reduced.size()) program.reduced.push_back({.input = input, .reduction = copy.open});
    Add(copy, {.kind = NodeKind::kElement, .symbol = at, .span = span});
  }

  static Node& Add(Copy& copy, const Node& node) {
    copy.part.program.nodes.push_back(node);
    return copy.part.program.nodes.back();
  }

  void Nodes(Copy& copy, Range range) const {
    Program& program = copy.part.program;
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const Node& node = program_.nodes[i];
      if (const uint32_t reduction = BeginningAt(i); reduction != kNowhere && copy.kept.count(reduction) == 0) {
        for (uint32_t part = 0; part < At(reduction).parts; ++part) {
          const auto source = static_cast<uint32_t>(program_.inputs.size()) + results_[reduction] + part;
          if (copy.open != kNowhere) {
            AddElement(copy, source, At(reduction).span);
            continue;
          }
          const uint32_t symbol = SymbolOf(copy, source);
          program.inputs[program.symbols[symbol].index].plain = true;
          Add(copy, {.kind = NodeKind::kName, .symbol = symbol, .span = At(reduction).span});
        }
        i = reductions_[reduction].end - 1;
        continue;
      }
      copy.place[i] = static_cast<uint32_t>(program.nodes.size());
      if (node.kind == NodeKind::kElement) {
        AddElement(copy, program_.reduced[node.symbol].input, node.span);
        continue;
      }
      Node& added = Add(copy, node);
      switch (node.kind) {
        case NodeKind::kName:
          Use(copy, node.symbol, /*plain=*/true, false, false);
          break;
        case NodeKind::kGather:
          Use(copy, node.symbol, false, /*indexed=*/true, false);
          break;
        case NodeKind::kBindArray: {
          const Symbol& symbol = program_.symbols[node.begin];
          if (symbol.kind != SymbolKind::kInput) break;
          const Parameter& input = program_.inputs[symbol.index];
          Use(copy, node.begin, false, input.indexed, input.asked);
          break;
        }
        case NodeKind::kQuery: {
          const auto query = static_cast<Query>(node.detail);
          if (query >= Query::kArrayExtent) Use(copy, node.symbol, false, false, /*asked=*/true);
          program.wants_number |= query == Query::kNumber;
          program.wants_indices |= query == Query::kIndex || query == Query::kRank;
          program.wants_extents |= query == Query::kExtent;
          break;
        }
        case NodeKind::kCheck:
          program.wants_number = true;
          break;
        case NodeKind::kReduceAxes:
          copy.open = added.symbol = static_cast<uint32_t>(program.axis_reductions.size());
          program.axis_reductions.push_back(At(node.symbol));
          program.axis_reductions.back().outer = AxisReduction::kNoReduction;
          break;
        case NodeKind::kReduceEnd:
          if (program_.nodes[node.begin].kind == NodeKind::kReduceAxes) copy.open = kNowhere;
          break;
        default:
          break;
      }
    }
  }

  // Puts right what nodes say of other nodes, and of inputs.
  Split::Part Finish(Copy copy) const {
    Program& program = copy.part.program;
    for (uint32_t i = 0; i < copy.place.size(); ++i) {
      if (copy.place[i] == kNowhere || !PointsBack(program_.nodes[i])) continue;
      Node& node = program.nodes[copy.place[i]];
      // A kFunction points behind its kFunctionEnd.
      node.begin = node.kind == NodeKind::kFunction ? copy.place[node.begin - 1] + 1 : copy.place[node.begin];
    }
    for (Function& function : program.functions) function.begin = copy.place[function.begin];
    for (uint32_t query : program_.queries) {
      if (copy.place[query] != kNowhere) program.queries.push_back(copy.place[query]);
    }
    for (Parameter& input : program.inputs) {
      const bool only_indexed = input.indexed && !input.plain && !input.reduced;
      if (input.shape == ShapeRule::kAny && only_indexed) input.shape = ShapeRule::kGathered;
      input.folded &= input.indexed;
    }
    return std::move(copy.part);
  }

  Split::Part Rest(absl::Span<const uint32_t> kept) const {
    Copy copy = Begin(kept);
    copy.part.program.outputs = program_.outputs;
    // Inputs that only the loop's shape comes from are inputs still.
    Nodes(copy, {0, static_cast<uint32_t>(program_.nodes.size())});
    return Finish(std::move(copy));
  }

  // The reductions of a group, and what their operands use: constants and functions.
  std::optional<Split::Part> Stage(const std::vector<uint32_t>& group) const {
    std::set<uint32_t> functions, constants;
    std::vector<Range> definitions, todo;
    for (uint32_t r : group) todo.push_back(reductions_[r]);
    for (size_t t = 0; t < todo.size(); ++t) {
      const Range range = todo[t];
      for (uint32_t i = range.begin; i < range.end; ++i) {
        const Node& node = program_.nodes[i];
        // Of a function that is called in an operand: its reductions would stand in others, its checks name elements.
        if (AsksForOutput(node) || node.kind == NodeKind::kCheck ||
            (node.kind == NodeKind::kReduceAxes && t >= group.size()))
          return std::nullopt;
        const std::optional<uint32_t> function = CalledBy(node);
        if (function.has_value() && functions.insert(*function).second) {
          const uint32_t begin = program_.functions[*function].begin;
          todo.push_back({begin, program_.nodes[begin].begin});
          definitions.push_back(todo.back());
        }
        if (node.kind != NodeKind::kName || program_.symbols[node.symbol].kind != SymbolKind::kLocal ||
            !program_.symbols[node.symbol].constant || !constants.insert(node.symbol).second) {
          continue;
        }
        const std::optional<Range> definition = DefinitionOf(node.symbol);
        if (!definition.has_value()) return std::nullopt;
        // One within a function that is copied is copied with it.
        if (program_.symbols[node.symbol].function != 0) continue;
        todo.push_back(*definition);
        definitions.push_back(*definition);
      }
    }
    std::sort(definitions.begin(), definitions.end(), [](Range a, Range b) { return a.begin < b.begin; });
    Copy copy = Begin(group);
    for (const Range& definition : definitions) Nodes(copy, definition);
    Program& program = copy.part.program;
    for (uint32_t r : group) {
      Nodes(copy, reductions_[r]);
      const auto symbol = static_cast<uint32_t>(program.symbols.size());
      for (uint32_t part = 0; part < At(r).parts; ++part) {
        const std::string name = NameOf(r, part);
        const auto output = static_cast<uint32_t>(program.outputs.size());
        program.outputs.push_back({.name = name, .shape = ShapeRule::kElementwise, .span = At(r).span, .used = true});
        program.symbols.push_back({.name = name, .kind = SymbolKind::kOutput, .index = output, .span = At(r).span});
      }
      for (uint32_t part = At(r).parts; part-- > 0;) {  // The last result lies on top.
        Add(copy, {.kind = NodeKind::kAssign, .symbol = symbol + part, .span = At(r).span});
      }
    }
    return Finish(std::move(copy));
  }

  // The function of the text that a node has called, itself or where states are merged.
  std::optional<uint32_t> CalledBy(const Node& node) const {
    if (node.kind == NodeKind::kCall) return node.symbol;
    const bool reduces = node.kind == NodeKind::kReduceBegin || node.kind == NodeKind::kReduceAxes;
    if (!reduces || static_cast<Reduction>(node.detail) != Reduction::kCustom) return std::nullopt;
    const uint32_t at = node.kind == NodeKind::kReduceAxes ? At(node.symbol).operation : node.symbol;
    const Operation& operation = program_.operations[at];
    return operation.external ? std::nullopt : std::optional<uint32_t>(operation.function);
  }

  // The statement that gives a constant its value; none where it gives several theirs.
  std::optional<Range> DefinitionOf(uint32_t symbol) const {
    for (uint32_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if ((node.kind != NodeKind::kAssign && node.kind != NodeKind::kDeclare) || node.symbol != symbol) continue;
      uint32_t begin = i;
      while (begin > 0 && !IsStatement(program_.nodes[begin - 1].kind)) --begin;
      const bool several =
          i + 1 < program_.nodes.size() && IsStatement(program_.nodes[i + 1].kind) &&
          (program_.nodes[i + 1].kind == NodeKind::kAssign || program_.nodes[i + 1].kind == NodeKind::kDeclare);
      if (begin == i || several) return std::nullopt;
      return Range{begin, i + 1};
    }
    return std::nullopt;
  }

  const Program& program_;
  std::vector<Range> reductions_;  // Where each is.
  std::vector<uint32_t> results_;  // Of each: its number among the stages' results.
};

}  // namespace

std::optional<Split> SplitReductions(const Program& program) { return Splitter(program).Run(); }

}  // namespace slipway::text
