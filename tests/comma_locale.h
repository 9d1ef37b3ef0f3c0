// Locales that write numbers as de_DE does, 4.096,5: made on the spot, because a bare system has none of the kind.
#ifndef SLIPWAY_TESTS_COMMA_LOCALE_H_
#define SLIPWAY_TESTS_COMMA_LOCALE_H_

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <string>
#include <system_error>

namespace slipway {

// That of C++, in force for all streams that are made while it lives.
class CommaStreams {
 public:
  CommaStreams() : before_(std::locale::global(std::locale(std::locale(), new Numbers))) {}
  ~CommaStreams() { std::locale::global(before_); }
  CommaStreams(const CommaStreams&) = delete;
  CommaStreams& operator=(const CommaStreams&) = delete;

 private:
  struct Numbers : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
};

// That of C, in force for LC_NUMERIC while it lives. Tests skip what needs it where set() is false: there is no
// localedef.
class CommaLocale {
 public:
  CommaLocale() {
    std::string pattern = (std::filesystem::temp_directory_path() / "slipway-locale-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    std::ofstream(folder_ / "source") << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\n"
                                         "END LC_NUMERIC\n";
    // -c: go on although the other categories are missing. It warns of them and so exits with 1.
    const std::string command = "localedef -c -i '" + (folder_ / "source").string() + "' '" +
                                (folder_ / "comma").string() + "' > /dev/null 2>&1";
    if (std::system(command.c_str()) < 0) return;
    setenv("LOCPATH", folder_.c_str(), 1);
    set_ = std::setlocale(LC_NUMERIC, "comma") != nullptr && std::string(std::localeconv()->decimal_point) == ",";
    unsetenv("LOCPATH");
  }
  ~CommaLocale() {
    std::setlocale(LC_NUMERIC, "C");
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool set() const { return set_; }

 private:
  std::filesystem::path folder_;
  bool set_ = false;
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_COMMA_LOCALE_H_
