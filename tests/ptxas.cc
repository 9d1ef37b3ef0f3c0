#include "tests/ptxas.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"

extern char** environ;

namespace slipway {
namespace {

namespace fs = std::filesystem;

// A directory of its own, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (fs::temp_directory_path() / "slipway-ptxas-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Runs a program with its output in `log`; its exit status, or -1.
int RunProgram(std::vector<std::string> arguments, const fs::path& log) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0) return -1;
  // The assembler has bugs of its own; one that never ends must not take the tests with it.
  constexpr int kTurns = 10000;  // Of 10 ms.
  pid_t ended = 0;
  for (int turn = 0; (ended = waitpid(pid, &status, WNOHANG)) == 0; ++turn) {
    if (turn == kTurns) kill(pid, SIGKILL);
    usleep(turn < 20 ? 1000 : 10000);
  }
  if (ended != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

absl::Status NoPtxas() {
  return absl::NotFoundError("ptxas was not found: install the CUDA toolkit, or set PTXAS to its path");
}

// Whether the text has a function or a variable at module scope, as LLVM and people write them: at a line's beginning.
bool DefinesMoreThanAKernel(const std::string& ptx) {
  for (const char* directive : {".func", "\n.global", "\n.const", "\n.visible .global", "\n.visible .const"}) {
    if (absl::StrContains(ptx, directive)) return true;
  }
  return false;
}

// The text with another name for its first kernel, and so for that kernel's parameters as LLVM names them.
std::string Renamed(const std::string& ptx, const std::string& prefix) {
  const size_t entry = ptx.find(".entry ");
  if (entry == std::string::npos) return ptx;
  const size_t begin = entry + 7;
  const std::string name = ptx.substr(begin, ptx.find_first_of(" (\n", begin) - begin);
  auto in_word = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_$%.", c);
  };
  std::string result;
  size_t done = 0;
  for (size_t at = ptx.find(name); at != std::string::npos; at = ptx.find(name, at + name.size())) {
    const size_t end = at + name.size();
    const bool ends = end == ptx.size() || !in_word(ptx[end]) || ptx.compare(end, 7, "_param_") == 0;
    if (!ends || (at > 0 && in_word(ptx[at - 1]))) continue;
    absl::StrAppend(&result, ptx.substr(done, at - done), prefix);
    done = at;
  }
  return result + ptx.substr(done);
}

}  // namespace

std::string FindPtxas() {
  std::vector<std::string> candidates;
  if (const char* given = std::getenv("PTXAS")) candidates.push_back(given);
  if (const char* path = std::getenv("PATH")) {
    for (const auto& directory : absl::StrSplit(path, ':')) candidates.push_back(absl::StrCat(directory, "/ptxas"));
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) candidates.push_back(absl::StrCat(root, "/bin/ptxas"));
  }
  candidates.push_back("/usr/local/cuda/bin/ptxas");
  for (const std::string& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

absl::StatusOr<std::string> Assemble(const std::string& ptx, int sm) {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) return NoPtxas();
  ScratchDirectory scratch;
  std::ofstream(scratch / "kernel.ptx") << ptx;
  const int status = RunProgram({ptxas, "-O3", absl::StrCat("-arch=sm_", sm), "-o", (scratch / "kernel.cubin").string(),
                                 (scratch / "kernel.ptx").string()},
                                scratch / "log");
  if (status != 0) {
    return absl::InvalidArgumentError(absl::StrCat("ptxas for sm_", sm, " failed:\n", ReadFile(scratch / "log")));
  }
  return ReadFile(scratch / "kernel.cubin");
}

