#include "jit/cuda/includes.h"

#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 4096, kMaxBytes = size_t{64} << 20;

// The names in a text's #include directives; those in quotes may stand beside the file.
struct Directive {
  std::string name;
  bool quoted;
};

std::vector<Directive> Directives(std::string_view text) {
  std::vector<Directive> found;
  const auto skip_blanks = [](std::string_view* line) {
    while (!line->empty() && (line->front() == ' ' || line->front() == '\t')) line->remove_prefix(1);
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    skip_blanks(&line);
    if (line.empty() || line.front() != '#') continue;
    line.remove_prefix(1);
    skip_blanks(&line);
    if (line.substr(0, 7) != "include") continue;
    line.remove_prefix(7);
    skip_blanks(&line);
    if (line.empty() || (line.front() != '<' && line.front() != '"')) continue;
    const bool quoted = line.front() == '"';
    const size_t close = line.find(quoted ? '"' : '>', 1);
    if (close != line.npos) found.push_back({std::string(line.substr(1, close - 1)), quoted});
  }
  return found;
}

bool Read(const std::string& path, std::string* content) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream stream(path, std::ios::binary);
  content->assign(std::istreambuf_iterator<char>(stream), {});
  return stream.good() || stream.eof();
}

}  // namespace

std::vector<IncludedFile> FindIncludes(std::string_view source, const std::string& beside,
                                       const std::vector<CudaHeader>& headers, const std::vector<std::string>& folders,
                                       bool* complete) {
  std::vector<IncludedFile> files;
  std::set<std::string> seen;  // Paths, and names of headers in memory.
  size_t bytes = 0;
  *complete = true;
  // Texts whose directives are still to be looked at, with their folders.
  std::deque<std::pair<std::string, std::string>> open = {{std::string(source), beside}};
  for (const CudaHeader& header : headers) open.emplace_back(header.source, beside);
  while (!open.empty()) {
    const auto [text, folder] = std::move(open.front());
    open.pop_front();
    for (const Directive& directive : Directives(text)) {
      bool in_memory = false;
      for (const CudaHeader& header : headers) in_memory = in_memory || header.name == directive.name;
      if (in_memory) continue;
      std::vector<std::string> candidates;
      if (fs::path(directive.name).is_absolute()) candidates.push_back(directive.name);
      if (directive.quoted) candidates.push_back(folder + "/" + directive.name);
      for (const std::string& each : folders) candidates.push_back(each + "/" + directive.name);
      for (const std::string& candidate : candidates) {
        std::string content;
        const std::string path = fs::path(candidate).lexically_normal().string();
        if (seen.count(path) != 0) break;
        if (!Read(path, &content)) continue;
        seen.insert(path);
        bytes += content.size();
        if (files.size() == kMaxFiles || bytes > kMaxBytes) {
          *complete = false;
          return files;
        }
        open.emplace_back(content, fs::path(path).parent_path().string());
        files.push_back({path, std::move(content)});
        break;
      }
    }
  }
  return files;
}

}  // namespace slipway
