// Programs of the CUDA toolkit, where it is installed: finding them and running them.
#ifndef SLIPWAY_LAUNCH_TOOLKIT_H_
#define SLIPWAY_LAUNCH_TOOLKIT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::internal {

// The path of a program such as "ptxas": what the environment variable of its name in capitals says ($PTXAS), the PATH,
// the bin folder of $CUDA_HOME and $CUDA_PATH, /usr/local/cuda/bin; empty if it is nowhere.
std::string FindTool(std::string_view name);

// A folder of its own for files that are passed to a program, removed at the end. Empty if none can be made.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  bool ok() const { return !path_.empty(); }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Runs a program, by its path and arguments, with what it prints in the file `log`. Its exit status; -1 if it cannot be
// run, dies of a signal, or takes longer than a minute and a half, after which it is ended: assemblers have bugs of
// their own. Nothing is read by a shell.
int RunTool(std::vector<std::string> arguments, const std::filesystem::path& log);

// Of what cannot be read (*ok is false, then), what could be read of it; of what has no end, `most` bytes.
std::string ReadWholeFile(const std::filesystem::path& path, bool* ok = nullptr, size_t most = SIZE_MAX);
bool WriteWholeFile(const std::filesystem::path& path, std::string_view bytes);

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_TOOLKIT_H_
