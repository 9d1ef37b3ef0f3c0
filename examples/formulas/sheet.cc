#include "examples/formulas/sheet.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace slipway::formulas {
namespace {

bool IsBlank(absl::string_view line) { return absl::StripAsciiWhitespace(line).empty(); }
bool IsComment(absl::string_view line) { return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#"); }
bool InWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// "plot Y against X".
bool IsPlot(absl::string_view line) { return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "plot "); }

void ReadPlot(const std::string& line, int number, Sheet* sheet) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.size() == 4 && words[2] == "against") {
    sheet->plots.push_back({number, words[1], words[3]});
  } else {
    sheet->errors.push_back(absl::StrCat(sheet->name, ":", number, ": a plot is written 'plot Y against X'"));
  }
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

Sheet ReadSheet(const std::string& name, const std::string& content) {
  Sheet sheet = {.name = name};
  Paragraph open;
  const auto close = [&] {
    if (open.line != 0) {
      open.formula = Elementwise::Parse(open.text, {}, absl::StrCat("formula_", open.line));
      sheet.paragraphs.push_back(std::move(open));
    }
    open = {};
  };
  int number = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(content, '\n'))) {
    ++number;
    if (IsBlank(line)) {
      close();
    } else if (IsPlot(line)) {
      close();
      ReadPlot(line, number, &sheet);
    } else if (!IsComment(line) || open.line != 0) {
      if (open.line == 0) {
        open = {.line = number, .text = std::string(static_cast<size_t>(number - 1), '\n')};
      } else {
        open.text += "\n";
      }
      open.text += line;
    }
  }
  close();
  return sheet;
}

std::string Message(const Sheet& sheet, const Paragraph& paragraph, const absl::Status& status) {
  const absl::string_view message = status.message();
  constexpr absl::string_view kSource = "expression:";
  if (absl::StartsWith(message, kSource)) return absl::StrCat(sheet.name, message.substr(kSource.size() - 1));
  return absl::StrCat(sheet.name, ":", paragraph.line, ": ", message);
}

std::string MessageAt(const Sheet& sheet, const Paragraph& paragraph, const std::string& name,
                      const std::string& words) {
  int number = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(paragraph.text, '\n'))) {
    ++number;
    for (size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
      const size_t end = at + name.size();
      if ((at > 0 && InWord(line[at - 1])) || (end < line.size() && InWord(line[end]))) continue;
      return absl::StrCat(sheet.name, ":", number, ":", at + 1, ": ", words, "\n  ", line, "\n  ", std::string(at, ' '),
                          "^", std::string(name.size() - 1, '~'));
    }
  }
  return absl::StrCat(sheet.name, ":", paragraph.line, ": ", words);
}

std::string Similar(const std::string& name, const std::vector<std::string>& names) {
  size_t least = name.size() / 3 + 1;  // As many edits are still a slip of the keyboard.
  std::string best;
  for (const std::string& candidate : names) {
    const size_t distance = EditDistance(name, candidate);
    if (distance <= least) {
      if (distance < least || best.empty()) best = candidate;
      least = distance;
    }
  }
  return best;
}

}  // namespace slipway::formulas
