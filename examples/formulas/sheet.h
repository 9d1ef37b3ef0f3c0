// A file of formulas, as its user writes it: paragraphs of Slipway's text language, and what to plot.
//
//   # Price for weight
//   ppc = price / carat
//
//   let v = x * y * z
//   density = v > 0 ? 200 * carat / v : 0
//
//   plot ppc against carat
//
// A paragraph ends at an empty line. Its free names are columns of the table, or what other paragraphs assign, before
// or after it.
#ifndef SLIPWAY_EXAMPLES_FORMULAS_SHEET_H_
#define SLIPWAY_EXAMPLES_FORMULAS_SHEET_H_

#include <string>
#include <vector>

#include "slipway/elementwise.h"

namespace slipway::formulas {

struct Paragraph {
  int line = 0;      // Of the file, from 1.
  std::string text;  // With as many empty lines in front as the file has, so that messages tell the file's lines.
  absl::StatusOr<Elementwise> formula = absl::UnknownError("not parsed");
};

struct Plot {
  int line = 0;
  std::string y, x;
};

struct Sheet {
  std::string name;  // What messages call it.
  std::vector<Paragraph> paragraphs;
  std::vector<Plot> plots;
  std::vector<std::string> errors;  // Of lines that are neither.
};

// Never fails: what is wrong with a paragraph is in its formula, and goes wrong for it alone.
Sheet ReadSheet(const std::string& name, const std::string& content);

// A message about a paragraph as the sheet's user wants it: with the sheet's name and line.
std::string Message(const Sheet& sheet, const Paragraph& paragraph, const absl::Status& status);

// A message that points at a name in a paragraph.
std::string MessageAt(const Sheet& sheet, const Paragraph& paragraph, const std::string& name,
                      const std::string& words);

// Of the names, the one that looks most like `name`, if any does.
std::string Similar(const std::string& name, const std::vector<std::string>& names);

}  // namespace slipway::formulas

#endif  // SLIPWAY_EXAMPLES_FORMULAS_SHEET_H_
