#include "launch/toolkit.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

extern char** environ;

namespace slipway::internal {

namespace fs = std::filesystem;

std::string FindTool(std::string_view name) {
  const std::string tool(name);
  std::vector<std::string> candidates;
  if (const char* given = std::getenv(absl::AsciiStrToUpper(tool).c_str())) candidates.push_back(given);
  if (const char* path = std::getenv("PATH")) {
    for (const auto& folder : absl::StrSplit(path, ':')) candidates.push_back(absl::StrCat(folder, "/", tool));
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) candidates.push_back(absl::StrCat(root, "/bin/", tool));
  }
  candidates.push_back(absl::StrCat("/usr/local/cuda/bin/", tool));
  for (const std::string& candidate : candidates) {
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored) && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

ScratchFolder::ScratchFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return;
  std::string pattern = (parent / "slipway-XXXXXX").string();
  if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}
ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

int RunTool(std::vector<std::string> arguments, const fs::path& log) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  auto pause = std::chrono::milliseconds(1);
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(pid, SIGKILL);
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(10)) pause += std::chrono::milliseconds(1);
  }
  if (ended != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Through the stream, which turns what goes wrong into a state. A stream's buffer throws, of a folder for one.
std::string ReadWholeFile(const fs::path& path, bool* ok, size_t most) {
  std::ifstream stream(path, std::ios::binary);
  std::string content;
  char piece[4096];
  while (content.size() < most && (stream.read(piece, sizeof(piece)) || stream.gcount() > 0)) {
    content.append(piece, std::min(static_cast<size_t>(stream.gcount()), most - content.size()));
  }
  if (ok != nullptr) *ok = stream.is_open() && !stream.bad();
  return content;
}

bool WriteWholeFile(const fs::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return stream.flush().good();
}

}  // namespace slipway::internal
