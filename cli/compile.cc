// slipway compile: what a formula becomes, for architectures that need not be here.
#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "slipway/compile_options.h"
#include "slipway/elementwise.h"
#include "slipway/machine_code.h"
#include "slipway/target.h"

namespace slipway::cli {
namespace {

struct Options {
  std::string text, signature, types, arch = "sm_90", emit = "ptx", output, fast_math, math = "auto",
                                      name = "elementwise";
  int opt_level = 3, index = 32, rank = 0;
  uint32_t max_registers = 0;
  bool no_contract = false, line_info = false;
};

// "a:f32" is a number, "x:f32[]" an array.
absl::StatusOr<Signature> ParseTypes(const Options& options) {
  Signature arguments;
  if (options.types.empty()) return arguments;
  for (const absl::string_view item : absl::StrSplit(options.types, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(item, ':');
    std::string type = parts.size() == 2 ? std::string(absl::StripAsciiWhitespace(parts[1])) : "";
    ParamSpec argument = {.name = std::string(absl::StripAsciiWhitespace(parts[0])), .kind = ParamKind::kScalar};
    if (type.size() > 2 && type.compare(type.size() - 2, 2, "[]") == 0) {
      type.resize(type.size() - 2);
      argument.kind = ParamKind::kArray;
      argument.layout = options.rank == 0 ? Layout::kContiguous : Layout::kStrided;
      argument.rank = std::max(options.rank, 1);
      argument.index = options.index == 32 ? IndexWidth::kIndex32 : IndexWidth::kIndex64;
    }
    argument.dtype = DTypeFromName(type);
    if (argument.name.empty() || argument.dtype == DType::kVoid) {
      return absl::InvalidArgumentError(
          absl::StrCat("--types: '", item,
                       "' is not NAME:DTYPE, which is a number, or NAME:DTYPE[], which is an array; a dtype is "
                       "bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128, or its long name"));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// What --emit can ask for of a compiled kernel.
struct Emission {
  const char* name;
  const char* what;
  enum { kThere, kText, kAssembled } from;  // What has to be made for it.
  std::string (*make)(const CompiledKernel& compiled, const KernelText* text, const MachineCode* code);
};

std::string Times(const CompiledKernel& compiled, const KernelText*, const MachineCode*) {
  std::string out;
  double total = 0;
  for (const auto& [stage, microseconds] : compiled.inspection->times) {
    absl::StrAppendFormat(&out, "%-16s %9.1f us\n", stage, microseconds);
    total += microseconds;
  }
  absl::StrAppendFormat(&out, "%-16s %9.1f us\n", "total", total);
  return out;
}

std::string Resources(const CompiledKernel&, const KernelText*, const MachineCode* code) {
  const KernelResources& r = code->resources;
  return absl::StrFormat(
      "registers %d, instructions %d, shared %d bytes, local %d bytes, constants %d bytes, spilled %d bytes stored and "
      "%d loaded\n",
      r.registers, code->instructions, r.shared_bytes, r.local_bytes, r.constant_bytes, r.spill_store_bytes.value_or(0),
      r.spill_load_bytes.value_or(0));
}

using C = const CompiledKernel&;
using T = const KernelText*;
using M = const MachineCode*;
constexpr Emission kEmissions[] = {
    {"text", "the kernel back as a formula, an operation a line", Emission::kText,
     [](C, T text, M) { return absl::StrCat("# ", text->signature, "\n", text->text); }},
    {"ir", "kernel IR", Emission::kThere, [](C kernel, T, M) { return kernel.inspection->ir; }},
    {"llvm", "LLVM IR, optimised", Emission::kThere, [](C kernel, T, M) { return kernel.inspection->llvm; }},
    {"ptx", "PTX, as a driver is given it", Emission::kThere, [](C kernel, T, M) { return kernel.inspection->ptx; }},
    {"signature", "the kernel's parameters", Emission::kThere,
     [](C kernel, T, M) { return Describe(kernel.signature) + "\n"; }},
    {"times", "microseconds by stage", Emission::kThere, Times},
    {"resources", "registers, memory and instructions (needs ptxas)", Emission::kAssembled, Resources},
    {"sass", "machine code as text (needs ptxas, and nvdisasm or cuobjdump)", Emission::kAssembled,
     [](C, T, M code) { return code->sass; }},
    {"cubin", "machine code as it is (needs ptxas; give --output)", Emission::kAssembled,
     [](C, T, M code) { return code->cubin; }},
};

absl::StatusOr<std::vector<const Emission*>> ParseEmit(const std::string& names) {
  std::vector<const Emission*> chosen;
  for (const absl::string_view name : absl::StrSplit(names, ',', absl::SkipEmpty())) {
    const auto* const found =
        std::find_if(std::begin(kEmissions), std::end(kEmissions), [&](const Emission& e) { return name == e.name; });
    if (found == std::end(kEmissions)) {
      const auto append = [](std::string* out, const Emission& e) { *out += e.name; };
      return absl::InvalidArgumentError(
          absl::StrCat("--emit has no '", name, "'; it has ", absl::StrJoin(kEmissions, ", ", append)));
    }
    chosen.push_back(found);
  }
  if (chosen.empty()) return absl::InvalidArgumentError("--emit names nothing; ptx is what is printed without it");
  return chosen;
}

absl::StatusOr<CompileOptions> ParseOptions(const Options& given) {
  CompileOptions options{.opt_level = given.opt_level,
                         .contract = !given.no_contract,
                         .max_registers = given.max_registers,
                         .line_info = given.line_info};
  absl::StatusOr<FastMath> fast = ParseFastMath(given.fast_math);
  if (!fast.ok()) return std::move(fast).status();
  options.fast_math = *fast;
  options.math = given.math == "libdevice" ? MathLibrary::kLibdevice
                 : given.math == "libclc"  ? MathLibrary::kLibclc
                                           : MathLibrary::kAuto;
  return options;
}

absl::StatusOr<std::string> Run(const Options& options) {
  absl::StatusOr<std::vector<const Emission*>> emissions = ParseEmit(options.emit);
  if (!emissions.ok()) return std::move(emissions).status();
  absl::StatusOr<std::vector<Target>> targets = ParseTargets(options.arch);
  if (!targets.ok()) return std::move(targets).status();
  absl::StatusOr<CompileOptions> compile_options = ParseOptions(options);
  if (!compile_options.ok()) return std::move(compile_options).status();
  absl::StatusOr<std::string> text = TextOrFile(options.text);
  if (!text.ok()) return std::move(text).status();
  absl::StatusOr<Elementwise> formula = Elementwise::Parse(*text, options.signature, options.name, *compile_options);
  if (!formula.ok()) return std::move(formula).status();
  absl::StatusOr<Signature> arguments = ParseTypes(options);
  if (!arguments.ok()) return std::move(arguments).status();

  std::string out;
  const bool several = targets->size() * emissions->size() > 1;
  for (const Target& target : *targets) {
    absl::StatusOr<CompiledKernel> compiled = formula->CompileFor(target, *arguments);
    if (!compiled.ok()) return std::move(compiled).status();
    std::optional<KernelText> text_of_it;
    std::optional<MachineCode> code;
    for (const Emission* emission : *emissions) {
      if (emission->from == Emission::kText && !text_of_it.has_value()) {
        absl::StatusOr<KernelText> printed = formula->TextFor(*arguments);
        if (!printed.ok()) return std::move(printed).status();
        text_of_it = *std::move(printed);
      }
      if (emission->from == Emission::kAssembled && !code.has_value()) {
        absl::StatusOr<MachineCode> made = Assemble(compiled->inspection->ptx, compiled->name, target.sm);
        if (!made.ok()) return std::move(made).status();
        code = *std::move(made);
      }
      const std::string piece = emission->make(*compiled, text_of_it.has_value() ? &*text_of_it : nullptr,
                                               code.has_value() ? &*code : nullptr);
      if (piece.empty()) {
        return absl::NotFoundError(
            absl::StrCat("there is no ", emission->name,
                         ": neither nvdisasm nor cuobjdump was found; install the CUDA toolkit's "
                         "binary utilities, or set NVDISASM to the path of one"));
      }
      if (several) absl::StrAppend(&out, "// ", emission->name, " for ", ToString(target), "\n");
      out += piece;
    }
  }
  if (options.output.empty()) return out;
  std::ofstream file(options.output, std::ios::binary);
  file.write(out.data(), static_cast<std::streamsize>(out.size()));
  if (!file.flush().good()) return absl::InternalError(absl::StrCat("file '", options.output, "' cannot be written"));
  return std::string();
}

}  // namespace

void AddCompile(CLI::App& app, Command* chosen) {
  CLI::App* const command = app.add_subcommand("compile", "Compile a formula, and print what it becomes");
  const auto options = std::make_shared<Options>();
  command->option_defaults()->always_capture_default();
  std::string emit = "What to print, with commas between:";
  for (const Emission& emission : kEmissions) absl::StrAppend(&emit, "\n    ", emission.name, ": ", emission.what);
  command->add_option("text", options->text, "The formula, or @FILE to read it from")->required();
  command->add_option("--types", options->types,
                      "What each input is: a:f32 is a number, x:f32[] an array; a:f32,x:f32[]. Outputs are inferred "
                      "unless named here");
  command->add_option("--signature", options->signature, "The formula's own signature, as docs/language.md has it");
  command->add_option("--arch", options->arch, "Architectures: sm_90, sm_75,sm_90, or with the PTX version sm_90:8.3");
  command->add_option("--emit", options->emit, emit);
  command->add_option("-o,--output", options->output, "Write it to a file");
  command->add_option("--rank", options->rank, "Arrays are strided and of that rank; without it contiguous")
      ->check(CLI::Range(1, 8));
  command->add_option("--index", options->index, "Bits that addresses are computed in")->check(CLI::IsMember({32, 64}));
  command->add_option("--opt", options->opt_level, "How much is optimised, 0 to 3");
  command->add_option(
      "--fast-math", options->fast_math,
      "What may be given up for speed: division, sqrt, functions, flush_subnormals, reassociate, no_nans, "
      "no_infinities with commas between, or all");
  command->add_flag("--no-contract", options->no_contract, "Do not make a product and a sum one fma");
  command->add_option("--max-registers", options->max_registers, "Of a thread, 16 to 255");
  command->add_flag("--line-info", options->line_info, "Say in the PTX which line each instruction comes from");
  command->add_option("--math", options->math, "Where sin, exp and the like come from")
      ->check(CLI::IsMember({"auto", "libdevice", "libclc"}));
  command->add_option("--name", options->name, "The kernel's name");
  command->footer(
      "\nExamples:\n"
      "  slipway compile 'z = a * x + y' --types a:f32,x:f32[],y:f32[]\n"
      "  slipway compile 'z = exp(x) / y' --types x:f16[],y:f16[] --arch sm_75,sm_90 --emit resources\n"
      "  slipway compile @formula.txt --types x:f64[] --fast-math division,sqrt --emit ir,ptx,times\n");
  command->callback([options, chosen] { *chosen = [options] { return Run(*options); }; });
}

}  // namespace slipway::cli
