#include "driver/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway {
namespace {

constexpr uint16_t kCudaMachine = 190;  // EM_CUDA.

// The header of a fatbin, and of each part of it, as fatbinary of CUDA 11 to 13 writes them; little-endian.
constexpr uint32_t kFatbinMagic = 0xBA55ED50;
constexpr uint32_t kWrapperMagic = 0x466243B1;  // The struct that host objects register, which points to a fatbin.
struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t size;  // Of what follows the header.
};
struct PartHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_size;
  uint64_t size;  // Of the bytes that follow, padding included.
  uint32_t compressed_size;
  uint32_t options_offset;
  uint16_t minor, major;
  uint32_t sm;
  uint32_t name_offset, name_size;
  uint64_t flags;
  uint64_t reserved;
  uint64_t unpacked_size;
};
static_assert(sizeof(FatbinHeader) == 16 && sizeof(PartHeader) == 64);
constexpr uint16_t kPtxPart = 1, kCubinPart = 2;
constexpr uint64_t kLz4Flag = 0x2000, kZstdFlag = 0x8000;
constexpr size_t kMaxParts = 4096;

template <class T>
bool ReadAt(std::string_view bytes, uint64_t at, T* value) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(value, bytes.data() + at, sizeof(T));
  return true;
}

// Whether [at, at + size) lies within the bytes.
bool Holds(std::string_view bytes, uint64_t at, uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

template <class... Parts>
absl::Status CutOff(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("the image is cut off: ", parts...));
}

bool IsElf(std::string_view bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

// From EI_ABIVERSION 8 on (CUDA 13) the architecture is the second byte of e_flags, before that the first.
int ArchitectureOf(const Elf64_Ehdr& header) {
  return header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
}

absl::StatusOr<Image> ExamineElf(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!ReadAt(bytes, 0, &header)) return CutOff("an ELF header has ", sizeof(header), " bytes, it has ", bytes.size());
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return absl::InvalidArgumentError("the image is an ELF file of 32 bits or of big-endian order, not a cubin");
  }
  const auto table = [&](const char* what, uint64_t at, uint64_t count, uint64_t size) {
    return Holds(bytes, at, count * size)
               ? absl::OkStatus()
               : CutOff("its ", count, " ", what, " headers at ", at, " end past its ", bytes.size(), " bytes");
  };
  if (absl::Status s = table("section", header.e_shoff, header.e_shnum, header.e_shentsize); !s.ok()) return s;
  if (absl::Status s = table("program", header.e_phoff, header.e_phnum, header.e_phentsize); !s.ok()) return s;
  if (header.e_shentsize >= sizeof(Elf64_Shdr)) {
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      ReadAt(bytes, header.e_shoff + i * header.e_shentsize, &section);
      if (section.sh_type == SHT_NOBITS || Holds(bytes, section.sh_offset, section.sh_size)) continue;
      return CutOff("section ", i, " ends past its ", bytes.size(), " bytes");
    }
  }
  if (header.e_machine != kCudaMachine) return Image{.kind = ImageKind::kObject};
  return Image{.kind = header.e_type == ET_REL ? ImageKind::kRelocatable : ImageKind::kCubin,
               .sm = ArchitectureOf(header)};
}

absl::StatusOr<Image> ExamineFatbin(std::string_view bytes) {
  FatbinHeader header;
  if (!ReadAt(bytes, 0, &header))
    return CutOff("a fatbin's header has ", sizeof(header), " bytes, it has ", bytes.size());
  if (header.header_size < sizeof(header) || !Holds(bytes, header.header_size, header.size)) {
    return CutOff("its header says ", header.header_size, " and ", header.size, " bytes, it has ", bytes.size());
  }
  Image image = {.kind = ImageKind::kFatbin};
  const std::string_view whole = bytes.substr(0, header.header_size + header.size);
  size_t count = 0;
  for (uint64_t at = header.header_size; at < whole.size();) {
    PartHeader part;
    if (!ReadAt(whole, at, &part) || part.header_size < sizeof(part) || !Holds(whole, at, part.header_size) ||
        !Holds(whole, at + part.header_size, part.size)) {
      return CutOff("part ", count + 1, " of the fatbin, at ", at, ", ends past its ", whole.size(), " bytes");
    }
    if (++count > kMaxParts) {
      return absl::InvalidArgumentError(absl::StrCat("the fatbin has more than ", kMaxParts, " parts"));
    }
    FatbinPart found = {.sm = static_cast<int>(std::min<uint32_t>(part.sm, 1 << 16)),
                        .bytes = whole.substr(at + part.header_size, part.size)};
    if ((part.flags & (kLz4Flag | kZstdFlag)) != 0) {
      found.compression = (part.flags & kZstdFlag) != 0 ? Compression::kZstd : Compression::kLz4;
      if (part.compressed_size > part.size) {
        return CutOff("part ", count, " of the fatbin has ", part.size, " bytes, ", part.compressed_size,
                      " of them compressed");
      }
      found.bytes = found.bytes.substr(0, part.compressed_size);
      found.unpacked_size = part.unpacked_size;
    }
    found.kind = part.kind == kPtxPart ? ImageKind::kPtx : ImageKind::kCubin;
    if (part.kind == kPtxPart || part.kind == kCubinPart) image.parts.push_back(found);
    at += part.header_size + part.size;
  }
  return image;
}

