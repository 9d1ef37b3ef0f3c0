#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "driver/bytes.h"
#include "driver/compile_history.h"
#include "driver/disk_cache.h"
#include "driver/ptx/join.h"
#include "driver/ptx/names.h"
#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "jit/cuda/device_header.h"
#include "jit/cuda/diagnostics.h"
#include "jit/cuda/include_trace.h"
#include "jit/cuda/includes.h"
#include "jit/cuda/nvrtc.h"
#include "jit/library.h"
#include "jit/memory_cache.h"
#include "launch/shared_modules.h"
#include "launch/toolkit.h"
#include "slipway/cuda.h"

namespace slipway {
namespace {

// Functions that are declared and not defined are left to whoever links the code; those that are defined stay visible.
constexpr char kRelocatable[] = "--relocatable-device-code=true";

// A compile with everything that NVRTC is told.
struct Job {
  const Nvrtc* nvrtc;
  std::string source, file_name;
  std::vector<CudaHeader> headers;
  std::vector<std::string> folders;  // In which headers are looked for.
  std::vector<std::string> options;
  std::vector<std::string> name_expressions;
  bool cubin;
  int sm;
  bool includes_more = false;  // By options that are not looked into.
};

absl::Status CheckOption(const std::string& option) {
  if (option.empty() || option[0] != '-' || option.find_first_of(std::string("\n\r\0", 3)) != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "option '", option, "' is not one of NVRTC's: each begins with '-', stands by itself and has no line break"));
  }
  for (const char* ours : {"--gpu-architecture", "-arch", "--device-as-default-execution-space-arch"}) {
    if (absl::StartsWith(option, ours)) {
      return absl::InvalidArgumentError(
          absl::StrCat("option '", option, "': the target says the architecture; leave it out"));
    }
  }
  for (const char* whole : {"-I", "-D", "-U"}) {
    if (option == whole) {
      return absl::InvalidArgumentError(absl::StrCat("option '", option,
                                                     "' lacks its argument: write it without a blank, as in ", whole,
                                                     option == "-I" ? "/folder" : "NAME"));
    }
  }
  return absl::OkStatus();
}

// Names are lines of what NVRTC is given and of its log.
absl::Status CheckLine(const char* what, const std::string& line) {
  if (line.find_first_of(std::string_view("\n\r\0", 3)) == line.npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " '", absl::Utf8SafeCHexEscape(line), "' has a line break or a NUL; one line is wanted"));
}

