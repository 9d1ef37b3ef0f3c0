#include "slipway/kernel_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/bytes.h"
#include "driver/status_macros.h"
#include "launch/shared_modules.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace slipway {
namespace {

// Header, rows of kernels, rows of texts, and what the rows tell of. The header's checksum covers the header, a row's
// what it tells of, and a kernel's the row, too. Rows are sorted, so that one is found without a look at all others; a
// search comes by those on both sides of what it finds, and so by each that may have been changed to hide a kernel.
constexpr char kMagic[16] = "slipway kernel7";
struct Header {
  char magic[sizeof(kMagic)] = {};
  uint64_t checksum[2] = {};  // Of what follows in the header.
  uint64_t kernels = 0;
  uint64_t texts = 0;
  uint64_t bytes = 0;  // Of all.
};
constexpr size_t kChecksumFrom = offsetof(Header, kernels);
struct Place {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t checksum[2] = {};
};
struct KernelRow {
  uint64_t name_hash = 0;
  uint64_t number = 0;  // In the order in which they were saved.
  Place place;
  uint64_t checksum = 0;  // Of what is before it.
  bool operator<(const KernelRow& other) const {
    return std::tie(name_hash, number) < std::tie(other.name_hash, other.number);
  }
};

struct Record {
  CompiledKernel kernel;
  uint64_t number = 0;  // As its row has it.
  uint64_t text = 0;    // Its PTX, by the row.
};
template <class Bytes, class R>
void Visit(Bytes& bytes, R& record) {
  auto& kernel = record.kernel;
  bytes.Text(kernel.name);
  bytes.Number(record.number);
  bytes.Number(record.text);
  bytes.Number(kernel.grid_stride);
  bytes.Number(kernel.along_x);
  bytes.Number(kernel.syncs_grid);
  bytes.Text(kernel.captured);
  bytes.List(kernel.checks, [&](auto& message) { bytes.Text(message); });
  bytes.List(kernel.signature, [&](auto& param) {
    bytes.Text(param.name);
    bytes.Number(param.kind);
    bytes.Number(param.dtype);
    bytes.Number(param.rank);
    bytes.Number(param.layout);
    bytes.Number(param.index);
    bytes.Number(param.vector);
    bytes.Number(param.vector_rows);
    bytes.Number(param.read_only);
    bytes.Number(param.struct_size);
    bytes.Number(param.struct_align);
  });
}

uint64_t NameHash(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }
void PutChecksum(std::string_view bytes, uint64_t (&checksum)[2]) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  checksum[0] = hash.low64;
  checksum[1] = hash.high64;
}
bool HasChecksum(std::string_view bytes, const uint64_t (&checksum)[2]) {
  uint64_t now[2];
  PutChecksum(bytes, now);
  return now[0] == checksum[0] && now[1] == checksum[1];
}
template <class T>
std::string_view BytesOf(const T& plain) {
  return {reinterpret_cast<const char*>(&plain), sizeof(plain)};
}
std::string_view CheckedPart(const Header& header) { return BytesOf(header).substr(kChecksumFrom); }
uint64_t ChecksumOf(const KernelRow& row) { return XXH3_64bits(&row, offsetof(KernelRow, checksum)); }

absl::Status Wrong() {
  return absl::DataLossError(
      "these are no kernels that this version of Slipway saved, or a part or a changed copy of such");
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
  std::vector<std::string_view> texts;
  std::map<std::string_view, uint64_t> known;
  std::vector<std::string> records;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const CompiledKernel& kernel = kernels[i];
    const std::string_view ptx = kernel.inspection == nullptr ? std::string_view() : kernel.inspection->ptx;
    const auto [text, is_new] = known.emplace(ptx, texts.size());
    if (is_new) texts.push_back(ptx);
    internal::ByteWriter writer;
    const Record record{kernel, i, text->second};
    Visit(writer, record);
    records.push_back(writer.Take());
  }
  uint64_t end = sizeof(Header) + records.size() * sizeof(KernelRow) + texts.size() * sizeof(Place);
  std::string content;
  const auto place = [&](std::string_view bytes) {
    Place place{.offset = end, .size = bytes.size()};
    PutChecksum(bytes, place.checksum);
    content.append(bytes);
    end += bytes.size();
    return place;
  };
  std::vector<KernelRow> kernel_rows;
  for (size_t i = 0; i < records.size(); ++i) {
    KernelRow row{.name_hash = NameHash(kernels[i].name), .number = i, .place = place(records[i])};
    row.checksum = ChecksumOf(row);
    kernel_rows.push_back(row);
  }
  std::sort(kernel_rows.begin(), kernel_rows.end());
  std::vector<Place> text_rows;
  for (const std::string_view text : texts) text_rows.push_back(place(text));

  Header header{.kernels = records.size(), .texts = texts.size(), .bytes = end};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  PutChecksum(CheckedPart(header), header.checksum);
  std::string bytes(BytesOf(header));
  for (const KernelRow& row : kernel_rows) bytes.append(BytesOf(row));
  for (const Place& row : text_rows) bytes.append(BytesOf(row));
  return bytes + content;
}

