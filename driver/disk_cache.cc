#include "driver/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/log.h"
#include "slipway/disk_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace slipway {
namespace {

// An entry is this, the key, and the payload. The checksum is of everything behind it.
struct Header {
  char magic[16] = {};
  uint64_t checksum[2] = {};
  char kind[16] = {};
  uint64_t key_bytes = 0;
  uint64_t payload_bytes = 0;
};
static_assert(sizeof(Header) == 64);
constexpr char kMagic[16] = "slipway cache 1";
constexpr size_t kChecksumFrom = offsetof(Header, kind);
constexpr std::string_view kSuffix = ".entry", kUnfinished = ".tmp-";

constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;
constexpr int64_t kTouchEvery = 3600;     // Seconds: how well "used last" is known.
constexpr int64_t kUnfinishedAge = 3600;  // Seconds after which nobody is writing a file any more.
constexpr uint64_t kMaxEntry = uint64_t{1} << 30;

XXH128_hash_t Hash(std::string_view bytes) { return XXH3_128bits(bytes.data(), bytes.size()); }

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool ok() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  // Whether closing went well, too, which is where some file systems tell that they are full.
  bool Close() { return close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

bool WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// The whole file; nullopt, with errno, if it cannot be read.
std::optional<std::string> ReadAll(int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return std::nullopt;
  if (!S_ISREG(info.st_mode)) return std::string();  // No entry.
  const auto size = static_cast<uint64_t>(info.st_size);
  // One that is not as long as it says is not read whole, which may be more than there is memory.
  Header header;
  const bool has_header = pread(descriptor, &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header));
  if (!has_header || size > kMaxEntry || header.key_bytes > size ||
      sizeof(header) + header.key_bytes + header.payload_bytes != size) {
    return std::string();
  }
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(descriptor, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

// Whether nobody else can have written the file: the folder may have been put in the place of this user's, by who may
// write to one above it.
bool IsOwn(int descriptor) {
  struct stat info;
  return fstat(descriptor, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// What a file holds, where it is a sound entry. `header` is set if it is.
bool IsSound(std::string_view file, Header* header) {
  if (file.size() < sizeof(Header)) return false;
  std::memcpy(header, file.data(), sizeof(Header));
  if (std::memcmp(header->magic, kMagic, sizeof(kMagic)) != 0) return false;
  const uint64_t rest = file.size() - sizeof(Header);
  if (header->key_bytes > rest || header->payload_bytes != rest - header->key_bytes) return false;
  const XXH128_hash_t hash = Hash(file.substr(kChecksumFrom));
  return header->checksum[0] == hash.low64 && header->checksum[1] == hash.high64;
}
std::string_view KeyOf(std::string_view file, const Header& header) {
  return file.substr(sizeof(Header), header.key_bytes);
}

std::string EntryBytes(std::string_view kind, std::string_view key, std::string_view payload) {
  Header header;
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(header.kind, kind.data(), std::min(kind.size(), sizeof(header.kind) - 1));
  header.key_bytes = key.size();
  header.payload_bytes = payload.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.reserve(sizeof(header) + key.size() + payload.size());
  bytes.append(key);
  bytes.append(payload);
  const XXH128_hash_t hash = Hash(std::string_view(bytes).substr(kChecksumFrom));
  const uint64_t checksum[2] = {hash.low64, hash.high64};
  std::memcpy(bytes.data() + offsetof(Header, checksum), checksum, sizeof(checksum));
  return bytes;
}

// Makes a folder and those above it, for this user alone.
bool MakeFolders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) {
    const std::string above = path.substr(0, at);
    struct stat info;
    if (stat(above.c_str(), &info) != 0 && mkdir(above.c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

constexpr char kMend[] = "; set SLIPWAY_CACHE_DIR to a folder of your own, or to off";

absl::Status CheckFolder(const std::string& path) {
  const auto error = [&](auto... parts) {
    return absl::FailedPreconditionError(absl::StrCat("compiled kernels are not kept: ", path, " ", parts..., kMend));
  };
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (!MakeFolders(path)) return error("cannot be made (", std::strerror(errno), ")");
    if (stat(path.c_str(), &info) != 0) return error("cannot be looked at (", std::strerror(errno), ")");
  }
  if (!S_ISDIR(info.st_mode)) return error("is no folder");
  if (info.st_uid != geteuid()) return error("belongs to another user, and would hold code");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return error("may be written by others, and would hold code");
  return absl::OkStatus();
}

absl::StatusOr<std::string> FolderFromEnvironment() {
  const auto variable = [](const char* name) { return std::getenv(name); };
  if (const char* given = variable("SLIPWAY_CACHE_DIR")) return std::string(given);
  const char* const xdg = variable("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return absl::StrCat(xdg, "/slipway");  // A relative one is to be ignored.
  const char* const home = variable("HOME");
  if (home != nullptr && home[0] != '\0') {
    const auto error = [&](auto... parts) {
      return absl::FailedPreconditionError(
          absl::StrCat("compiled kernels are not kept: $HOME, ", home, ", ", parts..., kMend));
    };
    // One that is not there belongs to nobody ("/nonexistent"), and is not made even by those who could.
    struct stat info;
    if (stat(home, &info) != 0) return error("cannot be looked at (", std::strerror(errno), ")");
    // Nor is another's, as of a program that runs as root for a user: who owns it may not write to what would be made.
    if (info.st_uid != geteuid()) return error("belongs to another user");
    return absl::StrCat(home, "/.cache/slipway");
  }
  const bool relative = xdg != nullptr && xdg[0] != '\0';
  return absl::FailedPreconditionError(
      absl::StrCat("compiled kernels are not kept: ",
                   relative ? absl::StrCat("XDG_CACHE_HOME, ", xdg,
                                           ", is relative and so ignored, and SLIPWAY_CACHE_DIR and HOME are not")
                            : "none of SLIPWAY_CACHE_DIR, XDG_CACHE_HOME and HOME is",
                   " set", kMend));
}

bool IsOff(const std::string& folder) { return folder.empty() || folder == "off"; }

// As PathOf makes it: other files of the folder are none of ours.
bool IsEntryName(std::string_view name) {
  constexpr size_t kHashDigits = 32;
  return name.size() > kHashDigits + 1 + kSuffix.size() && name.find_first_not_of("0123456789abcdef") == kHashDigits &&
         name[kHashDigits] == '-' && name.substr(name.size() - kSuffix.size()) == kSuffix;
}

// A file of the folder, for listing and pruning.
struct Found {
  std::string path;
  uint64_t bytes;
  int64_t used;
};

class Cache {
 public:
  static Cache& Get() {
    static auto* const cache = new Cache;  // Never destroyed: threads may outlive static objects.
    return *cache;
  }

  // The folder, or nullptr.
  std::shared_ptr<const std::string> Folder() {
    const std::lock_guard lock(mutex_);
    Resolve();
    return folder_;
  }
  absl::StatusOr<std::string> FolderOrWhy() {
    const std::lock_guard lock(mutex_);
    Resolve();
    if (folder_ != nullptr) return *folder_;
    return why_not_;
  }
  absl::Status SetFolder(std::string folder) {
    const std::lock_guard lock(mutex_);
    resolved_ = true;
    may_write_.store(true, std::memory_order_relaxed);
    ReadLimit();
    return Use(std::move(folder));
  }
  void SetLimit(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    has_limit_ = true;
    limit_.store(bytes, std::memory_order_relaxed);
  }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }

  std::optional<std::string> Load(std::string_view kind, std::string_view key) {
    std::optional<std::string> found = Find(kind, key);
    ++(found.has_value() ? hits : misses);
    return found;
  }
  void Store(std::string_view kind, std::string_view key, std::string_view payload);
  void Drop(std::string_view kind, std::string_view key) {
    const std::shared_ptr<const std::string> folder = Folder();
    if (folder == nullptr) return;
    ++damaged;
    unlink(PathOf(*folder, kind, key).c_str());
  }

  std::vector<Found> Files(const std::string& folder, bool unfinished);
  uint64_t Prune(const std::string& folder, uint64_t limit);

  std::atomic<uint64_t> hits{0}, misses{0}, stores{0}, damaged{0}, failures{0};

 private:
  static std::string PathOf(const std::string& folder, std::string_view kind, std::string_view key) {
    return absl::StrCat(folder, "/", internal::ContentHash(key), "-", AsAbsl(kind), AsAbsl(kSuffix));
  }
  std::optional<std::string> Find(std::string_view kind, std::string_view key);

  // With the lock held.
  void Resolve() {
    if (std::exchange(resolved_, true)) return;
    ReadLimit();
    absl::StatusOr<std::string> folder = FolderFromEnvironment();
    const absl::Status status = folder.ok() ? Use(*std::move(folder)) : folder.status();
    if (!status.ok()) {
      why_not_ = status;
      Say(std::string(status.message()));
    }
  }
  // What the environment says of the limit counts where the program says nothing, whoever names the folder.
  void ReadLimit() {
    if (std::exchange(has_limit_, true)) return;
    uint64_t bytes = 0;
    const char* const limit = std::getenv("SLIPWAY_CACHE_BYTES");
    if (limit == nullptr) return;
    if (absl::SimpleAtoi(limit, &bytes)) {
      limit_.store(bytes, std::memory_order_relaxed);
    } else {
      Say(absl::StrCat("SLIPWAY_CACHE_BYTES is '", limit, "', which is no number of bytes; ", this->limit(), " it is"));
    }
  }
  absl::Status Use(std::string folder) {
    folder_ = nullptr;
    why_not_ = absl::FailedPreconditionError("the disk cache is turned off");
    if (IsOff(folder)) return absl::OkStatus();
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (absl::Status status = CheckFolder(folder); !status.ok()) return why_not_ = status;
    folder_ = std::make_shared<const std::string>(std::move(folder));
    return absl::OkStatus();
  }

  void Say(const std::string& what) {
    if (!said_.exchange(true)) LogWarning(what);
  }
  // Writing is given up for good, so that nothing is tried again and again.
  void CannotWrite(const std::string& folder, int error) {
    ++failures;
    may_write_.store(false, std::memory_order_relaxed);
    Say(absl::StrCat("newly compiled kernels are not kept: ", folder, " cannot be written (", std::strerror(error),
                     "); make room or give write access, or set SLIPWAY_CACHE_DIR to another folder, or to off"));
  }
  void SweepNowAndThen(const std::string& folder);

  std::mutex mutex_;
  bool resolved_ = false, has_limit_ = false;
  std::shared_ptr<const std::string> folder_;
  absl::Status why_not_;
  std::atomic<uint64_t> limit_{kDefaultLimit};
  std::atomic<bool> may_write_{true}, said_{false};
};

std::optional<std::string> Cache::Find(std::string_view kind, std::string_view key) {
  const std::shared_ptr<const std::string> folder = Folder();
  if (folder == nullptr) return std::nullopt;
  const std::string path = PathOf(*folder, kind, key);
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.ok()) {
    if (errno != ENOENT) ++failures;
    return std::nullopt;
  }
  const std::optional<std::string> bytes = IsOwn(file.get()) ? ReadAll(file.get()) : std::string();
  if (!bytes.has_value()) {  // An input error says nothing about the entry.
    ++failures;
    return std::nullopt;
  }
  Header header;
  if (!IsSound(*bytes, &header)) {
    ++damaged;
    if (unlink(path.c_str()) != 0) rmdir(path.c_str());  // Were it a folder.
    return std::nullopt;
  }
  // Another key of the same hash has the place.
  if (KeyOf(*bytes, header) != key || kind != header.kind) return std::nullopt;
  struct stat info;
  if (fstat(file.get(), &info) == 0 && info.st_mtime + kTouchEvery < std::time(nullptr)) futimens(file.get(), nullptr);
  return bytes->substr(sizeof(Header) + header.key_bytes);
}

// Through a file without a name where the file system has such, which a writer that is killed does not leave behind.
// Publishing gives it its name, which fails if another process was first.
void Cache::Store(std::string_view kind, std::string_view key, std::string_view payload) {
  const std::shared_ptr<const std::string> folder = Folder();
  if (folder == nullptr || !may_write_.load(std::memory_order_relaxed)) return;
  const std::string path = PathOf(*folder, kind, key), bytes = EntryBytes(kind, key, payload);
  if (bytes.size() > limit() || bytes.size() > kMaxEntry) return;
  std::string temporary;
  // It gets its name by way of /proc, which a sandbox may lack.
  const bool can_be_named = access("/proc/self/fd", X_OK) == 0;
  File file(can_be_named ? open(folder->c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1);
  if (!file.ok()) {
    temporary = absl::StrCat(*folder, "/", AsAbsl(kUnfinished), getpid(), "-", std::random_device()(), "-",
                             std::random_device()());
    file = File(open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (!file.ok()) return CannotWrite(*folder, errno);
  }
  bool published = false;
  int error = 0;
  if (!WriteAll(file.get(), bytes)) {
    error = errno;
  } else if (temporary.empty()) {
    const std::string self = absl::StrCat("/proc/self/fd/", file.get());
    published = linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
    error = errno;
  } else if (!file.Close()) {
    error = errno;
  } else {
    published = link(temporary.c_str(), path.c_str()) == 0;
    error = errno;
    // Some file systems have no second names.
    if (!published && (error == EPERM || error == EOPNOTSUPP || error == EMLINK)) {
      published = rename(temporary.c_str(), path.c_str()) == 0;
      error = errno;
    }
  }
  if (!temporary.empty()) unlink(temporary.c_str());
  if (!published && error != EEXIST) return CannotWrite(*folder, error);
  ++stores;
  if (published) SweepNowAndThen(*folder);
}

std::vector<Found> Cache::Files(const std::string& folder, bool unfinished) {
  std::vector<Found> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_entry = IsEntryName(name);
    const bool is_unfinished = name.compare(0, kUnfinished.size(), kUnfinished) == 0;
    struct stat info;
    if (!(unfinished ? is_unfinished : is_entry) || lstat(at->path().c_str(), &info) != 0) continue;
    files.push_back({at->path().string(), static_cast<uint64_t>(info.st_size), static_cast<int64_t>(info.st_mtime)});
  }
  std::sort(files.begin(), files.end(), [](const Found& a, const Found& b) { return a.used > b.used; });
  return files;
}

uint64_t Cache::Prune(const std::string& folder, uint64_t limit) {
  uint64_t kept = 0, removed = 0;
  for (const Found& file : Files(folder, /*unfinished=*/false)) {
    if (kept + file.bytes <= limit) {
      kept += file.bytes;
    } else if (unlink(file.path.c_str()) == 0) {
      removed += file.bytes;
    }
  }
  for (const Found& file : Files(folder, /*unfinished=*/true)) {
    if (file.used + kUnfinishedAge < std::time(nullptr) && unlink(file.path.c_str()) == 0) removed += file.bytes;
  }
  return removed;
}

// Looking at all files costs more than writing one, so one writer in 64 does it, and only if no other process is at it.
// The lock, of the folder itself, is no more than that: without it the same would be done twice, and a file system that
// has none is swept all the same.
void Cache::SweepNowAndThen(const std::string& folder) {
  static thread_local std::minstd_rand random{std::random_device()()};
  if (random() % 64 != 0) return;
  const File lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.ok() || (flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)) return;
  uint64_t bytes = 0;
  for (const Found& file : Files(folder, /*unfinished=*/false)) bytes += file.bytes;
  const uint64_t allowed = limit();
  Prune(folder, bytes > allowed ? allowed / 10 * 9 : UINT64_MAX);
}

}  // namespace

namespace internal {

bool HasDiskCache() { return Cache::Get().Folder() != nullptr; }
std::optional<std::string> LoadFromDisk(std::string_view kind, std::string_view key) {
  return Cache::Get().Load(kind, key);
}
void StoreOnDisk(std::string_view kind, std::string_view key, std::string_view payload) {
  Cache::Get().Store(kind, key, payload);
}
void DropFromDisk(std::string_view kind, std::string_view key) { Cache::Get().Drop(kind, key); }
std::string ContentHash(std::string_view content) {
  const XXH128_hash_t hash = Hash(content);
  return absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16), absl::Hex(hash.low64, absl::kZeroPad16));
}

}  // namespace internal

DiskCacheCounters GetDiskCacheCounters() {
  const Cache& cache = Cache::Get();
  return {cache.hits, cache.misses, cache.stores, cache.damaged, cache.failures};
}

absl::StatusOr<std::string> DiskCacheFolder() { return Cache::Get().FolderOrWhy(); }
absl::Status SetDiskCacheFolder(std::string folder) { return Cache::Get().SetFolder(std::move(folder)); }
void SetDiskCacheLimit(uint64_t bytes) { Cache::Get().SetLimit(bytes); }

absl::StatusOr<std::vector<DiskCacheEntry>> ListDiskCache() {
  absl::StatusOr<std::string> folder = DiskCacheFolder();
  if (!folder.ok()) return std::move(folder).status();
  std::vector<DiskCacheEntry> entries;
  for (const Found& found : Cache::Get().Files(*folder, /*unfinished=*/false)) {
    DiskCacheEntry entry = {.file = found.path, .bytes = found.bytes, .used = found.used};
    const File file(open(found.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    const std::optional<std::string> bytes = file.ok() ? ReadAll(file.get()) : std::nullopt;
    Header header;
    if (!bytes.has_value()) {
      entry.status = absl::UnavailableError(absl::StrCat("cannot be read (", std::strerror(errno), ")"));
    } else if (!IsSound(*bytes, &header)) {
      entry.status = absl::DataLossError("is damaged");
    } else {
      const std::string_view key = KeyOf(*bytes, header);
      entry.kind = std::string(header.kind, strnlen(header.kind, sizeof(header.kind)));
      entry.key = std::string(key.substr(0, key.find('\n')));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::StatusOr<uint64_t> PruneDiskCache(uint64_t bytes) {
  absl::StatusOr<std::string> folder = DiskCacheFolder();
  if (!folder.ok()) return std::move(folder).status();
  return Cache::Get().Prune(*folder, bytes);
}

}  // namespace slipway
