// A kernel's name as a parameter of functions that kernels are registered by: a literal is told from other text, and
// need not be copied.
#ifndef SLIPWAY_KERNEL_NAME_H_
#define SLIPWAY_KERNEL_NAME_H_

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

namespace slipway {

// Made of a literal (any array of const char counts as one, and has to be constant), or of whatever a string is made
// of.
class KernelName {
 public:
  template <size_t kSize>
  consteval KernelName(const char (&literal)[kSize]) : literal_(literal) {}  // NOLINT(google-explicit-constructor)
  template <size_t kSize>
  KernelName(char (&text)[kSize]) : text_(new std::string(text)) {}  // NOLINT(google-explicit-constructor)
  template <std::convertible_to<std::string> Text>
  KernelName(Text&& text)  // NOLINT(google-explicit-constructor)
      : text_(new std::string(std::forward<Text>(text))) {}
  KernelName(const KernelName&) = delete;
  KernelName& operator=(const KernelName&) = delete;
  constexpr ~KernelName() { delete text_; }

  // Null where it was no literal.
  constexpr const char* literal() const { return literal_; }
  std::string ToString() const { return literal_ != nullptr ? literal_ : *text_; }

 private:
  const char* literal_ = nullptr;
  const std::string* text_ = nullptr;
};

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_NAME_H_
