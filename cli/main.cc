// slipway: compiles and evaluates formulas, and shows what they become, from the command line.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "launch/toolkit.h"

namespace slipway::cli {

absl::StatusOr<std::string> TextOrFile(const std::string& text) {
  if (text.empty() || text[0] != '@') return text;
  const std::string path = text.substr(1);
  bool ok = false;
  std::string content = internal::ReadWholeFile(path, &ok, kMaxFileBytes + 1);
  if (!ok) return absl::NotFoundError(absl::StrCat("file '", path, "' cannot be read"));
  if (content.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat("file '", path, "' has more than ", kMaxFileBytes >> 20, " MiB"));
  }
  return content;
}

namespace {

int Main(int argc, char** argv) {
  CLI::App app(
      "Compiles and evaluates formulas on GPUs, or on the CPU where there is none, and shows what they become.\n"
      "\n"
      "  slipway eval 'z = a * x + y' a=2 x=[1,2,3] y=[10,20,30]\n"
      "  slipway compile 'z = a * x + y' --types a:f32,x:f32[],y:f32[] --arch sm_90 --emit ptx\n"
      "  slipway devices\n"
      "  slipway cache list\n"
      "\n"
      "What a formula may say stands in docs/language.md. 'slipway COMMAND --help' tells the rest.\n",
      "slipway");
  app.require_subcommand(1);
  Command chosen;
  AddCompile(app, &chosen);
  AddDevices(app, &chosen);
  AddEval(app, &chosen);
  AddCache(app, &chosen);
  CLI11_PARSE(app, argc, argv);

  const absl::StatusOr<std::string> result = chosen();
  if (!result.ok()) {
    std::fprintf(stderr, "slipway: %s\n", std::string(result.status().message()).c_str());
    return 1;
  }
  const bool written = std::fwrite(result->data(), 1, result->size(), stdout) == result->size();
  if (!written || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "slipway: the result cannot be written to the standard output\n");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace slipway::cli

int main(int argc, char** argv) { return slipway::cli::Main(argc, argv); }
