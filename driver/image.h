// What can be loaded: telling PTX text, cubins and fatbins apart, and reading them no further than they go. Drivers
// take an address and no size.
#ifndef SLIPWAY_DRIVER_IMAGE_H_
#define SLIPWAY_DRIVER_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

enum class ImageKind : uint8_t {
  kPtx,
  kCubin,        // ELF of CUDA's machine, linked,
  kRelocatable,  // or still to be linked.
  kFatbin,
  kObject,   // ELF of a host; may have device code in it.
  kArchive,  // Of such.
};
const char* Name(ImageKind kind);  // "PTX", "a cubin", ...

// How a part of a fatbin is packed.
enum class Compression : uint8_t { kNone, kLz4, kZstd };

// PTX or a cubin in a fatbin.
struct FatbinPart {
  ImageKind kind = ImageKind::kPtx;
  int sm = 0;  // Compute capability * 10.
  Compression compression = Compression::kNone;
  std::string_view bytes;      // As they lie there.
  uint64_t unpacked_size = 0;  // Of compressed ones.
};

// Views into the bytes that were examined.
struct Image {
  ImageKind kind = ImageKind::kPtx;
  int sm = 0;                     // Of a cubin.
  std::vector<FatbinPart> parts;  // Of a fatbin; those of other kinds are left out.
};

// INVALID_ARGUMENT for what is none of these, saying what it is where that is known (bitcode, another machine's ELF),
// and for an image whose headers promise more than `bytes` has.
absl::StatusOr<Image> Examine(std::string_view bytes);

// Whether a device of compute capability sm / 10 can run it: machine code of its major version and no newer minor one,
// PTX of no newer architecture.
bool RunsMachineCode(int device_sm, int code_sm);
// FAILED_PRECONDITION, naming both architectures, if nothing in the image runs there.
absl::Status CheckRunsOn(const Image& image, int device_sm);

// For entries of a driver's table, which are given an address and no size. Whether an ELF file begins there, and how
// many bytes the fatbin there has by its own header, which is believed; 0 if it is none. Looks at no byte behind a NUL,
// which is where text ends.
bool BeginsElf(const void* image);
size_t FatbinSize(const void* image);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_IMAGE_H_
