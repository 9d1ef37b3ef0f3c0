// The disk cache, for what keeps things in it; see slipway/disk_cache.h.
#ifndef SLIPWAY_DRIVER_DISK_CACHE_H_
#define SLIPWAY_DRIVER_DISK_CACHE_H_

#include <optional>
#include <string>
#include <string_view>

namespace slipway::internal {

// Whether there is a folder, so that a key is worth making. The first call looks.
bool HasDiskCache();

// What was stored under a key, if it is there and sound. `kind`, a word of at most 15 lower-case letters, keeps what
// different parts of the library store apart. Never fails: what goes wrong is a miss. Thread-safe.
std::optional<std::string> LoadFromDisk(std::string_view kind, std::string_view key);

// Keeps `payload`, unless another process was first. Never fails; see HasDiskCache. Thread-safe.
void StoreOnDisk(std::string_view kind, std::string_view key, std::string_view payload);

// Removes an entry whose checksum is right and whose payload makes no sense all the same.
void DropFromDisk(std::string_view kind, std::string_view key);

// 128 bits of hash (XXH3) of a content, as 32 hexadecimal digits: what keys have of what is long.
std::string ContentHash(std::string_view content);

// Tells apart what different versions of the library's sources would compile (made by CMake; see fingerprint.cmake).
extern const char* const kSourceFingerprint;

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_DISK_CACHE_H_
