#include "slipway/kernel_archive.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/bytes.h"
#include "driver/status_macros.h"
#include "launch/shared_modules.h"
#include "launch/toolkit.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace slipway {
namespace {

// "slipway kernels" and the version of the form; then a checksum of what follows.
constexpr char kMagic[16] = "slipway kernel1";
constexpr size_t kHeaderBytes = sizeof(kMagic) + 2 * sizeof(uint64_t);

struct Entry {
  CompiledKernel kernel;
  uint64_t text = 0;  // Index of its PTX.
};
struct Archive {
  std::vector<std::string> texts;
  std::vector<Entry> entries;
};

template <class Bytes, class A>
void Visit(Bytes& bytes, A& archive) {
  bytes.List(archive.texts, [&](auto& text) { bytes.Text(text); });
  bytes.List(archive.entries, [&](auto& entry) {
    auto& kernel = entry.kernel;
    bytes.Text(kernel.name);
    bytes.Number(entry.text);
    bytes.Number(kernel.grid_stride);
    bytes.Number(kernel.along_x);
    bytes.Number(kernel.syncs_grid);
    bytes.Text(kernel.captured);
    bytes.List(kernel.signature, [&](auto& param) {
      bytes.Text(param.name);
      bytes.Number(param.kind);
      bytes.Number(param.dtype);
      bytes.Number(param.rank);
      bytes.Number(param.layout);
      bytes.Number(param.index);
      bytes.Number(param.vector);
      bytes.Number(param.read_only);
      bytes.Number(param.struct_size);
      bytes.Number(param.struct_align);
    });
  });
}

bool IsIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return true;
}

}  // namespace

std::string EncodeKernels(absl::Span<const CompiledKernel> kernels) {
  Archive archive;
  std::map<std::string_view, uint64_t> known;
  for (const CompiledKernel& kernel : kernels) {
    const std::string_view ptx = kernel.inspection == nullptr ? std::string_view() : kernel.inspection->ptx;
    const auto [text, is_new] = known.emplace(ptx, archive.texts.size());
    if (is_new) archive.texts.emplace_back(ptx);
    archive.entries.push_back({kernel, text->second});
  }
  internal::ByteWriter writer;
  Visit(writer, archive);
  const std::string body = writer.Take();
  const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
  const uint64_t checksum[2] = {hash.low64, hash.high64};
  std::string bytes(kMagic, sizeof(kMagic));
  bytes.append(reinterpret_cast<const char*>(checksum), sizeof(checksum));
  return bytes + body;
}

absl::StatusOr<std::vector<CompiledKernel>> DecodeKernels(std::string_view bytes) {
  const absl::Status wrong = absl::DataLossError(
      "these are no kernels that this version of Slipway saved, or a part or a changed copy of such");
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) return wrong;
  uint64_t checksum[2];
  std::memcpy(checksum, bytes.data() + sizeof(kMagic), sizeof(checksum));
  bytes.remove_prefix(kHeaderBytes);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  if (checksum[0] != hash.low64 || checksum[1] != hash.high64) return wrong;
  Archive archive;
  internal::ByteReader reader(bytes);
  Visit(reader, archive);
  if (!reader.Done()) return wrong;

  struct Text {
    std::shared_ptr<const Inspection> inspection;
    std::shared_ptr<internal::SharedModules> modules;
  };
  std::vector<Text> texts;
  for (std::string& ptx : archive.texts) {
    auto inspection = std::make_shared<Inspection>();
    inspection->ptx = std::move(ptx);
    texts.push_back({std::move(inspection), std::make_shared<internal::SharedModules>()});
  }
  std::vector<CompiledKernel> kernels;
  for (Entry& entry : archive.entries) {
    if (entry.text >= texts.size()) return wrong;
    entry.kernel.inspection = texts[entry.text].inspection;
    entry.kernel.modules = texts[entry.text].modules;
    kernels.push_back(std::move(entry.kernel));
  }
  return kernels;
}

absl::Status SaveKernels(const std::string& path, absl::Span<const CompiledKernel> kernels) {
  const std::string temporary = absl::StrCat(path, ".tmp-", std::random_device()());
  const std::string bytes = EncodeKernels(kernels);
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(temporary, path, error);
  if (!error) return absl::OkStatus();
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return absl::InternalError(absl::StrCat("kernels cannot be written to '", path, "': ", error.message()));
}

absl::StatusOr<std::vector<CompiledKernel>> LoadKernels(const std::string& path) {
  bool ok = false;
  const std::string bytes = internal::ReadWholeFile(path, &ok);
  if (!ok) return absl::NotFoundError(absl::StrCat("kernels cannot be read from '", path, "'"));
  absl::StatusOr<std::vector<CompiledKernel>> kernels = DecodeKernels(bytes);
  if (kernels.ok()) return kernels;
  return absl::Status(kernels.status().code(), absl::StrCat("'", path, "': ", kernels.status().message()));
}

absl::StatusOr<CompiledKernel> FindKernel(absl::Span<const CompiledKernel> kernels, std::string_view name) {
  for (const CompiledKernel& kernel : kernels) {
    if (kernel.name == name) return kernel;
  }
  const auto append = [](std::string* out, const CompiledKernel& kernel) { *out += kernel.name; };
  return absl::NotFoundError(
      absl::StrCat("no kernel is called '", AsAbsl(name), "'; there are ", absl::StrJoin(kernels, ", ", append)));
}

absl::StatusOr<std::string> KernelsAsSource(absl::Span<const CompiledKernel> kernels, std::string_view name) {
  if (!IsIdentifier(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", AsAbsl(name), "' is no identifier of C++, which the bytes could be called by"));
  }
  const std::string bytes = EncodeKernels(kernels);
  std::string out = absl::StrCat(
      "// Kernels for slipway::DecodeKernels; made by slipway::KernelsAsSource.\n"
      "extern const unsigned char ",
      AsAbsl(name), "[];\nextern const unsigned long ", AsAbsl(name), "_size;\nconst unsigned char ", AsAbsl(name),
      "[] = {");
  for (size_t i = 0; i < bytes.size(); ++i) {
    absl::StrAppend(&out, i % 24 == 0 ? "\n  " : "", static_cast<int>(static_cast<unsigned char>(bytes[i])), ",");
  }
  absl::StrAppend(&out, "\n};\nconst unsigned long ", AsAbsl(name), "_size = sizeof(", AsAbsl(name), ");\n");
  return out;
}

}  // namespace slipway
