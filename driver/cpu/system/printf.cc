#include "driver/cpu/system/printf.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::cpu {
namespace {

constexpr int kMostWidth = 4096;

// Reads variadic arguments one after another.
class Arguments {
 public:
  explicit Arguments(const std::byte* at) : at_(at) {}

  template <class T>
  T Next() {
    at_ =
        reinterpret_cast<const std::byte*>((reinterpret_cast<uintptr_t>(at_) + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  int count() const { return count_; }

 private:
  const std::byte* at_;
  int count_ = 0;
};

// One conversion: "%-08.3llx" as '-', '0', 8, 3, "ll", 'x'.
struct Conversion {
  std::string flags;
  int width = -1;
  int precision = -1;
  std::string_view size;
  char type = '\0';
  size_t length = 0;  // Of its text; 0 if it is none.
};

// A number or '*'; `at` moves past it.
int Number(const char*& at, Arguments& arguments) {
  if (*at == '*') {
    ++at;
    return std::clamp(arguments.Next<int32_t>(), -kMostWidth, kMostWidth);
  }
  int value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = std::min(kMostWidth, value * 10 + (*at - '0'));
  return value;
}

Conversion Read(const char* text, Arguments& arguments) {  // At the '%'.
  Conversion result;
  const char* at = text + 1;
  for (; *at != '\0' && std::strchr("#0- +", *at) != nullptr; ++at) {
    if (result.flags.find(*at) == std::string::npos) result.flags += *at;
  }
  if (*at == '*' || (*at >= '1' && *at <= '9')) {
    result.width = Number(at, arguments);
    if (result.width < 0) {  // Of a '*'.
      result.flags += '-';
      result.width = -result.width;
    }
  }
  if (*at == '.') {
    ++at;
    result.precision = Number(at, arguments);  // A negative one counts as none.
  }
  for (std::string_view size : {"hh", "h", "ll", "l", "j", "z", "t", "L"}) {
    if (std::strncmp(at, size.data(), size.size()) != 0) continue;
    result.size = size;
    at += size.size();
    break;
  }
  if (*at == '\0' || std::strchr("diouxXcpeEfFgGaAs", *at) == nullptr) return result;
  result.type = *at;
  result.length = static_cast<size_t>(at + 1 - text);
  return result;
}

// The conversion for the host's snprintf, whose integers are all intmax_t.
std::string HostFormat(const Conversion& conversion) {
  std::string format = "%" + conversion.flags;
  if (conversion.width >= 0) format += std::to_string(conversion.width);
  if (conversion.precision >= 0) format += "." + std::to_string(conversion.precision);
  if (std::strchr("diouxX", conversion.type) != nullptr) format += "j";
  return format + conversion.type;
}

template <class T>
void Print(const std::string& format, T value, std::string* out) {
  char small[512];
  const int length = std::snprintf(small, sizeof(small), format.c_str(), value);
  if (length < 0) return;
  if (static_cast<size_t>(length) < sizeof(small)) {
    out->append(small, static_cast<size_t>(length));
    return;
  }
  const size_t before = out->size();
  out->resize(before + static_cast<size_t>(length) + 1);
  std::snprintf(out->data() + before, static_cast<size_t>(length) + 1, format.c_str(), value);
  out->pop_back();
}

void PrintInteger(const Conversion& conversion, Arguments& arguments, std::string* out) {
  const bool wide = !conversion.size.empty() && conversion.size[0] != 'h' && conversion.size != "L";
  uint64_t bits = wide ? arguments.Next<uint64_t>() : arguments.Next<uint32_t>();
  const bool is_signed = conversion.type == 'd' || conversion.type == 'i';
  const int unused = wide ? 0 : conversion.size == "hh" ? 56 : conversion.size == "h" ? 48 : 32;
  bits <<= unused;
  bits = is_signed ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> unused) : bits >> unused;
  Print(HostFormat(conversion), static_cast<intmax_t>(bits), out);
}

void PrintString(const Conversion& conversion, const char* text, std::string* out) {
  if (text == nullptr) text = "(null)";
  const std::string_view shown(
      text, conversion.precision < 0 ? std::strlen(text) : strnlen(text, static_cast<size_t>(conversion.precision)));
  const size_t width = static_cast<size_t>(std::max(conversion.width, 0));
  const std::string padding(width - std::min(width, shown.size()), ' ');
  const bool left = conversion.flags.find('-') != std::string::npos;
  if (!left) out->append(padding);
  out->append(shown);
  if (left) out->append(padding);
}

}  // namespace

int Format(const char* format, const std::byte* arguments, std::string* out) {
  Arguments list(arguments);
  for (const char* at = format; *at != '\0';) {
    if (*at != '%') {
      const size_t plain = std::strcspn(at, "%");
      out->append(at, plain);
      at += plain;
      continue;
    }
    if (at[1] == '%') {
      out->push_back('%');
      at += 2;
      continue;
    }
    const Conversion conversion = Read(at, list);
    if (conversion.length == 0) {
      out->push_back(*at++);
      continue;
    }
    at += conversion.length;
    if (std::strchr("diouxX", conversion.type) != nullptr) {
      PrintInteger(conversion, list, out);
    } else if (conversion.type == 'c') {
      Print(HostFormat(conversion), list.Next<int32_t>(), out);
    } else if (conversion.type == 'p') {
      Print(HostFormat(conversion), reinterpret_cast<const void*>(list.Next<uint64_t>()), out);
    } else if (conversion.type == 's') {
      PrintString(conversion, reinterpret_cast<const char*>(list.Next<uint64_t>()), out);
    } else {
      Print(HostFormat(conversion), list.Next<double>(), out);
    }
  }
  return list.count();
}

void PrintfBuffer::Append(const std::string& text) {
  const size_t capacity = this->capacity();
  std::lock_guard<std::mutex> lock(mutex_);
  if (text.size() > capacity) return;
  while (bytes_ + text.size() > capacity) {
    bytes_ -= texts_.front().size();
    texts_.pop_front();
  }
  bytes_ += text.size();
  texts_.push_back(text);
  has_text_.store(true, std::memory_order_relaxed);
}

void PrintfBuffer::Flush() {
  if (!has_text_.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> one_at_a_time(flushing_);
  std::deque<std::string> texts;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    texts.swap(texts_);
    bytes_ = 0;
    has_text_.store(false, std::memory_order_relaxed);
  }
  for (const std::string& text : texts) std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int Vprintf(PrintfBuffer* buffer, const char* format, const std::byte* arguments) {
  if (format == nullptr) return -1;
  // Kept by the thread: a fault at a bad pointer leaves this function without its destructors.
  static thread_local std::string text;
  text.clear();
  const int count = Format(format, arguments, &text);
  if (buffer != nullptr) {
    buffer->Append(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  return count;
}

void PrintAssertion(const char* message, const char* file, uint32_t line, const char* function,
                    const uint32_t (&block)[3], const uint32_t (&thread)[3]) {
  static thread_local std::string text;  // As in Vprintf: a bad pointer must not be met with stderr locked.
  text = absl::StrCat(file, ":", line, ": ", function, ": block: [", absl::StrJoin(block, ","), "], thread: [",
                      absl::StrJoin(thread, ","), "] Assertion `", message, "` failed.\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace slipway::cpu
