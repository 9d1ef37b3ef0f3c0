#include "driver/cpu/image_ptx.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "driver/image.h"
#include "driver/status_macros.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Error.h"

namespace slipway::cpu {
namespace {

constexpr uint64_t kMaxText = uint64_t{1} << 30;  // What a part claims to unpack to is a claim from outside.

absl::Status Damaged(const char* format) {
  return absl::InvalidArgumentError(absl::StrCat("the PTX in the fatbin cannot be unpacked: it is no ", format,
                                                 " data of the size that the header says"));
}

absl::StatusOr<std::string> UnpackZstd(std::string_view bytes, size_t size) {
  if (!llvm::compression::zstd::isAvailable()) {
    return absl::UnimplementedError(
        "the PTX in the fatbin is packed by zstd, which this LLVM was built without; make it with "
        "--compress-mode=speed or none");
  }
  std::string text(size, '\0');
  size_t unpacked = size;
  llvm::Error error =
      llvm::compression::zstd::decompress({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                          reinterpret_cast<uint8_t*>(text.data()), unpacked);
  if (error) {
    llvm::consumeError(std::move(error));
    return Damaged("zstd");
  }
  if (unpacked != size) return Damaged("zstd");
  return text;
}

absl::Status NoPtx(const std::string& is) {
  return absl::FailedPreconditionError(
      absl::StrCat("the CPU device takes PTX text, not machine code for a GPU (this is ", is,
                   "): load the PTX that it was made from, or a fatbin that has it (nvcc -gencode "
                   "arch=compute_75,code=compute_75)"));
}

}  // namespace

absl::StatusOr<std::string> PtxAt(const void* image, int sm) {
  const auto* const bytes = static_cast<const char*>(image);
  if (BeginsElf(image)) return NoPtx(Name(ImageKind::kCubin));
  if (const size_t size = FatbinSize(image); size != 0) return PtxOf({bytes, size}, sm);
  return std::string(bytes);
}

absl::StatusOr<std::string> UnpackLz4(std::string_view block, size_t size) {
  constexpr size_t kMinMatch = 4;
  std::string text;
  size_t at = 0;
  // A length of 15 goes on in bytes up to the first that is not 255.
  const auto length = [&](size_t nibble) {
    size_t sum = nibble;
    if (nibble == 15) {
      while (at < block.size() && sum <= size) {
        const uint8_t more = static_cast<uint8_t>(block[at++]);
        sum += more;
        if (more != 255) break;
      }
    }
    return sum;
  };
  while (at < block.size()) {
    const uint8_t token = static_cast<uint8_t>(block[at++]);
    const size_t literals = length(token >> 4);
    if (literals > block.size() - at || literals > size - text.size()) return Damaged("LZ4");
    text.append(block.substr(at, literals));
    at += literals;
    if (at == block.size()) break;  // The last sequence is literals alone.
    if (block.size() - at < 2) return Damaged("LZ4");
    const size_t distance = static_cast<uint8_t>(block[at]) | static_cast<uint8_t>(block[at + 1]) << 8;
    at += 2;
    const size_t matched = length(token & 15) + kMinMatch;
    if (distance == 0 || distance > text.size() || matched > size - text.size()) return Damaged("LZ4");
    for (size_t i = 0; i < matched; ++i) text.push_back(text[text.size() - distance]);  // May reach into itself.
  }
  if (text.size() != size) return Damaged("LZ4");
  return text;
}

absl::StatusOr<std::string> PtxOf(std::string_view bytes, int sm) {
  SLIPWAY_ASSIGN_OR_RETURN(const Image image, Examine(bytes));
  if (image.kind == ImageKind::kPtx) return std::string(bytes.substr(0, bytes.find('\0')));
  const FatbinPart* best = nullptr;
  bool has_ptx = false;
  for (const FatbinPart& part : image.parts) {
    if (part.kind != ImageKind::kPtx) continue;
    has_ptx = true;
    if (part.sm <= sm && (best == nullptr || part.sm > best->sm)) best = &part;
  }
  if (best == nullptr && has_ptx) {
    return absl::FailedPreconditionError(
        absl::StrCat("the PTX in the fatbin is for architectures newer than this device (sm_", sm, ")"));
  }
  if (best == nullptr) {
    return NoPtx(absl::StrCat(Name(image.kind), image.kind == ImageKind::kFatbin ? " without PTX" : ""));
  }
  if (best->compression == Compression::kNone) return std::string(best->bytes.substr(0, best->bytes.find('\0')));
  if (best->unpacked_size > kMaxText) {
    return absl::InvalidArgumentError(absl::StrCat("the fatbin says that its PTX has ", best->unpacked_size,
                                                   " bytes; at most ", kMaxText, " are possible"));
  }
  SLIPWAY_ASSIGN_OR_RETURN(std::string text, best->compression == Compression::kZstd
                                                 ? UnpackZstd(best->bytes, best->unpacked_size)
                                                 : UnpackLz4(best->bytes, best->unpacked_size));
  if (const size_t end = text.find('\0'); end != text.npos) text.resize(end);
  return text;
}

}  // namespace slipway::cpu
