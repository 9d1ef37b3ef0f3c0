// What is kept of compiled kernels from one process to the next: PTX, and machine code of CPU and GPU devices.
//
// Entries lie in $SLIPWAY_CACHE_DIR, else in slipway/ in $XDG_CACHE_HOME or ~/.cache; "off" or an empty
// $SLIPWAY_CACHE_DIR keeps nothing. An entry is one file, found by all that shapes what it holds: the kernel, target,
// options, and the versions of Slipway, LLVM and the math library. It repeats its key and has a checksum: one that is
// damaged, or another's, is as good as none, and is removed. It is published whole, in one step, and once. No lock is
// needed for that, and a process that is killed leaves nothing behind. A folder that others may write to is not used,
// since it holds code. Where nothing can be kept, that is said once, and kernels are compiled.
#ifndef SLIPWAY_DISK_CACHE_H_
#define SLIPWAY_DISK_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

// Of this process.
struct DiskCacheCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;    // Damaged entries included.
  uint64_t stores = 0;    // Entries that were published, by this process or by another meanwhile.
  uint64_t damaged = 0;   // Entries that were not what they should be, and were removed.
  uint64_t failures = 0;  // Of reading or writing, for other reasons than that nothing was there.
};
DiskCacheCounters GetDiskCacheCounters();

// The folder, or why there is none: FAILED_PRECONDITION where it is turned off; else the reason that is said once.
absl::StatusOr<std::string> DiskCacheFolder();

// Uses another folder from now on, which is made if it is not there; "off" for none. FAILED_PRECONDITION, with the
// path and how to mend it, for one that cannot be used, and then none is. Affects the whole process.
absl::Status SetDiskCacheFolder(std::string folder);
// How many bytes entries may take, 1 GiB unless it is set here or by $SLIPWAY_CACHE_BYTES. Now and then one of the
// processes that write removes what was not used for longest, until nine tenths are left.
void SetDiskCacheLimit(uint64_t bytes);

// One entry, for people: see `slipway cache`.
struct DiskCacheEntry {
  std::string file;  // Path.
  std::string kind;  // "ptx", "host", "cuda", "cubin".
  std::string key;   // The first line of its key, which says what it was made for.
  uint64_t bytes = 0;
  int64_t used = 0;     // When it was last used or written, in seconds since 1970; within an hour.
  absl::Status status;  // DATA_LOSS if it is damaged.
};
// All entries of the folder, those used last first. Reads each whole.
absl::StatusOr<std::vector<DiskCacheEntry>> ListDiskCache();
// Removes entries until at most `bytes` are left, those that were not used for longest first, and files that writers
// left behind. Returns how many bytes were removed.
absl::StatusOr<uint64_t> PruneDiskCache(uint64_t bytes);

}  // namespace slipway

#endif  // SLIPWAY_DISK_CACHE_H_
