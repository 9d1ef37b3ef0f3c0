#include "jit/cuda/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "slipway/cuda.h"

namespace slipway {
namespace {

constexpr char kLogPayload[] = "slipway/cuda-log";
constexpr size_t kMaxErrors = 10;

enum class Begins { kNothing, kError, kOther };

// Whether a line begins a message. Paths may hold anything, so it is what stands before ": error" that has to end in
// "(digits)".
Begins Classify(std::string_view line) {
  const struct {
    std::string_view words;
    Begins kind;
  } rows[] = {{"): error", Begins::kError},
              {"): catastrophic error", Begins::kError},
              {"): internal error", Begins::kError},
              {"): warning", Begins::kOther},
              {"): remark", Begins::kOther}};
  for (const auto& row : rows) {
    const size_t at = line.find(row.words);
    if (at == line.npos || at == 0 || std::isdigit(static_cast<unsigned char>(line[at - 1])) == 0) continue;
    size_t digit = at;
    while (digit > 0 && std::isdigit(static_cast<unsigned char>(line[digit - 1])) != 0) --digit;
    if (digit > 0 && line[digit - 1] == '(') return row.kind;
  }
  // Without a place: "nvrtc: error: ...", "error: ...".
  if (line.find("error:") < 8 || line.substr(0, 14) == "nvrtc: error: ") return Begins::kError;
  return Begins::kNothing;
}

// What is wrong with a name expression: NVRTC compiles it as a #pragma of a text of its own. "__nv_name_map(2): error:
// why\n  #pragma nv_mangled_name scale<flot>\n ..." becomes "CudaOptions::name_expressions: 'scale<flot>': why". Of
// several messages on one expression, the first tells.
void NameExpressions(std::vector<Diagnostics::Message>* messages) {
  constexpr std::string_view kText = "__nv_name_map(", kError = ": error: ", kPragma = "#pragma nv_mangled_name ";
  std::set<std::string, std::less<>> told;
  const auto again = [&](Diagnostics::Message& message) {
    const std::string_view text = message.text;
    const size_t why = text.find(kError), line = text.find('\n'), pragma = text.find(kPragma);
    if (text.substr(0, kText.size()) != kText || why > line || pragma == text.npos) return false;
    const size_t name = pragma + kPragma.size();
    const std::string expression(text.substr(name, text.find('\n', name) - name));
    message.text = absl::StrCat("CudaOptions::name_expressions: '", expression,
                                "': ", message.text.substr(why + kError.size(), line - why - kError.size()));
    return !told.insert(expression).second;
  };
  messages->erase(std::remove_if(messages->begin(), messages->end(), again), messages->end());
}

}  // namespace

Diagnostics ReadLog(std::string log) {
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  std::vector<Diagnostics::Message> messages;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    const Begins begins = Classify(std::string_view(line.data(), line.size()));
    if (begins != Begins::kNothing || messages.empty()) messages.push_back({begins == Begins::kError, ""});
    // "2 errors detected in the compilation of ..." ends the last message.
    if (line.find(" detected in the compilation of ") != line.npos) continue;
    absl::StrAppend(&messages.back().text, line, "\n");
  }
  for (Diagnostics::Message& message : messages) {
    while (!message.text.empty() && message.text.back() == '\n') message.text.pop_back();
  }
  NameExpressions(&messages);
  return Diagnostics(std::move(log), std::move(messages));
}

std::string Diagnostics::Warnings() const {
  std::string out;
  for (const Message& message : messages_) {
    if (!message.error && !message.text.empty()) absl::StrAppend(&out, message.text, "\n");
  }
  return out;
}

absl::Status Diagnostics::Failure(const std::string& file_name, const std::string& result) const {
  std::string text;
  size_t errors = 0;
  for (const Message& message : messages_) {
    if (!message.error || ++errors > kMaxErrors) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", message.text);
  }
  if (errors > kMaxErrors) absl::StrAppend(&text, "\n... and ", errors - kMaxErrors, " more errors; CudaLog() has all");
  if (errors == 0) text = whole_.empty() ? absl::StrCat(file_name, ": ", result) : whole_;
  absl::Status status = absl::InvalidArgumentError(text);
  status.SetPayload(kLogPayload, absl::Cord(whole_));
  return status;
}

std::string CudaLog(const absl::Status& status) {
  const auto log = status.GetPayload(kLogPayload);
  return log.has_value() ? std::string(*log) : std::string();
}

}  // namespace slipway