absl::Status AssembleAll(const std::vector<std::string>& ptx, int sm) {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) return NoPtxas();
  // Unoptimised: this asks whether the text is accepted, and that is decided before optimisation.
  auto run = [&](absl::Span<const size_t> texts, bool rename) -> absl::Status {
    ScratchDirectory scratch;
    std::vector<std::string> arguments = {ptxas, "-O0", absl::StrCat("-arch=sm_", sm), "-o", "/dev/null"};
    for (size_t i : texts) {
      const fs::path path = scratch / absl::StrCat("text", i, ".ptx");
      std::ofstream(path) << (rename ? Renamed(ptx[i], absl::StrCat("t", i, "_")) : ptx[i]);
      arguments.push_back(path.string());
    }
    if (RunProgram(arguments, scratch / "log") == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("ptxas for sm_", sm, " refuses text ", texts[0], ":\n",
                                                   ReadFile(scratch / "log"), "\n", ptx[texts[0]]));
  };
  // One run takes several files, and starting ptxas is most of what a small kernel costs. It takes them as one program,
  // so kernels are renamed; what a batch says is believed only if it is good, for other names may clash as well. Texts
  // with device functions or tables go alone: where two files have one of the same name, ptxas 13.0 aborts, or never
  // ends.
  std::vector<size_t> shared, alone;
  for (size_t i = 0; i < ptx.size(); ++i) {
    (DefinesMoreThanAKernel(ptx[i]) ? alone : shared).push_back(i);
  }
  constexpr size_t kBatch = 100;
  for (size_t first = 0; first < shared.size(); first += kBatch) {
    const auto batch = absl::MakeConstSpan(shared).subspan(first, kBatch);
    if (batch.size() == 1 || !run(batch, /*rename=*/true).ok()) alone.insert(alone.end(), batch.begin(), batch.end());
  }
  for (size_t i : alone) {
    if (absl::Status status = run({i}, /*rename=*/false); !status.ok()) return status;
  }
  return absl::OkStatus();
}

namespace {

// The section of a kernel's code. NOT_FOUND if the cubin has none.
absl::StatusOr<Elf64_Shdr> FindCode(const std::string& cubin, const std::string& kernel) {
  Elf64_Ehdr header;
  if (cubin.size() < sizeof(header)) return absl::InvalidArgumentError("the cubin is too short to be an ELF file");
  std::memcpy(&header, cubin.data(), sizeof(header));
  auto section = [&](size_t i) {
    Elf64_Shdr result = {};
    const size_t at = header.e_shoff + i * header.e_shentsize;
    if (at + sizeof(result) <= cubin.size()) std::memcpy(&result, cubin.data() + at, sizeof(result));
    return result;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr text = section(i);
    const size_t name_at = names.sh_offset + text.sh_name;
    if (name_at >= cubin.size() || cubin.c_str() + name_at != absl::StrCat(".text.", kernel)) continue;
    if (text.sh_offset + text.sh_size <= cubin.size()) return text;
  }
  return absl::NotFoundError(absl::StrCat("the cubin has no code for kernel '", kernel, "'"));
}

}  // namespace

absl::StatusOr<size_t> CountInstructions(const std::string& cubin, const std::string& kernel) {
  absl::StatusOr<Elf64_Shdr> text = FindCode(cubin, kernel);
  if (!text.ok()) return text.status();
  // The low 12 bits of an instruction hold its opcode, over the bits of its predicate.
  auto opcode = [&](size_t instruction) {
    uint16_t low = 0;
    std::memcpy(&low, cubin.data() + text->sh_offset + 16 * instruction, sizeof(low));
    return low & 0xfff;
  };
  constexpr int kNop = 0x918, kBranch = 0x947;
  size_t count = text->sh_size / 16;
  while (count > 0 && opcode(count - 1) == kNop) --count;
  if (count > 0 && opcode(count - 1) == kBranch) --count;
  return count;
}

absl::StatusOr<int> CountRegisters(const std::string& cubin, const std::string& kernel) {
  absl::StatusOr<Elf64_Shdr> text = FindCode(cubin, kernel);
  if (!text.ok()) return text.status();
  return static_cast<int>(text->sh_info >> 24);
}

}  // namespace slipway
