#include "jit/text/source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "jit/text/cat.h"
#include "jit/text/utf8.h"

namespace slipway::text {
namespace {

// What a line may take of an 80-column terminal, after the indentation of two.
constexpr size_t kMaxShownColumns = 76;

struct Line {
  size_t begin = 0;
  size_t end = 0;
  uint32_t number = 1;
};

Line LineAt(std::string_view text, size_t offset) {
  Line line;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++line.number;
      line.begin = i + 1;
    }
  }
  line.end = std::min(text.find('\n', offset), text.size());
  if (line.end > line.begin && text[line.end - 1] == '\r' && line.end > offset) --line.end;
  return line;
}

// Copies code points, with every control character (a tab too) as one space and every malformed byte as '?', so that
// one code point is one column.
std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8::SequenceLength(text, i);
    if (length == 0) {
      out += '?';
      ++i;
      continue;
    }
    const unsigned char first = static_cast<unsigned char>(text[i]);
    if (first < 0x20 || first == 0x7f) {
      out += ' ';
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return out;
}

// The byte at which the `columns`-th code point before (after) `offset` starts (ends), within [begin, end].
size_t StepBack(std::string_view text, size_t begin, size_t offset, size_t columns) {
  while (columns > 0 && offset > begin) {
    --offset;
    while (offset > begin && utf8::IsContinuation(text[offset])) --offset;
    --columns;
  }
  return offset;
}
size_t StepForward(std::string_view text, size_t offset, size_t end, size_t columns) {
  while (columns > 0 && offset < end) {
    ++offset;
    while (offset < end && utf8::IsContinuation(text[offset])) ++offset;
    --columns;
  }
  return offset;
}

}  // namespace

Source::Source(std::string_view kind, std::string text) : kind_(kind), text_(std::move(text)) {
  if (text_.size() > kMaxSourceBytes) return;  // Refused by Validate().
  for (size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1)) {
    line_begins_.push_back(static_cast<uint32_t>(at + 1));
  }
}

ir::Location Source::LocationOfToken(uint32_t offset) const {
  const auto next = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const uint32_t begin = next == line_begins_.begin() ? 0 : next[-1];
  return {.line = static_cast<uint32_t>(next - line_begins_.begin()) + 1, .column = offset - begin + 1};
}

ir::Location Source::LocationOf(uint32_t offset) const {
  const size_t at = std::min<size_t>(offset, text_.size());
  const Line line = LineAt(text_, at);
  const size_t column = utf8::CountCodePoints(std::string_view(text_).substr(line.begin, at - line.begin));
  return {.line = line.number, .column = static_cast<uint32_t>(column + 1)};
}

std::string Source::Position(uint32_t offset) const {
  const ir::Location location = LocationOf(offset);
  return Cat(location.line, ":", location.column);
}

absl::Status Source::ErrorAt(Span span, std::string_view message, std::string_view hint) const {
  const std::string_view text = text_;
  const size_t at = std::min<size_t>(span.offset, text.size());
  const Line line = LineAt(text, at);
  const size_t stop = std::clamp<size_t>(at + span.length, at, std::max(line.end, at));
  const size_t caret_columns = std::max<size_t>(utf8::CountCodePoints(text.substr(at, stop - at)), 1);

  size_t shown_begin = line.begin;
  size_t shown_end = line.end;
  bool clipped_left = false;
  bool clipped_right = false;
  if (utf8::CountCodePoints(text.substr(line.begin, line.end - line.begin)) > kMaxShownColumns) {
    constexpr size_t kEllipses = 6;
    constexpr size_t kBefore = (kMaxShownColumns - kEllipses) / 2;
    shown_begin = StepBack(text, line.begin, at, kBefore);
    shown_end = StepForward(text, shown_begin, line.end, kMaxShownColumns - kEllipses);
    if (shown_end == line.end) shown_begin = StepBack(text, line.begin, line.end, kMaxShownColumns - kEllipses);
    clipped_left = shown_begin != line.begin;
    clipped_right = shown_end != line.end;
  }
  const size_t lead = utf8::CountCodePoints(text.substr(shown_begin, at - shown_begin)) + (clipped_left ? 3 : 0);
  const size_t room = kMaxShownColumns - std::min(lead, kMaxShownColumns - 1);

  std::string out = Cat(kind_, ":", Position(static_cast<uint32_t>(at)), ": ", message, "\n  ");
  out += Cat(clipped_left ? "..." : "", Printable(text.substr(shown_begin, shown_end - shown_begin)),
             clipped_right ? "..." : "", "\n  ", std::string(lead, ' '), "^",
             std::string(std::min(caret_columns, room) - 1, '~'));
  if (!hint.empty()) out += Cat(" ", hint);
  return absl::InvalidArgumentError(out);
}

absl::Status Source::Validate() const {
  if (text_.size() > kMaxSourceBytes) {
    return absl::InvalidArgumentError(
        Cat(kind_, ": the text has ", text_.size(), " bytes; at most ", kMaxSourceBytes, " are allowed"));
  }
  const size_t bad = utf8::FirstInvalid(text_);
  if (bad != std::string::npos) {
    return ErrorAt({static_cast<uint32_t>(bad), 1},
                   absl::StrFormat("invalid UTF-8: byte 0x%02x at offset %d", static_cast<uint8_t>(text_[bad]), bad),
                   "the text must be UTF-8");
  }
  return absl::OkStatus();
}

}  // namespace slipway::text
