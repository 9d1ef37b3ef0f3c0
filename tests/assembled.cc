#include "tests/assembled.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "driver/cpu/sanitizers.h"
#include "gtest/gtest.h"
#include "tests/ptxas.h"

namespace slipway {
namespace {

// 128-bit FNV-1a (the constants: RFC 9923), in hexadecimal digits: the same in every process, which std::hash need not
// be.
std::string Fingerprint(int sm, const std::string& text) {
  using Word = unsigned __int128;
  Word hash = (Word{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  constexpr Word kPrime = (Word{1} << 88) + 0x13b;
  for (const char c : std::to_string(sm) + text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  char digits[33];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx", static_cast<unsigned long long>(hash >> 64),  // NOLINT
                static_cast<unsigned long long>(hash));                                                 // NOLINT
  return digits;
}

// What this ptxas has taken, over all processes that share a build folder. A line is added by one write(), so that
// processes may add at the same time; another ptxas has another file.
class Taken {
 public:
  explicit Taken(const std::string& ptxas) {
    std::error_code ignored;
    const auto program = std::filesystem::canonical(ptxas, ignored);
    const auto time = std::filesystem::last_write_time(program, ignored).time_since_epoch().count();
    const auto size = std::filesystem::file_size(program, ignored);
    path_ = std::string(SLIPWAY_BUILD_FOLDER) + "/ptxas-takes-" +
            Fingerprint(0, program.string() + " " + std::to_string(time) + " " + std::to_string(size)) + ".txt";
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) known_.insert(line);
  }
  bool Knows(const std::string& fingerprint) const { return known_.count(fingerprint) != 0; }
  void Add(const std::vector<std::string>& fingerprints) const {
    std::string lines;
    for (const std::string& fingerprint : fingerprints) lines += fingerprint + "\n";
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;  // Then it is assembled again next time.
    [[maybe_unused]] const ssize_t written = write(file, lines.data(), lines.size());
    close(file);
  }

 private:
  std::string path_;
  std::set<std::string> known_;
};

// A module with nothing but the text's first directives.
std::string Empty(const std::string& ptx) {
  std::string text;
  for (const char* directive : {".version", ".target", ".address_size"}) {
    const size_t at = ptx.find(directive);
    if (at != std::string::npos) text += ptx.substr(at, ptx.find('\n', at) - at) + "\n";
  }
  return text;
}

class AssembleAtTheEnd : public testing::Environment {
 public:
  void Note(std::string ptx, int sm) {
    if (!AssemblesAfterTests()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    texts_[sm].insert(std::move(ptx));
  }
  void Before(void (*callback)()) { callbacks_.push_back(callback); }

  void TearDown() override {
    if (!AssemblesAfterTests()) return;
    for (const auto& callback : callbacks_) callback();
    if (texts_.empty()) return;
    const Taken taken(FindPtxas());
    for (const auto& [sm, texts] : texts_) {
      std::vector<std::string> unknown;
      for (const std::string& text : texts) {
        if (!taken.Knows(Fingerprint(sm, text))) unknown.push_back(text);
      }
      if (!unknown.empty()) Assemble(unknown, sm, taken);
    }
  }

 private:
  static void Assemble(const std::vector<std::string>& texts, int sm, const Taken& taken) {
    std::vector<std::string> fingerprints;
    for (const std::string& text : texts) fingerprints.push_back(Fingerprint(sm, text));
    if (AssembleAll(texts, sm).ok()) return taken.Add(fingerprints);
    for (const std::string& text : texts) {
      const absl::Status status = AssembleAll({text}, sm);
      // A ptxas older than the architecture or the PTX ISA takes nothing for it.
      if (!status.ok() && AssembleAll({Empty(text)}, sm).ok()) ADD_FAILURE() << status.message();
    }
  }

  std::mutex mutex_;
  std::map<int, std::set<std::string>> texts_;
  std::vector<void (*)()> callbacks_;
};

AssembleAtTheEnd& Environment() {
  // Owned by GoogleTest.
  static auto* environment = static_cast<AssembleAtTheEnd*>(testing::AddGlobalTestEnvironment(new AssembleAtTheEnd));
  return *environment;
}
[[maybe_unused]] const auto& registered = Environment();

}  // namespace

bool AssemblesAfterTests() {
  static const bool result = !cpu::kSanitized && !FindPtxas().empty();
  return result;
}

void AssembleAfterTests(std::string ptx, int sm) { Environment().Note(std::move(ptx), sm); }

void AssembleAfterTests(const std::string& ptx) {
  const size_t at = ptx.find(".target sm_");
  const int own = at == std::string::npos ? 0 : std::atoi(ptx.c_str() + at + 11);
  for (const int sm : kAssembledFor) {
    if (sm >= own) AssembleAfterTests(ptx, sm);
  }
}

void BeforeAssembling(void (*callback)()) { Environment().Before(callback); }

}  // namespace slipway
