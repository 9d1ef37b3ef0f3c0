#include "tests/ptxas.h"

#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "launch/toolkit.h"

namespace slipway {
namespace {

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

std::string FindPtxas() { return internal::FindTool("ptxas"); }

absl::StatusOr<std::string> Assemble(const std::string& ptx, int sm) {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) return NoPtxas();
  const internal::ScratchFolder scratch;
  internal::WriteWholeFile(scratch / "kernel.ptx", ptx);
  const int status = internal::RunTool({ptxas, "-O3", absl::StrCat("-arch=sm_", sm), "-o",
                                        (scratch / "kernel.cubin").string(), (scratch / "kernel.ptx").string()},
                                       scratch / "log");
  if (status != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("ptxas for sm_", sm, " failed:\n", internal::ReadWholeFile(scratch / "log")));
  }
  return internal::ReadWholeFile(scratch / "kernel.cubin");
}

absl::Status AssembleAll(const std::vector<std::string>& ptx, int sm) {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) return NoPtxas();
  // Unoptimised: this asks whether the text is accepted, and that is decided before optimisation.
  auto run = [&](absl::Span<const size_t> texts, bool rename) -> absl::Status {
    const internal::ScratchFolder scratch;
    std::vector<std::string> arguments = {ptxas, "-O0", absl::StrCat("-arch=sm_", sm), "-o", "/dev/null"};
    for (size_t i : texts) {
      const std::filesystem::path path = scratch / absl::StrCat("text", i, ".ptx");
      internal::WriteWholeFile(path, rename ? Renamed(ptx[i], absl::StrCat("t", i, "_")) : ptx[i]);
      arguments.push_back(path.string());
    }
    if (internal::RunTool(arguments, scratch / "log") == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("ptxas for sm_", sm, " refuses text ", texts[0], ":\n",
                                                   internal::ReadWholeFile(scratch / "log"), "\n", ptx[texts[0]]));
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

}  // namespace slipway
