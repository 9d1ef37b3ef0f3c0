#include "jit/cuda/includes.h"

#include <sys/stat.h>

#include <cctype>
#include <deque>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 4096, kMaxBytes = size_t{64} << 20;

// The names in a text's #include directives; those in quotes may stand beside the file.
struct Directive {
  std::string name;
  bool quoted;
};

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// Without line continuations, which may stand anywhere, in the middle of a word too.
std::string Spliced(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
    } else if (text[i] == '\\' && text.substr(i + 1, 2) == "\r\n") {
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Where blanks and comments end that begin at `at`, on the same line.
size_t SkipBlanks(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      if (end == text.npos) return text.size();
      at = end + 2;
    } else if (text[at] == ' ' || text[at] == '\t' || text[at] == '\v' || text[at] == '\f' || text[at] == '(') {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

// What may be included: a name after every word that can ask for one, whether or not a comment, a string or an #if
// hides it, for too much does no harm. `clear` is false if one of these words stands in a directive and no name
// follows: a macro, which only a preprocessor knows.
std::vector<Directive> Directives(std::string_view original, bool* clear) {
  std::vector<Directive> found;
  const std::string text = Spliced(original);
  for (const std::string_view word : {"include", "include_next", "__has_include", "import", "embed", "__has_embed"}) {
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const size_t end = at + word.size();
      if ((at > 0 && InWord(text[at - 1])) || (end < text.size() && InWord(text[end]))) continue;
      const size_t name = SkipBlanks(text, end);
      const char open = name < text.size() ? text[name] : '\n';
      const size_t close =
          open == '<' || open == '"' ? text.find_first_of(open == '<' ? ">\n" : "\"\n", name + 1) : text.npos;
      if (close != text.npos && text[close] != '\n') {
        found.push_back({text.substr(name + 1, close - name - 1), open == '"'});
        // Which file is the next one, and whether one counts at all, is the preprocessor's business.
        if (word == "include_next") *clear = false;
        continue;
      }
      const size_t line = text.rfind('\n', at) + 1;  // 0 on the first line.
      const std::string_view before = std::string_view(text).substr(line, at - line);
      if (before.find('#') != before.npos || before.find("%:") != before.npos || before.find("?\?=") != before.npos) {
        *clear = false;
      }
    }
  }
  return found;
}

bool Read(const std::string& path, std::string* content) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  bool ok = false;
  *content = internal::ReadWholeFile(path, &ok);
  return ok;
}

}  // namespace

std::string StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_ctim.tv_sec, ".",
                      info.st_ctim.tv_nsec);
}

std::string NormalPath(const std::string& path) {
  std::string normal = fs::path(path).lexically_normal().string();
  std::error_code error;
  return normal == path || fs::equivalent(normal, path, error) ? normal : path;
}

std::vector<IncludedFile> FindIncludes(std::string_view source, const std::string& beside,
                                       const std::vector<CudaHeader>& headers, const std::vector<std::string>& folders,
                                       bool* complete) {
  std::vector<IncludedFile> files;
  std::set<std::string> seen;  // Paths, and names of headers in memory.
  size_t bytes = 0;
  *complete = true;
  // Texts whose directives are still to be looked at, with their folders.
  std::deque<std::pair<std::string, std::string>> open = {{std::string(source), beside}};
  for (const CudaHeader& header : headers) {
    open.emplace_back(header.source, beside);
    // Whose name has a folder looks there, too.
    if (const std::string folder = fs::path(header.name).parent_path().string(); !folder.empty()) {
      open.emplace_back(header.source, folder);
    }
  }
  while (!open.empty()) {
    const auto [text, folder] = std::move(open.front());
    open.pop_front();
    for (const Directive& directive : Directives(text, complete)) {
      bool in_memory = false;
      for (const CudaHeader& header : headers) in_memory = in_memory || header.name == directive.name;
      if (in_memory) continue;
      std::vector<std::string> candidates;
      if (fs::path(directive.name).is_absolute()) candidates.push_back(directive.name);
      if (directive.quoted) candidates.push_back(folder + "/" + directive.name);
      for (const std::string& each : folders) candidates.push_back(each + "/" + directive.name);
      for (const std::string& candidate : candidates) {
        std::string content;
        const std::string path = NormalPath(candidate);
        if (seen.count(path) != 0) break;
        std::string stamp = StampOf(path);
        if (stamp.empty() || !Read(path, &content)) continue;
        seen.insert(path);
        bytes += content.size();
        if (files.size() == kMaxFiles || bytes > kMaxBytes) {
          *complete = false;
          return files;
        }
        open.emplace_back(content, fs::path(path).parent_path().string());
        files.push_back({path, std::move(content), std::move(stamp)});
        break;
      }
    }
  }
  return files;
}

}  // namespace slipway