absl::StatusOr<Job> MakeJob(std::string_view source, const Target& target, const CudaOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
  Job job = {.nvrtc = nvrtc,
             .source = std::string(source),
             .file_name = options.file_name,
             .headers = options.headers,
             .folders = options.include_paths,
             .options = {},
             .name_expressions = options.name_expressions,
             .cubin = options.cubin,
             .sm = target.sm};
  if (source.find('\0') != source.npos) return absl::InvalidArgumentError("the source has a NUL character in it");
  SLIPWAY_RETURN_IF_ERROR(CheckLine("CudaOptions::file_name", job.file_name));
  for (const std::string& expression : job.name_expressions) {
    SLIPWAY_RETURN_IF_ERROR(CheckLine("CudaOptions::name_expressions:", expression));
  }
  for (const CudaHeader& header : job.headers) {
    SLIPWAY_RETURN_IF_ERROR(CheckLine("CudaOptions::headers:", header.name));
  }
  job.headers.push_back({kDeviceHeaderName, kDeviceHeader});
  for (size_t i = 0; i < options.headers.size(); ++i) {
    for (size_t j = i + 1; j < job.headers.size(); ++j) {
      if (job.headers[i].name != job.headers[j].name) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("header '", job.headers[i].name, "' is given twice",
                       job.headers[i].name == kDeviceHeaderName ? ": Slipway has one of that name" : ""));
    }
  }
  if (options.toolkit_headers && !nvrtc->include_folder.empty()) {
    job.folders.push_back(nvrtc->include_folder);
    const std::string cccl = nvrtc->include_folder + "/cccl";  // Where CUDA 13 keeps <cuda/std/...>.
    std::error_code error;
    if (std::filesystem::is_directory(cccl, error)) job.folders.push_back(cccl);
  }
  if (job.cubin && nvrtc->GetCUBIN == nullptr) {
    return absl::UnimplementedError("this NVRTC makes no cubin; CUDA 11.1 and newer do");
  }
  if (job.cubin && !options.link.empty()) {
    return absl::InvalidArgumentError(
        "CudaOptions::cubin and CudaOptions::link: what is linked becomes PTX; leave one of the two out");
  }
  job.options.push_back(absl::StrCat("--gpu-architecture=", job.cubin ? "sm_" : "compute_", target.sm));
  if (!options.link.empty()) job.options.push_back(kRelocatable);
  bool has_standard = false;
  ptrdiff_t own_folders = 0;
  for (const std::string& option : options.options) {
    SLIPWAY_RETURN_IF_ERROR(CheckOption(option));
    has_standard = has_standard || absl::StartsWith(option, "--std") || absl::StartsWith(option, "-std");
    job.options.push_back(option);
    // Folders stand before all others, as NVRTC searches them, which takes "-I=/folder" and blanks around it, too. What
    // else includes something is not looked into.
    absl::string_view folder = option;
    if (absl::ConsumePrefix(&folder, "--include-path=") || absl::ConsumePrefix(&folder, "-I")) {
      absl::ConsumePrefix(&folder, "=");
      job.folders.insert(job.folders.begin() + own_folders++, std::string(absl::StripAsciiWhitespace(folder)));
    } else if (absl::StrContains(option, "include")) {
      job.includes_more = true;
    }
  }
  if (!has_standard) job.options.push_back("--std=c++17");
  for (const std::string& folder : job.folders) job.options.push_back(absl::StrCat("--include-path=", folder));
  return job;
}

// Owns the program of NVRTC.
class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (handle != nullptr) nvrtc_.DestroyProgram(&handle);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // A text or image whose size is asked for first.
  absl::StatusOr<std::string> Take(nvrtcResult (*size_of)(nvrtcProgram, size_t*),
                                   nvrtcResult (*copy)(nvrtcProgram, char*)) const {
    size_t size = 0;
    nvrtcResult result = size_of(handle, &size);
    std::string text(size, '\0');
    if (result == kNvrtcSuccess) result = copy(handle, text.data());
    if (result != kNvrtcSuccess) return Error("reading what NVRTC made", result);
    return text;
  }
  absl::Status Error(const std::string& what, nvrtcResult result) const {
    return absl::InternalError(absl::StrCat(what, ": ", nvrtc_.GetErrorString(result)));
  }

  nvrtcProgram handle = nullptr;

 private:
  const Nvrtc& nvrtc_;
};

// What may be asked for instead of an architecture that this NVRTC does not know; empty for one that it does.
std::string KnownArchitectures(const Nvrtc& nvrtc, int sm) {
  int count = 0;
  if (nvrtc.GetNumSupportedArchs == nullptr || nvrtc.GetSupportedArchs == nullptr ||
      nvrtc.GetNumSupportedArchs(&count) != kNvrtcSuccess || count <= 0) {
    return "";
  }
  std::vector<int> archs(static_cast<size_t>(count));
  if (nvrtc.GetSupportedArchs(archs.data()) != kNvrtcSuccess || absl::c_linear_search(archs, sm)) return "";
  return absl::StrCat("; it knows sm_", absl::StrJoin(archs, ", sm_"));
}