struct KernelArchive::State {
  struct Text {
    std::shared_ptr<const Inspection> inspection;
    std::shared_ptr<internal::SharedModules> modules;
  };

  ~State() {
    if (file >= 0) close(file);
  }

  // From the file or from memory; false if it is not there.
  bool Read(uint64_t offset, uint64_t size, char* bytes) const {
    if (offset > bytes_there || size > bytes_there - offset) return false;
    if (file < 0) {
      memory.copy(bytes, size, offset);
      return true;
    }
    for (uint64_t done = 0; done < size;) {
      const ssize_t got = pread(file, bytes + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<uint64_t>(got);
    }
    return true;
  }
  template <class T>
  bool Read(uint64_t offset, T* plain) const {
    return Read(offset, sizeof(T), reinterpret_cast<char*>(plain));
  }
  absl::StatusOr<std::string> Read(const Place& place) const {
    if (place.size > bytes_there) return error;
    std::string bytes(place.size, '\0');
    if (!Read(place.offset, place.size, bytes.data()) || !HasChecksum(bytes, place.checksum)) return error;
    return bytes;
  }
  absl::StatusOr<KernelRow> RowOf(uint64_t at) const {
    KernelRow row;
    if (!Read(sizeof(Header) + at * sizeof(KernelRow), &row) || row.checksum != ChecksumOf(row)) return error;
    return row;
  }

  absl::Status Start() {
    if (!Read(0, &header) || std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.bytes != bytes_there ||
        !HasChecksum(CheckedPart(header), header.checksum)) {
      return error;
    }
    return absl::OkStatus();
  }

  // The first row that is not below.
  absl::StatusOr<uint64_t> LowerBound(uint64_t name_hash) const {
    uint64_t from = 0, to = header.kernels;
    while (from < to) {
      const uint64_t middle = from + (to - from) / 2;
      SLIPWAY_ASSIGN_OR_RETURN(const KernelRow row, RowOf(middle));
      if (row.name_hash < name_hash) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  absl::StatusOr<CompiledKernel> Decode(const KernelRow& row) {
    SLIPWAY_ASSIGN_OR_RETURN(const std::string bytes, Read(row.place));
    Record record;
    internal::ByteReader reader(bytes);
    Visit(reader, record);
    if (!reader.Done() || record.text >= header.texts || record.number != row.number ||
        NameHash(record.kernel.name) != row.name_hash) {
      return error;
    }
    SLIPWAY_ASSIGN_OR_RETURN(const Text text, TextOf(record.text));
    record.kernel.inspection = text.inspection;
    record.kernel.modules = text.modules;
    return std::move(record.kernel);
  }

  absl::StatusOr<Text> TextOf(uint64_t number) {
    const std::lock_guard lock(mutex);
    if (const auto known = texts.find(number); known != texts.end()) return known->second;
    Place place;
    if (!Read(sizeof(Header) + header.kernels * sizeof(KernelRow) + number * sizeof(Place), &place)) return error;
    auto inspection = std::make_shared<Inspection>();
    SLIPWAY_ASSIGN_OR_RETURN(inspection->ptx, Read(place));
    return texts.emplace(number, Text{std::move(inspection), std::make_shared<internal::SharedModules>()})
        .first->second;
  }

  std::string_view memory;
  int file = -1;
  uint64_t bytes_there = 0;
  absl::Status error = Wrong();  // With the path, if there is one.
  Header header;
  std::mutex mutex;                          // Guards what follows.
  std::unordered_map<uint64_t, Text> texts;  // Those that were asked for.
};

absl::StatusOr<KernelArchive> KernelArchive::FromBytes(std::string_view bytes) {
  auto state = std::make_shared<State>();
  state->memory = bytes;
  state->bytes_there = bytes.size();
  SLIPWAY_RETURN_IF_ERROR(state->Start());
  return KernelArchive(std::move(state));
}

absl::StatusOr<KernelArchive> KernelArchive::Open(const std::string& path) {
  auto state = std::make_shared<State>();
  struct stat info;
  state->file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (state->file < 0 || fstat(state->file, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("kernels cannot be read from '", path, "'"));
  }
  state->bytes_there = static_cast<uint64_t>(info.st_size);
  state->error = absl::DataLossError(absl::StrCat("'", path, "': ", Wrong().message()));
  SLIPWAY_RETURN_IF_ERROR(state->Start());
  return KernelArchive(std::move(state));
}

size_t KernelArchive::size() const { return state_->header.kernels; }

absl::StatusOr<std::vector<CompiledKernel>> KernelArchive::FindAll(std::string_view name) const {
  const uint64_t hash = NameHash(name);
  std::vector<CompiledKernel> found;
  SLIPWAY_ASSIGN_OR_RETURN(uint64_t at, state_->LowerBound(hash));
  for (; at < size(); ++at) {
    SLIPWAY_ASSIGN_OR_RETURN(const KernelRow row, state_->RowOf(at));
    if (row.name_hash != hash) break;
    SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel kernel, state_->Decode(row));
    if (kernel.name == name) found.push_back(std::move(kernel));
  }
  return found;
}

absl::StatusOr<CompiledKernel> KernelArchive::Find(std::string_view name) const {
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<CompiledKernel> found, FindAll(name));
  if (!found.empty()) return std::move(found.front());
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<CompiledKernel> all, All());
  const auto append = [](std::string* out, const CompiledKernel& kernel) { *out += kernel.name; };
  return absl::NotFoundError(
      absl::StrCat("no kernel is called '", AsAbsl(name), "'; there are ", absl::StrJoin(all, ", ", append)));
}