bool StartsWith(std::string_view bytes, std::string_view start) { return bytes.substr(0, start.size()) == start; }

// What people load by mistake, by how it begins.
const char* Mistaken(std::string_view bytes) {
  uint32_t magic = 0;
  if (ReadAt(bytes, 0, &magic) && magic == kWrapperMagic) {
    return "the struct of a host object that points to a fatbin; load the fatbin that it points to";
  }
  if (StartsWith(bytes, "BC\xC0\xDE") || StartsWith(bytes, "\xDE\xC0\x17\x0B")) {
    return "LLVM bitcode; give it to DeviceLibrary::FromBitcode, for kernels to call";
  }
  if (StartsWith(bytes, "; ModuleID") || StartsWith(bytes, "target ")) return "LLVM IR; compile it to PTX";
  if (StartsWith(bytes, "\xED\x43\x4E\x56")) return "NVVM IR of link-time optimisation, which is not supported";
  if (StartsWith(bytes, "\x28\xB5\x2F\xFD") || StartsWith(bytes, "\x1F\x8B")) return "compressed; unpack it first";
  return nullptr;
}

// A driver takes for text what begins with none of the binary formats' magic numbers. This asks for a little more: that
// it is text, and has a directive that all PTX has.
absl::Status CheckIsPtx(std::string_view bytes) {
  const size_t end = bytes.find('\0');
  const std::string_view text = bytes.substr(0, end);
  if (text.find(".version") != text.npos) return absl::OkStatus();
  std::string begin;
  for (const char c : text.substr(0, 16)) begin.push_back(c >= ' ' && c < 127 ? c : '?');
  return absl::InvalidArgumentError(
      absl::StrCat("the image is neither PTX text (it has no .version directive), nor a cubin or a fatbin; it has ",
                   bytes.size(), " bytes and begins with '", begin, "'"));
}

}  // namespace

const char* Name(ImageKind kind) {
  switch (kind) {
    case ImageKind::kPtx:
      return "PTX";
    case ImageKind::kCubin:
      return "a cubin";
    case ImageKind::kRelocatable:
      return "a cubin that is not linked";
    case ImageKind::kFatbin:
      return "a fatbin";
    case ImageKind::kObject:
      return "a host object";
    case ImageKind::kArchive:
      return "a host library";
  }
  return "";
}

absl::StatusOr<Image> Examine(std::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the image is empty");
  if (IsElf(bytes)) return ExamineElf(bytes);
  if (uint32_t magic = 0; ReadAt(bytes, 0, &magic) && magic == kFatbinMagic) return ExamineFatbin(bytes);
  if (StartsWith(bytes, "!<arch>\n")) return Image{.kind = ImageKind::kArchive};
  if (const char* mistaken = Mistaken(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the image is ", mistaken));
  }
  if (absl::Status status = CheckIsPtx(bytes); !status.ok()) return status;
  return Image{.kind = ImageKind::kPtx};
}

bool RunsMachineCode(int device_sm, int code_sm) {
  return device_sm / 10 == code_sm / 10 && code_sm % 10 <= device_sm % 10;
}

absl::Status CheckRunsOn(const Image& image, int device_sm) {
  const auto fails = [&](const std::string& has) {
    return absl::FailedPreconditionError(absl::StrCat("the image is ", has, ", and the device is sm_", device_sm,
                                                      ": compile for it, or give PTX of an architecture that is no "
                                                      "newer"));
  };
  if (image.kind == ImageKind::kCubin && !RunsMachineCode(device_sm, image.sm)) {
    return fails(absl::StrCat("a cubin for sm_", image.sm));
  }
  if (image.kind != ImageKind::kFatbin) return absl::OkStatus();
  std::vector<std::string> has;
  for (const FatbinPart& part : image.parts) {
    const bool ptx = part.kind == ImageKind::kPtx;
    if (ptx ? part.sm <= device_sm : RunsMachineCode(device_sm, part.sm)) return absl::OkStatus();
    has.push_back(absl::StrCat(ptx ? "PTX" : "a cubin", " for sm_", part.sm));
  }
  return fails(has.empty() ? "a fatbin with nothing in it" : "a fatbin of " + absl::StrJoin(has, ", "));
}

bool BeginsElf(const void* image) { return std::strncmp(static_cast<const char*>(image), ELFMAG, SELFMAG) == 0; }

size_t FatbinSize(const void* image) {
  const char* const magic = reinterpret_cast<const char*>(&kFatbinMagic);
  if (std::strncmp(static_cast<const char*>(image), magic, sizeof(kFatbinMagic)) != 0) return 0;
  FatbinHeader header;
  std::memcpy(&header, image, sizeof(header));
  return header.header_size + header.size;
}

}  // namespace slipway