// `traced`: NVRTC is asked which files it reads. `included` are those that it may read.
absl::StatusOr<CudaCode> CompileWith(const Job& job, const std::vector<std::string>& own_options,
                                     const std::vector<IncludedFile>& included, bool traced = true) {
  const Nvrtc& nvrtc = *job.nvrtc;
  Program program(nvrtc);
  const IncludeTrace trace;
  std::vector<std::string> all_options = own_options;
  if (traced) absl::c_copy(trace.Options(), std::back_inserter(all_options));
  std::vector<const char*> headers, names, options;
  for (const CudaHeader& header : job.headers)
    headers.push_back(header.source.c_str()), names.push_back(header.name.c_str());
  for (const std::string& option : all_options) options.push_back(option.c_str());
  nvrtcResult result = nvrtc.CreateProgram(&program.handle, job.source.c_str(), job.file_name.c_str(),
                                           static_cast<int>(headers.size()), headers.data(), names.data());
  if (result != kNvrtcSuccess) return program.Error("nvrtcCreateProgram", result);
  for (const std::string& expression : job.name_expressions) {
    result = nvrtc.AddNameExpression(program.handle, expression.c_str());
    if (result != kNvrtcSuccess) return program.Error(absl::StrCat("name expression '", expression, "'"), result);
  }
  result = nvrtc.CompileProgram(program.handle, static_cast<int>(options.size()), options.data());
  std::optional<std::vector<std::string>> files = trace.Files(job.headers);
  // It did not come to read anything: perhaps it does not take that.
  if (result != kNvrtcSuccess && traced && !files.has_value()) {
    return CompileWith(job, own_options, included, /*traced=*/false);
  }
  absl::StatusOr<std::string> log = program.Take(nvrtc.GetProgramLogSize, nvrtc.GetProgramLog);
  const Diagnostics diagnostics = ReadLog(log.ok() ? *log : std::string());
  if (result == kNvrtcInvalidOption) {
    return absl::InvalidArgumentError(absl::StrCat("NVRTC ", nvrtc.major, ".", nvrtc.minor,
                                                   " does not take these options (", absl::StrJoin(job.options, " "),
                                                   "): ", diagnostics.Whole(), KnownArchitectures(nvrtc, job.sm)));
  }
  if (result != kNvrtcSuccess) return diagnostics.Failure(job.file_name, nvrtc.GetErrorString(result));

  CudaCode code;
  code.warnings = diagnostics.Warnings();
  if (files.has_value()) {
    code.included = *std::move(files);
  } else {
    for (const IncludedFile& file : included) code.included.push_back(file.path);
  }
  for (const std::string& expression : job.name_expressions) {
    const char* lowered = nullptr;
    result = nvrtc.GetLoweredName(program.handle, expression.c_str(), &lowered);
    if (result != kNvrtcSuccess) {
      return absl::InvalidArgumentError(absl::StrCat(
          "name expression '", expression, "' names no kernel of the source: ", nvrtc.GetErrorString(result)));
    }
    code.lowered_names.emplace_back(expression, lowered);
  }
  SLIPWAY_ASSIGN_OR_RETURN(code.ptx, program.Take(nvrtc.GetPTXSize, nvrtc.GetPTX));
  while (!code.ptx.empty() && code.ptx.back() == '\0') code.ptx.pop_back();
  if (code.ptx.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "NVRTC made no PTX with these options (", absl::StrJoin(job.options, " "),
        "): leave out what asks for other code (-dlto, --optix-ir); CudaOptions::link links device functions"));
  }
  if (job.cubin) {
    SLIPWAY_ASSIGN_OR_RETURN(code.cubin, program.Take(nvrtc.GetCUBINSize, nvrtc.GetCUBIN));
  }
  return code;
}

// NVRTC is quicker where it need not know of textures, surfaces and the runtime's functions on the device, and makes
// the same of what uses none. So it is asked for that first, from CUDA 12.4 on, which has the option; what it does not
// take then is compiled whole, and that is whose errors are shown. A source that asks which of the two it is gets all.
constexpr char kMinimal[] = "--minimal", kMinimalMacro[] = "__CUDACC_RTC_MINIMAL__";

