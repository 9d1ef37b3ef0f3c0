// The commands of the tool `slipway`. Each adds itself, with its options and its help, to the program.
#ifndef SLIPWAY_CLI_COMMANDS_H_
#define SLIPWAY_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace slipway::cli {

// What a command does once its options are there. Its result is what goes to stdout; an error goes to stderr.
using Command = std::function<absl::StatusOr<std::string>()>;

// Each returns the command that `app` ran into, by setting *chosen when it is parsed.
void AddCache(CLI::App& app, Command* chosen);
void AddCompile(CLI::App& app, Command* chosen);
void AddDevices(CLI::App& app, Command* chosen);
void AddEval(CLI::App& app, Command* chosen);

// Of a file that an argument names: devices and pipes have no end of their own.
inline constexpr size_t kMaxFileBytes = size_t{256} << 20;
// `text`, or what the file has that "@file" names.
absl::StatusOr<std::string> TextOrFile(const std::string& text);

}  // namespace slipway::cli

#endif  // SLIPWAY_CLI_COMMANDS_H_
