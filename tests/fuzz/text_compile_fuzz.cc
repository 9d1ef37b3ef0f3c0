// From a text to PTX, whole: shapes, plans, kernel IR, which the verifier looks at, LLVM. Any text becomes kernels, or
// a refusal. They are launched on the recording driver, which runs nothing; what their arrays are is read off the
// text's own bytes.
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "driver/status_macros.h"
#include "jit/text/parser.h"
#include "slipway/elementwise.h"
#include "slipway/null_driver.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/text.h"

namespace slipway::fuzz {
namespace {

using text::Parameter;
using text::ShapeRule;

constexpr DType kDTypes[] = {DType::kFloat32, DType::kInt32,   DType::kFloat64, DType::kInt64,  DType::kBool,
                             DType::kUInt8,   DType::kFloat16, DType::kUInt64,  DType::kFloat32};

// Arguments that may fit: elementwise arrays are of a few shapes that broadcast, or numbers.
class Arguments {
 public:
  Arguments(const Device& device, std::string_view text) : device_(device) {
    for (char c : text) bits_ = (bits_ ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }

  absl::Status Add(const Parameter& parameter, bool is_output) {
    const DType dtype = TypeOf(parameter, is_output);
    const bool by_index = parameter.shape == ShapeRule::kGathered;
    const bool number = parameter.shape == ShapeRule::kScalar ||
                        (!is_output && parameter.shape == ShapeRule::kAny && !parameter.indexed && Take(4) == 0);
    if (number) {
      args_.push_back(NumberOf(dtype));
      return absl::OkStatus();
    }
    std::vector<int64_t> shape = {3, 4}, strides = {4, 1};
    if (by_index || parameter.rank != 0) {
      shape.assign(parameter.rank, 2);
      strides.assign(parameter.rank, 1);
      shape.back() = 4;
      if (shape.size() > 1) shape[shape.size() - 2] = 3;
      for (size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
    } else if (!is_output) {
      const uint64_t kind = Take(4);
      if (kind == 1) shape[1] = 1, strides[1] = 0;
      if (kind == 2) shape.erase(shape.begin()), strides.erase(strides.begin());
      if (kind == 3) strides = {1, -3};
    }
    address_ += 1 << 20;
    SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, AnyArrayView::Make(device_, dtype, reinterpret_cast<void*>(address_),
                                                                   shape, strides, !is_output));
    views_.push_back(view);  // Which the Arg points to.
    args_.push_back(Arg(views_.back()));
    return absl::OkStatus();
  }
  absl::Span<const Arg> args() const { return args_; }

 private:
  // Mostly a type that the text may be about: integers are what integers are called.
  DType TypeOf(const Parameter& parameter, bool is_output) {
    if (parameter.type == text::TypeRule::kFixed) return parameter.dtype;
    if (parameter.type == text::TypeRule::kGeneric) return DType::kFloat32;
    if (parameter.name.size() == 1 && parameter.name[0] >= 'h' && parameter.name[0] <= 'n') return DType::kInt32;
    return is_output || Take(4) != 0 ? DType::kFloat32 : kDTypes[Take(std::size(kDTypes))];
  }
  uint64_t Take(uint64_t count) {
    bits_ = bits_ * 6364136223846793005u + 1442695040888963407u;
    return (bits_ >> 33) % count;
  }
  static Arg NumberOf(DType dtype) {
    switch (dtype) {
      case DType::kInt32:
        return Arg(int32_t{2});
      case DType::kInt64:
        return Arg(int64_t{3});
      case DType::kFloat64:
        return Arg(2.5);
      case DType::kBool:
        return Arg(true);
      default:
        return Arg(1.5f);
    }
  }

  const Device& device_;
  uint64_t bits_ = 0xcbf29ce484222325u;
  uint64_t address_ = uint64_t{1} << 32;
  std::deque<AnyArrayView> views_;
  std::vector<Arg> args_;
};

// The kinds of the inputs, and of the outputs that are written by index.
Signature KindsOf(const text::Program& program, absl::Span<const Arg> args) {
  Signature kinds;
  const auto add = [&](const Parameter& parameter, const Arg& arg) {
    ParamSpec spec{.name = parameter.name, .kind = ParamKind::kScalar, .dtype = arg.dtype()};
    if (!arg.is_scalar()) {
      spec.kind = ParamKind::kArray;
      spec.rank = arg.rank();
      spec.index = IndexWidth::kIndex32;
    }
    kinds.push_back(std::move(spec));
  };
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (program.outputs[i].shape == ShapeRule::kGathered) add(program.outputs[i], args[i]);
  }
  for (size_t i = 0; i < program.inputs.size(); ++i) add(program.inputs[i], args[program.outputs.size() + i]);
  return kinds;
}

// What is printed of the kernel is a text, of which the same holds.
void CheckPrinted(const Elementwise& text, const Signature& kinds, int rounds) {
  const absl::StatusOr<KernelText> printed = text.TextFor(kinds);
  if (!printed.ok()) {
    SLIPWAY_FUZZ_CHECK(RefusesText(printed.status()) && !absl::IsUnimplemented(printed.status()),
                       printed.status().ToString());
    return;
  }
  const absl::StatusOr<Elementwise> again = Elementwise::Parse(printed->text, printed->signature);
  if (!again.ok()) {  // It may be too much of it, with functions put where they are called.
    SLIPWAY_FUZZ_CHECK(absl::StrContains(again.status().message(), "are allowed"),
                       again.status().ToString() + "\n" + printed->signature + "\n" + printed->text);
    return;
  }
  if (rounds > 1) CheckPrinted(*again, kinds, rounds - 1);
}

}  // namespace

void FuzzOne(std::string_view input) {
  // What the compiler takes long for is bounded by the language, but a fuzzer has no patience.
  constexpr size_t kMostBytes = 2048;
  if (input.size() > kMostBytes) return;
  const TextInput given = SplitInput(input);
  const absl::StatusOr<text::Program> program = text::Parse(given.text, given.signature);
  if (!program.ok()) return;  // text_parser_fuzz looks at those.
  static const Device device = [] {
    setenv("SLIPWAY_LAUNCH_WARNINGS", "off", /*overwrite=*/0);
    return Device::Open(RecordingDriver()).value();
  }();
  static const Stream stream = device.CreateStream().value();
  Arguments arguments(device, input);
  for (const Parameter& output : program->outputs) {
    if (!arguments.Add(output, /*is_output=*/true).ok()) return;
  }
  for (const Parameter& parameter : program->inputs) {
    if (!arguments.Add(parameter, /*is_output=*/false).ok()) return;
  }
  const absl::StatusOr<Elementwise> text = Elementwise::Parse(given.text, given.signature);
  SLIPWAY_FUZZ_CHECK(text.ok(), "parsed once, and refused then");
  const absl::Status status = text->IntoByPosition(stream, arguments.args());
  TakeRecordedLaunches();
  if (!status.ok()) SLIPWAY_FUZZ_CHECK(RefusesText(status) || absl::IsNotFound(status), status.ToString());
  if (status.ok()) CheckPrinted(*text, KindsOf(*program, arguments.args()), /*rounds=*/2);
  for (const ElementwiseVariant& variant : text->Inspect()) {
    SLIPWAY_FUZZ_CHECK(absl::StrContains(variant.inspection->ptx, ".entry"), "a kernel without an entry");
  }
}

const TokenMutator& Mutator() {
  static const TokenMutator mutator(TextVocabulary());
  return mutator;
}

}  // namespace slipway::fuzz