bool TriesMinimal(const Job& job, const std::vector<IncludedFile>& included) {
  if (job.nvrtc->major * 100 + job.nvrtc->minor < 1204 || job.includes_more) return false;
  const auto asks = [](const std::string& text) { return absl::StrContains(text, kMinimalMacro); };
  return !asks(job.source) &&
         absl::c_none_of(job.headers, [&](const CudaHeader& header) { return asks(header.source); }) &&
         absl::c_none_of(included, [&](const IncludedFile& file) { return asks(file.content); });
}

absl::StatusOr<CudaCode> Compile(const Job& job, const std::vector<IncludedFile>& included) {
  if (TriesMinimal(job, included)) {
    std::vector<std::string> options = job.options;
    options.push_back(kMinimal);
    absl::StatusOr<CudaCode> code = CompileWith(job, options, included);
    if (code.ok()) return code;
  }
  return CompileWith(job, job.options, included);
}

constexpr char kKind[] = "cuda";  // In the disk cache and in the history.

// Whether the key says all that a compile read: each file is one that was looked at, and was not changed since. There
// are more ways to have NVRTC read a file than are known here, and files are saved at any time.
bool IsToldByKey(const CudaCode& code, const std::vector<IncludedFile>& included) {
  namespace fs = std::filesystem;
  const auto place = [](const std::string& path) {
    std::error_code error;
    const fs::path found = fs::canonical(path, error);
    return error ? path : found.string();
  };
  std::set<std::string> looked_at;
  for (const IncludedFile& file : included) {
    if (StampOf(file.path) != file.stamp) return false;
    looked_at.insert(place(file.path));
  }
  return absl::c_all_of(code.included, [&](const std::string& path) { return looked_at.contains(place(path)); });
}

// Everything that shapes the code, each file's content included.
std::vector<CompileKeyPart> KeyOf(const Job& job, const std::vector<IncludedFile>& included) {
  std::vector<CompileKeyPart> key = {
      {"options", absl::StrJoin(job.options, " ")},
      {"NVRTC", absl::StrCat(job.nvrtc->major, ".", job.nvrtc->minor, " ", job.nvrtc->file)},
      {"sources", internal::kSourceFingerprint},
      {"names", absl::StrJoin(job.name_expressions, ", ")},
      {"source", internal::ContentHash(job.source)}};
  const auto add = [&](const std::string& name, const std::string& content) {
    key.push_back({absl::StrCat("header ", name), internal::ContentHash(content)});
  };
  for (const CudaHeader& header : job.headers) add(header.name, header.source);
  for (const IncludedFile& file : included) add(file.path, file.content);
  return key;
}

// The same as text, exactly. Its first line is for people, and leaves headers out.
std::string TextOf(const Job& job, std::vector<CompileKeyPart> key) {
  std::string text;
  const auto add = [&](const std::string& part) { absl::StrAppend(&text, part.size(), ":", part); };
  for (const std::string& option : job.options) add(option);
  for (const std::string& expression : job.name_expressions) add("name " + expression);
  add(job.source);
  for (const CompileKeyPart& part : key) add(part.name), add(part.value);
  key.erase(absl::c_find_if(key, [](const CompileKeyPart& part) { return absl::StartsWith(part.name, "header "); }),
            key.end());
  return absl::StrCat(internal::KeyLine(job.file_name, key), "\n", text);
}

template <class Archive, class Code>
void Visit(Archive& archive, Code& code) {
  archive.Text(code.ptx);
  archive.Text(code.cubin);
  archive.Text(code.warnings);
  archive.List(code.lowered_names, [&](auto& pair) {
    archive.Text(pair.first);
    archive.Text(pair.second);
  });
  archive.List(code.included, [&](auto& path) { archive.Text(path); });
}

