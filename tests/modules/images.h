// Images made by hand, byte by byte, so that tests need no toolkit.
#ifndef SLIPWAY_TESTS_MODULES_IMAGES_H_
#define SLIPWAY_TESTS_MODULES_IMAGES_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

template <class T>
void AppendRaw(std::string* bytes, const T& value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A cubin with one section and nothing in it, as CUDA 13 heads it (EI_ABIVERSION 8), or as those before (7).
inline std::string Cubin(int sm, uint8_t abi_version = 8, uint16_t machine = 190, uint16_t type = ET_EXEC) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_ABIVERSION] = abi_version;
  header.e_type = type;
  header.e_machine = machine;
  header.e_flags = static_cast<uint32_t>(abi_version >= 8 ? sm << 8 : sm);
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = sizeof(header) + 32;
  Elf64_Shdr none = {}, text = {};
  text.sh_type = SHT_PROGBITS;
  text.sh_offset = sizeof(header);
  text.sh_size = 32;
  std::string bytes;
  AppendRaw(&bytes, header);
  bytes.append(32, '\x5A');
  AppendRaw(&bytes, none);
  AppendRaw(&bytes, text);
  return bytes;
}

// One part of a fatbin: kind 1 is PTX, 2 a cubin; flags 0x2000 is LZ4, 0x8000 zstd.
struct FatbinPiece {
  uint16_t kind = 1;
  uint32_t sm = 75;
  std::string bytes;
  uint64_t flags = 0;
  uint64_t unpacked_size = 0;
};
inline std::string Fatbin(const std::vector<FatbinPiece>& pieces) {
  std::string body;
  for (const FatbinPiece& piece : pieces) {
    std::string padded = piece.bytes;
    padded.resize((padded.size() + 8) / 8 * 8);  // At least one zero byte.
    AppendRaw(&body, piece.kind);
    AppendRaw(&body, uint16_t{0x101});
    AppendRaw(&body, uint32_t{64});
    AppendRaw(&body, uint64_t{padded.size()});
    AppendRaw(&body, static_cast<uint32_t>(piece.flags == 0 ? 0 : piece.bytes.size()));
    AppendRaw(&body, uint32_t{0});
    AppendRaw(&body, uint16_t{0});
    AppendRaw(&body, uint16_t{8});
    AppendRaw(&body, piece.sm);
    AppendRaw(&body, uint64_t{0});  // No name.
    AppendRaw(&body, piece.flags | 0x11);
    AppendRaw(&body, uint64_t{0});
    AppendRaw(&body, piece.unpacked_size);
    body += padded;
  }
  std::string image;
  AppendRaw(&image, uint32_t{0xBA55ED50});
  AppendRaw(&image, uint16_t{1});
  AppendRaw(&image, uint16_t{16});
  AppendRaw(&image, uint64_t{body.size()});
  return image + body;
}

// An LZ4 block of literals, and one match that copies what stands there so far over and over.
inline std::string Lz4(std::string_view literals, size_t distance, size_t matched) {
  std::string block;
  const auto length = [&](size_t rest) {
    for (; rest >= 255; rest -= 255) block.push_back('\xFF');
    block.push_back(static_cast<char>(rest));
  };
  const size_t first = literals.size(), second = matched - 4;
  block.push_back(static_cast<char>((first < 15 ? first : 15) << 4 | (second < 15 ? second : 15)));
  if (first >= 15) length(first - 15);
  block += literals;
  block.push_back(static_cast<char>(distance & 255));
  block.push_back(static_cast<char>(distance >> 8));
  if (second >= 15) length(second - 15);
  block.push_back('\x10');  // One literal more ends it.
  block.push_back('\n');
  return block;
}

}  // namespace slipway

#endif  // SLIPWAY_TESTS_MODULES_IMAGES_H_
