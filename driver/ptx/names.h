// The names in PTX text, for messages: found by looking for words, in a fraction of the time that reading the text
// takes, so that comments are not told from code.
#ifndef SLIPWAY_DRIVER_PTX_NAMES_H_
#define SLIPWAY_DRIVER_PTX_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace slipway::ptx {

std::vector<std::string> KernelNames(std::string_view text);
// What people may call the text: its first kernel's name, or "module" where it has none.
std::string TitleOf(std::string_view text);
// Of variables in global and constant memory that the text defines, whether or not it says that they are visible:
// drivers find them all.
std::vector<std::string> VariableNames(std::string_view text);
// "8.3" of ".version 8.3"; empty where there is none.
std::string_view VersionOf(std::string_view text);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_PTX_NAMES_H_
