// How fast texts are parsed, of ordinary and of hostile shapes, beside the lexer alone and beside one look at each
// byte.
//
//   text_parse [--json] [--rounds N] [--bytes N]
//   text_parse --once SHAPE --bytes N          parses one text once, for who counts instructions
//
// Megabytes of text in a second, medians; a text that is refused counts like any other.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/text_shapes.h"
#include "jit/text/lexer.h"
#include "jit/text/parser.h"

namespace slipway {
namespace {

using Clock = std::chrono::steady_clock;

template <class Work>
double MegabytesPerSecond(size_t bytes, int rounds, const Work& work) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return static_cast<double>(bytes) / 1e6 / seconds[rounds / 2];
}

size_t CountLines(const std::string& text) {
  size_t lines = 0;
  for (char c : text) lines += c == '\n';
  return lines;
}

int Main(int rounds, size_t bytes, bool json) {
  const char* separator = "[";
  if (!json) std::printf("%-20s %10s %10s %10s\n", "MB/s of", "parsing", "lexing", "looking");
  volatile size_t seen = 0;
  for (std::string_view shape : TextShapes()) {
    const ShapedText made = MakeText(shape, bytes);
    const size_t size = made.text.size() + made.signature.size();
    const std::string& longer = made.text.size() > made.signature.size() ? made.text : made.signature;
    const text::Source source("expression", longer);
    const double parse =
        MegabytesPerSecond(size, rounds, [&] { seen = seen + text::Parse(made.text, made.signature).ok(); });
    const double lex = MegabytesPerSecond(longer.size(), rounds, [&] {
      text::Mistakes mistakes;
      seen = seen + text::Lex(source, mistakes).size();
    });
    const double look = MegabytesPerSecond(longer.size(), rounds, [&] { seen = seen + CountLines(longer); });
    const std::string name(shape);
    if (json) {
      std::printf("%s{\"shape\": \"%s\", \"bytes\": %zu, \"parse_mb_per_s\": %.1f, \"lex_mb_per_s\": %.1f}", separator,
                  name.c_str(), size, parse, lex);
      separator = ",\n ";
    } else {
      std::printf("%-20s %10.1f %10.1f %10.0f\n", name.c_str(), parse, lex, look);
    }
  }
  if (json) std::printf("]\n");
  return 0;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  bool json = false;
  int rounds = 15;
  size_t bytes = size_t{1} << 18;
  std::string once;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--bytes" && i + 1 < argc) {
      bytes = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    } else if (argument == "--once" && i + 1 < argc) {
      once = argv[++i];
    } else if (argument == "--shapes") {
      for (std::string_view shape : slipway::TextShapes()) std::printf("%s\n", std::string(shape).c_str());
      return 0;
    } else {
      std::fprintf(stderr, "usage: text_parse [--json] [--rounds N] [--bytes N] | --once SHAPE --bytes N | --shapes\n");
      return 2;
    }
  }
  if (once.empty()) return slipway::Main(rounds, bytes, json);
  const slipway::ShapedText made = slipway::MakeText(once, bytes);
  return slipway::text::Parse(made.text, made.signature).ok() || true ? 0 : 1;
}
