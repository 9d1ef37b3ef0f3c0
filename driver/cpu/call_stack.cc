#include "driver/cpu/call_stack.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstring>
#include <new>
#include <string_view>

#include "absl/debugging/symbolize.h"
#include "absl/strings/str_cat.h"

namespace slipway::cpu {

void NoteCallStack(std::byte* to) {
  auto* const stack = new (to) CallStack;
  // Not absl::GetStackTrace, which follows frame pointers: programs are seldom built with them.
  stack->frames = static_cast<uint64_t>(backtrace(stack->at, CallStack::kMostFrames));
}

std::string Describe(const CallStack& stack) {
  std::string text;
  int shown = 0;
  for (uint64_t i = 0; i < stack.frames; ++i) {
    // A return address may be that of the next function, after a call that does not return.
    const auto* const pc = static_cast<const char*>(stack.at[i]) - 1;
    char name[512];
    const bool named = absl::Symbolize(pc, name, sizeof(name));
    if (shown == 0 && named && std::string_view(name).substr(0, 14) == "slipway::cpu::") continue;
    Dl_info file = {};
    const bool in_file = dladdr(pc, &file) != 0 && file.dli_fname != nullptr;
    absl::StrAppend(&text, "\n    #", shown++, " ");
    if (named) {
      absl::StrAppend(&text, name);
    } else {
      absl::StrAppend(&text, "0x", absl::Hex(reinterpret_cast<uintptr_t>(stack.at[i])));
    }
    if (!in_file) continue;
    const std::string_view path = file.dli_fname;
    absl::StrAppend(&text, " (", path.substr(path.rfind('/') + 1).data(), ")");
    if (!named) {
      absl::StrAppend(&text, "+0x", absl::Hex(static_cast<uint64_t>(pc - static_cast<const char*>(file.dli_fbase))));
    }
  }
  return text;
}

}  // namespace slipway::cpu