absl::StatusOr<std::vector<CompiledKernel>> KernelArchive::All() const {
  std::vector<std::optional<CompiledKernel>> found;
  KernelRow before;
  for (uint64_t at = 0; at < size(); ++at) {
    SLIPWAY_ASSIGN_OR_RETURN(const KernelRow row, state_->RowOf(at));
    if (row.number >= size() || (at != 0 && !(before < row))) return state_->error;
    before = row;
    found.resize(size());  // Which is right, since there are as many rows.
    SLIPWAY_ASSIGN_OR_RETURN(found[row.number], state_->Decode(row));
  }
  std::vector<CompiledKernel> all;
  for (std::optional<CompiledKernel>& kernel : found) {
    if (!kernel.has_value()) return state_->error;
    all.push_back(*std::move(kernel));
  }
  return all;
}

absl::Status SaveKernels(const std::string& path, absl::Span<const CompiledKernel> kernels) {
  const std::string temporary = absl::StrCat(path, ".tmp-", std::random_device()());
  const std::string bytes = EncodeKernels(kernels);
  std::error_code error;
  {
    errno = 0;
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) error = std::error_code(errno == 0 ? EIO : errno, std::generic_category());
  }
  if (!error) std::filesystem::rename(temporary, path, error);
  if (!error) return absl::OkStatus();
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return absl::InternalError(absl::StrCat("kernels cannot be written to '", path, "': ", error.message()));
}

absl::StatusOr<std::string> KernelsAsSource(absl::Span<const CompiledKernel> kernels, std::string_view name) {
  if (!IsIdentifier(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", AsAbsl(name), "' is no identifier of C++, which the bytes could be called by"));
  }
  const std::string bytes = EncodeKernels(kernels);
  std::string out = absl::StrCat(
      "// Kernels for slipway::KernelArchive; made by slipway::KernelsAsSource.\n"
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
