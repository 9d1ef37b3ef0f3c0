// The parser of texts and signatures, and the inference of types: any text is a program whose parts point to what is
// there, or a refusal that says where.
#include <vector>

#include "jit/text/emit.h"
#include "jit/text/parser.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/text.h"

namespace slipway::fuzz {
namespace {

using text::Node;
using text::NodeKind;
using text::Program;

void CheckProgram(const Program& program) {
  for (const text::Symbol& symbol : program.symbols) {
    SLIPWAY_FUZZ_CHECK(!symbol.name.empty(), "a symbol without a name");
    SLIPWAY_FUZZ_CHECK(symbol.kind != text::SymbolKind::kBroken, "a broken name in a program without mistakes");
    if (symbol.kind == text::SymbolKind::kInput) SLIPWAY_FUZZ_CHECK(symbol.index < program.inputs.size(), symbol.name);
    if (symbol.kind == text::SymbolKind::kOutput)
      SLIPWAY_FUZZ_CHECK(symbol.index < program.outputs.size(), symbol.name);
  }
  for (const Node& node : program.nodes) {
    SLIPWAY_FUZZ_CHECK(node.span.offset + node.span.length <= program.source.text().size(), "a place past the text");
    SLIPWAY_FUZZ_CHECK(node.begin <= program.nodes.size() || node.kind == NodeKind::kBindArray, "a node past the last");
    const size_t symbols = node.kind == NodeKind::kCall          ? program.functions.size()
                           : node.kind == NodeKind::kElement     ? program.reduced.size()
                           : node.kind == NodeKind::kReduceAxes  ? program.axis_reductions.size()
                           : node.kind == NodeKind::kReduceBegin ? program.operations.size()
                                                                 : program.symbols.size();
    SLIPWAY_FUZZ_CHECK(node.symbol == 0 || node.symbol < symbols, "a symbol that is not there");
  }
  SLIPWAY_FUZZ_CHECK(!program.outputs.empty(), "a program without an output");
}

}  // namespace

void FuzzOne(std::string_view input) {
  const TextInput given = SplitInput(input);
  const TextConstant constants[] = {{"pi", 3.14159265358979}, {"limit", 10}, {"on", true}};
  const absl::StatusOr<Program> program = text::Parse(given.text, given.signature, constants);
  if (!program.ok()) {
    SLIPWAY_FUZZ_CHECK(RefusesText(program.status()), program.status().ToString());
    const absl::string_view message = program.status().message();
    SLIPWAY_FUZZ_CHECK(message.substr(0, 11) == "expression:" || message.substr(0, 10) == "signature:",
                       program.status().ToString());
    return;
  }
  CheckProgram(*program);
  const std::vector<DType> outputs(program->outputs.size(), DType::kInt32);
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool}) {
    const std::vector<DType> inputs(program->inputs.size(), dtype);
    const absl::StatusOr<text::Typing> typing = text::InferTypes(*program, inputs, outputs);
    if (!typing.ok()) SLIPWAY_FUZZ_CHECK(RefusesText(typing.status()), typing.status().ToString());
  }
}

const TokenMutator& Mutator() {
  static const TokenMutator mutator(TextVocabulary());
  return mutator;
}

}  // namespace slipway::fuzz
