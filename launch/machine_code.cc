#include "slipway/machine_code.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "launch/toolkit.h"

namespace slipway {
namespace {

using internal::FindTool;
using internal::ReadWholeFile;
using internal::RunTool;
using internal::ScratchFolder;

// The number before `words` in a text: of "200 bytes stack frame, 0 bytes spill stores" the 200 before " bytes stack".
int64_t NumberBefore(std::string_view text, std::string_view words) {
  const size_t end = text.find(words);
  if (end == text.npos) return 0;
  size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  int64_t number = 0;
  std::from_chars(text.data() + begin, text.data() + end, number);
  return number;
}

// What `ptxas -v` prints of a kernel: a line "Compiling entry function 'name' for 'sm_90'", and its properties in the
// lines up to the next kernel's.
KernelResources ParseLog(std::string_view log, const std::string& kernel) {
  const size_t begin = log.find(absl::StrCat("Compiling entry function '", kernel, "'"));
  if (begin == log.npos) return {};
  const std::string_view own = log.substr(begin, log.find("Compiling entry function", begin + 1) - begin);
  KernelResources resources = {.registers = static_cast<int>(NumberBefore(own, " registers")),
                               .shared_bytes = NumberBefore(own, " bytes smem"),
                               .local_bytes = NumberBefore(own, " bytes stack frame")};
  resources.spill_store_bytes = NumberBefore(own, " bytes spill stores");
  resources.spill_load_bytes = NumberBefore(own, " bytes spill loads");
  // Bank 3 has the module's constants (CUDA Binary Utilities); the others have parameters and literals.
  resources.constant_bytes = NumberBefore(own, " bytes cmem[3]");
  return resources;
}

// With nvdisasm, or with cuobjdump; empty without either.
std::string Disassemble(const ScratchFolder& scratch) {
  const std::string cubin = (scratch / "kernel.cubin").string();
  const struct {
    const char* tool;
    const char* option;
  } ways[] = {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}};
  for (const auto& way : ways) {
    const std::string tool = FindTool(way.tool);
    if (!tool.empty() && RunTool({tool, way.option, cubin}, scratch / "sass") == 0) {
      return ReadWholeFile(scratch / "sass");
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<KernelResources> ResourcesOf(const Kernel& kernel) {
  const DriverApi& api = kernel.device().api();
  const ScopedContext context(*kernel.device().state());
  SLIPWAY_RETURN_IF_ERROR(context.status());
  KernelResources resources;
  int registers = 0, shared = 0, local = 0, constant = 0;
  const struct {
    CUfunction_attribute attribute;
    int* value;
  } wanted[] = {{CU_FUNC_ATTRIBUTE_NUM_REGS, &registers},
                {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
                {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
                {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant}};
  for (const auto& each : wanted) {
    const CUresult result = api.FuncGetAttribute(each.value, each.attribute, kernel.plan().function);
    if (result != CUDA_SUCCESS) {
      return DriverStatus(api, result, absl::StrCat("reading the resources of kernel '", kernel.name(), "'"));
    }
  }
  resources.registers = registers;
  resources.shared_bytes = shared;
  resources.local_bytes = local;
  resources.constant_bytes = constant;
  return resources;
}

absl::StatusOr<MachineCode> Assemble(std::string_view ptx, const std::string& kernel, int sm, int level) {
  if (level < 0 || level > 3) {
    return absl::InvalidArgumentError(absl::StrCat("ptxas has levels 0 to 3, not ", level));
  }
  MachineCode code = {.sm = sm, .assembler = FindTool("ptxas")};
  if (code.assembler.empty()) {
    return absl::NotFoundError("ptxas was not found: install the CUDA toolkit, or set PTXAS to its path");
  }
  const ScratchFolder scratch;
  if (!scratch.ok() || !internal::WriteWholeFile(scratch / "kernel.ptx", ptx)) {
    return absl::InternalError(
        "no file can be written in the folder for temporary files; make room there, or set TMPDIR to another");
  }
  const int status = RunTool({code.assembler, "-v", absl::StrCat("-O", level), absl::StrCat("-arch=sm_", sm), "-o",
                              (scratch / "kernel.cubin").string(), (scratch / "kernel.ptx").string()},
                             scratch / "log");
  const std::string log = ReadWholeFile(scratch / "log");
  if (status != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("ptxas for sm_", sm, " failed", status < 0 ? " (it died, or took too long)" : "", ":\n", log));
  }
  code.cubin = ReadWholeFile(scratch / "kernel.cubin");
  SLIPWAY_ASSIGN_OR_RETURN(code.instructions, CountInstructions(code.cubin, kernel));
  code.resources = ParseLog(log, kernel);
  code.sass = Disassemble(scratch);
  return code;
}

namespace {

// The section of a kernel's code.
absl::StatusOr<Elf64_Shdr> FindCode(std::string_view cubin, const std::string& kernel) {
  Elf64_Ehdr header;
  if (cubin.size() < sizeof(header) || std::memcmp(cubin.data(), ELFMAG, SELFMAG) != 0) {
    return absl::InvalidArgumentError("the cubin is no ELF file");
  }
  std::memcpy(&header, cubin.data(), sizeof(header));
  auto section = [&](uint64_t i) {
    Elf64_Shdr result = {};
    const uint64_t at = header.e_shoff + i * header.e_shentsize;
    if (at <= cubin.size() && sizeof(result) <= cubin.size() - at) {
      std::memcpy(&result, cubin.data() + at, sizeof(result));
    }
    return result;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  const std::string wanted = absl::StrCat(".text.", kernel);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr text = section(i);
    const uint64_t name_at = names.sh_offset + text.sh_name;
    if (name_at >= cubin.size() || cubin.size() - name_at <= wanted.size()) continue;
    if (cubin.compare(name_at, wanted.size(), wanted) != 0 || cubin[name_at + wanted.size()] != '\0') continue;
    if (text.sh_offset > cubin.size() || text.sh_size > cubin.size() - text.sh_offset) break;
    return text;
  }
  return absl::NotFoundError(absl::StrCat("the cubin has no code for kernel '", kernel, "'"));
}

}  // namespace

absl::StatusOr<size_t> CountInstructions(std::string_view cubin, const std::string& kernel) {
  SLIPWAY_ASSIGN_OR_RETURN(const Elf64_Shdr text, FindCode(cubin, kernel));
  // The low 12 bits of an instruction hold its opcode, over the bits of its predicate.
  auto opcode = [&](uint64_t instruction) {
    uint16_t low = 0;
    std::memcpy(&low, cubin.data() + text.sh_offset + 16 * instruction, sizeof(low));
    return low & 0xfff;
  };
  constexpr int kNop = 0x918, kBranch = 0x947;
  uint64_t count = text.sh_size / 16;
  while (count > 0 && opcode(count - 1) == kNop) --count;
  if (count > 0 && opcode(count - 1) == kBranch) --count;
  return count;
}

}  // namespace slipway
