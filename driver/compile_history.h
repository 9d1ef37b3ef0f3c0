// Where the caches write the history of compiles; see slipway/compile_history.h.
#ifndef SLIPWAY_DRIVER_COMPILE_HISTORY_H_
#define SLIPWAY_DRIVER_COMPILE_HISTORY_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "slipway/compile_history.h"

namespace slipway::internal {

// The first line of a key on disk, for people, which `slipway cache explain` takes apart: "saxpy for target sm_90:7.8;
// options opt3". Line breaks become spaces.
std::string KeyLine(std::string_view name, const std::vector<CompileKeyPart>& key);

// The parts of such a line; empty for one that is not `name`'s.
std::vector<CompileKeyPart> ParseKeyLine(std::string_view name, std::string_view line);

// In what two keys differ, each part by itself, in the order of `is`, and then those that are gone. `was` or `is` is
// null for a part that only the other has. Of a kernel whose signature is another the hash is, too, which says nothing
// more and is left out. Pointers are into the keys.
struct KeyDifference {
  std::string_view part;
  const std::string* was;
  const std::string* is;
};
std::vector<KeyDifference> KeyDifferences(const std::vector<CompileKeyPart>& was,
                                          const std::vector<CompileKeyPart>& is);

// Notes that something was compiled, read, or could not be: number and why are filled in. Returns the number.
uint64_t NoteCompile(CompileRecord record);
// That it was found in memory later on.
void NoteFound(uint64_t number);

inline double MicrosecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_COMPILE_HISTORY_H_