// Without what it is linked with.
absl::StatusOr<CudaCode> CompileAlone(std::string_view source, const Target& target, const CudaOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Job job, MakeJob(source, target, options));
  bool complete = true;
  // NVRTC looks for names in quotes beside the source, by its name, or else where the program runs.
  const std::string beside = std::filesystem::path(job.file_name).parent_path().string();
  const std::vector<IncludedFile> included =
      FindIncludes(source, beside.empty() ? "." : beside, job.headers, job.folders, &complete);
  const auto begin = std::chrono::steady_clock::now();
  CompileRecord note = {.name = job.file_name, .kind = kKind, .key = KeyOf(job, included)};
  uint64_t record = 0;
  const auto noted = [&](absl::StatusOr<CudaCode> code) {
    note.status = code.status();
    note.microseconds = internal::MicrosecondsSince(begin);
    record = internal::NoteCompile(std::move(note));
    return code;
  };
  // What includes more than is looked at is compiled anew.
  if (!complete || job.includes_more) {
    internal::CountCompile();
    return noted(Compile(job, included));
  }
  const std::string key = TextOf(job, note.key);
  std::optional<CudaCode> one_of_its_kind;  // The next compile with that key may make another.
  const auto compile = [&]() {
    absl::StatusOr<CudaCode> code = Compile(job, included);
    if (code.ok() && !IsToldByKey(*code, included)) one_of_its_kind = *code;
    return code;
  };
  const auto load_or_compile = [&]() -> absl::StatusOr<CudaCode> {
    if (!internal::HasDiskCache()) return noted(compile());
    if (const std::optional<std::string> bytes = internal::LoadFromDisk(kKind, key)) {
      CudaCode code;
      internal::ByteReader reader(*bytes);
      Visit(reader, code);
      code.from_disk = note.from_disk = true;
      if (reader.Done()) return noted(std::move(code));
      note.from_disk = false;
      internal::DropFromDisk(kKind, key);
    }
    absl::StatusOr<CudaCode> code = compile();
    if (code.ok() && !one_of_its_kind.has_value()) {
      internal::ByteWriter writer;
      Visit(writer, *code);
      internal::StoreOnDisk(kKind, key, writer.Take());
    }
    return noted(std::move(code));
  };
  bool from_memory = true;
  absl::StatusOr<std::shared_ptr<const CudaCode>> found =
      internal::RememberedOrMadeAs<CudaCode>(key, [&]() -> absl::StatusOr<internal::Remembered> {
        from_memory = false;
        SLIPWAY_ASSIGN_OR_RETURN(CudaCode code, load_or_compile());
        // An error that is not remembered.
        if (one_of_its_kind.has_value()) return absl::AbortedError("its headers are not those that were looked at");
        const size_t bytes = code.ptx.size() + code.cubin.size() + code.warnings.size();
        return internal::Remembered{std::make_shared<const CudaCode>(std::move(code)), bytes, record};
      });
  if (one_of_its_kind.has_value()) return *std::move(one_of_its_kind);
  if (absl::IsAborted(found.status())) return noted(Compile(job, included));  // Another thread's was.
  SLIPWAY_RETURN_IF_ERROR(found.status());
  CudaCode code = **found;
  code.from_memory = from_memory;
  code.from_disk &= !from_memory;
  return code;
}

}  // namespace

absl::StatusOr<CudaCode> CompileCudaSource(std::string_view source, const Target& target, const CudaOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(CudaCode code, CompileAlone(source, target, options));
  if (options.link.empty()) return code;
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<LinkInput> inputs, options.link.PtxFor(target));
  inputs.insert(inputs.begin(), {options.file_name, std::move(code.ptx)});
  SLIPWAY_ASSIGN_OR_RETURN(code.ptx, JoinPtx(inputs));
  return code;
}

DeviceLibrary CudaLibrary(std::string source, CudaOptions options) {
  // In front, so that the caller's own stand behind, and count.
  options.options.insert(options.options.begin(), kRelocatable);
  std::string name = options.file_name;
  return DeviceLibrary(DeviceLibrary::Parts{internal::MakeLibraryPart(
      std::move(name),
      [source = std::move(source), options = std::move(options)](const Target& target) -> absl::StatusOr<std::string> {
        SLIPWAY_ASSIGN_OR_RETURN(CudaCode code, CompileAlone(source, target, options));
        if (options.link.empty()) return std::move(code.ptx);
        SLIPWAY_ASSIGN_OR_RETURN(std::vector<LinkInput> inputs, options.link.PtxFor(target));
        std::vector<ptx::JoinInput> texts = {{options.file_name, code.ptx}};
        for (const LinkInput& input : inputs) texts.push_back({input.name, input.image});
        return ptx::Join(texts, /*first_is_library=*/true);
      })});
}

