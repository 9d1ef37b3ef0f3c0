// A fuzz target without libFuzzer: the inputs of the corpus, and a few mutants of each, the same ones every time.
//
//   ptx_parser_fuzz [--mutants N] FILE-OR-FOLDER...
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/target.h"

// Of the sanitizers' runtime; null without.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

std::string current;  // What is being tried.

void ShowCurrent() {
  constexpr std::string_view kBefore = "\n--- The process ends at this input:\n", kAfter = "\n---\n";
  for (std::string_view part : {kBefore, std::string_view(current), kAfter}) {
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) return;
  }
}

void ShowAndDie(int signal) {
  ShowCurrent();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void ShowCurrentAtDeath() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(&ShowCurrent);
    std::signal(SIGABRT, &ShowAndDie);  // Of a check that fails.
    return;
  }
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, &ShowAndDie);
}

std::vector<std::filesystem::path> FilesIn(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(path)) return {path};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  int mutants = 0;
  std::vector<std::string> texts;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--mutants" && i + 1 < argc) {
      mutants = std::atoi(argv[++i]);
      continue;
    }
    for (const std::filesystem::path& path : FilesIn(argv[i])) {
      std::ifstream file(path, std::ios::binary);
      if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        return 2;
      }
      texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  if (texts.empty()) {
    std::fprintf(stderr, "usage: %s [--mutants N] FILE-OR-FOLDER...\n", argv[0]);
    return 2;
  }
  ShowCurrentAtDeath();
  const auto try_one = [](std::string text) {
    current = std::move(text);
    slipway::fuzz::FuzzOne(current);
  };
  for (size_t i = 0; i < texts.size(); ++i) {
    try_one(texts[i]);
    for (int k = 0; k < mutants; ++k) {
      const auto seed = static_cast<uint32_t>(i * 1000003 + static_cast<size_t>(k));
      const std::string& other = texts[(i * 31 + static_cast<size_t>(k)) % texts.size()];
      try_one(k % 4 == 3 ? slipway::fuzz::Mutator().CrossOver(texts[i], other, seed)
                         : slipway::fuzz::Mutator().Mutate(texts[i], seed));
    }
  }
  std::printf("%zu inputs, %d mutants of each\n", texts.size(), mutants);
  return 0;
}