absl::StatusOr<std::string> NvrtcVersion() {
  SLIPWAY_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
  return absl::StrCat(nvrtc->major, ".", nvrtc->minor);
}

CudaModule::CudaModule(Device device, CudaCode code)
    : device_(std::move(device)),
      code_(std::make_shared<const CudaCode>(std::move(code))),
      modules_(std::make_shared<internal::SharedModules>()) {
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx = code_->ptx;
  inspection_ = std::move(inspection);
}

namespace {

// Why a module did not load, told by what the source lacks where that is the reason: a driver knows nothing of sources.
absl::Status LoadError(const absl::Status& status, const CudaCode& code) {
  const absl::Status lacks = ptx::Join({{"the source", code.ptx}}).status();
  if (lacks.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(lacks.message(), ". CudaOptions::link gives functions of elsewhere"));
}

}  // namespace

absl::StatusOr<Module> CudaModule::module() const {
  absl::StatusOr<Module> module = modules_->Load(device_, code_->ptx);
  if (!module.ok()) return LoadError(module.status(), *code_);
  return module;
}

const std::string& CudaModule::LoweredName(const std::string& name) const {
  for (const auto& [expression, lowered] : code_->lowered_names) {
    if (expression == name) return lowered;
  }
  return name;
}

absl::StatusOr<Kernel> CudaModule::Get(const std::string& name, Signature signature) const {
  CompiledKernel compiled = {.name = LoweredName(name), .signature = std::move(signature), .inspection = inspection_};
  for (size_t i = 0; i < compiled.signature.size(); ++i) {
    if (compiled.signature[i].name.empty()) compiled.signature[i].name = absl::StrCat("arg", i);
  }
  compiled.modules = modules_;
  absl::StatusOr<Kernel> kernel = Kernel::Load(device_, std::move(compiled));
  if (kernel.status().code() == absl::StatusCode::kNotFound) {
    // What may be asked for: name expressions instead of the names that they became.
    std::vector<std::string> names = ptx::KernelNames(code_->ptx);
    for (const auto& [expression, lowered] : code_->lowered_names) {
      std::replace(names.begin(), names.end(), lowered, expression);
    }
    const std::string hint = DidYouMean(name, std::vector<std::string_view>(names.begin(), names.end()));
    return absl::NotFoundError(absl::StrCat("no kernel '", name, "' in the module", hint.empty() ? "" : " (", hint,
                                            hint.empty() ? "" : ")", "; it has ",
                                            names.empty() ? "none" : absl::StrJoin(names, ", "),
                                            ". Templates and functions that are not extern \"C\" are named in "
                                            "CudaOptions::name_expressions"));
  }
  if (!kernel.ok()) return LoadError(kernel.status(), *code_);
  return kernel;
}

absl::StatusOr<CudaModule> CompileCuda(const Device& device, std::string_view source, const CudaOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  SLIPWAY_ASSIGN_OR_RETURN(CudaCode code, CompileCudaSource(source, target, options));
  return CudaModule(device, std::move(code));
}

absl::StatusOr<CudaModule> CompileCudaFile(const Device& device, const std::string& path, CudaOptions options) {
  bool ok = false;
  const std::string source = internal::ReadWholeFile(path, &ok);
  if (!ok) {
    return absl::NotFoundError(absl::StrCat("CUDA source '", path, "' cannot be read"));
  }
  options.file_name = path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  options.include_paths.insert(options.include_paths.begin(), folder.empty() ? "." : folder);
  return CompileCuda(device, source, options);
}

}  // namespace slipway
