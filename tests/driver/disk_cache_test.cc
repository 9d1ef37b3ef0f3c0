// The disk cache by itself: entries, damage, folders that may not be used, many processes.
#include "driver/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "slipway/disk_cache.h"
#include "tests/comma_locale.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using internal::DropFromDisk;
using internal::HasDiskCache;
using internal::LoadFromDisk;
using internal::StoreOnDisk;
using testing::HasSubstr;

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "slipway-disk-cache-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    folder_ = root_ + "/cache";
    EXPECT_TRUE(SetDiskCacheFolder(folder_).ok());
  }
  ~DiskCacheTest() override {
    SetDiskCacheFolder("off").IgnoreError();
    SetDiskCacheLimit(uint64_t{1} << 30);
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(root_, ignored);
  }
  std::vector<fs::path> Files() const { return {fs::directory_iterator(folder_), fs::directory_iterator()}; }
  static std::vector<DiskCacheEntry> List() { return ListDiskCache().value(); }
  static std::string Read(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void Write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Runs `child` in a process of its own, and ends that with its result.
  template <class F>
  static pid_t Fork(F&& child) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child());
    return pid;
  }
  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string root_, folder_;
};

TEST_F(DiskCacheTest, KeepsWhatIsStored) {
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
  StoreOnDisk("ptx", "key", "value");
  StoreOnDisk("ptx", "empty", "");
  StoreOnDisk("host", "key", std::string("other\0value", 11));
  EXPECT_EQ(LoadFromDisk("ptx", "key"), "value");
  EXPECT_EQ(LoadFromDisk("ptx", "empty"), "");
  EXPECT_EQ(LoadFromDisk("host", "key"), std::string("other\0value", 11));
  EXPECT_EQ(LoadFromDisk("ptx", "keys"), std::nullopt);
  EXPECT_EQ(Files().size(), 3u);
  // The first to publish is the one that counts.
  StoreOnDisk("ptx", "key", "later");
  EXPECT_EQ(LoadFromDisk("ptx", "key"), "value");
  DropFromDisk("ptx", "key");
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
  StoreOnDisk("ptx", "key", "later");
  EXPECT_EQ(LoadFromDisk("ptx", "key"), "later");
  // For nobody else.
  struct stat info;
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  for (const fs::path& file : Files()) {
    ASSERT_EQ(stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0u);
  }
}

// Entries of one locale are those of another: neither groups the digits of a size, or writes a comma.
TEST_F(DiskCacheTest, WhateverTheLocale) {
  const std::string large(123456, 'x');
  StoreOnDisk("ptx", "plain", large);
  const auto check = [&](const std::string& key) {
    EXPECT_EQ(LoadFromDisk("ptx", "plain"), large);
    StoreOnDisk("ptx", key, large);
    EXPECT_EQ(LoadFromDisk("ptx", key), large);
    for (const DiskCacheEntry& entry : List()) EXPECT_TRUE(entry.status.ok()) << entry.status;
  };
  {
    const CommaStreams streams;
    check("streams");
  }
  EXPECT_EQ(LoadFromDisk("ptx", "streams"), large);
  const CommaLocale comma;
  if (!comma.set()) GTEST_SKIP() << "localedef is not installed";
  check("comma");
}

TEST_F(DiskCacheTest, NeitherAFlippedByteNorACutIsEverAHit) {
  const std::string key = "a key\nof two lines", value = "some value that is kept";
  StoreOnDisk("ptx", key, value);
  const fs::path file = Files().at(0);
  const std::string good = Read(file);
  const auto expect_miss = [&](const std::string& bytes, const std::string& what) {
    Write(file, bytes);
    const uint64_t damaged = GetDiskCacheCounters().damaged;
    EXPECT_EQ(LoadFromDisk("ptx", key), std::nullopt) << what;
    EXPECT_EQ(GetDiskCacheCounters().damaged, damaged + 1) << what;
    EXPECT_FALSE(fs::exists(file)) << what;  // Removed, so that it can be written anew.
  };
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      expect_miss(bytes, absl::StrCat("byte ", i));
    }
  }
  for (size_t length = 0; length < good.size(); ++length)
    expect_miss(good.substr(0, length), absl::StrCat("cut at ", length));
  expect_miss(good + "x", "longer");
  Write(file, good);
  EXPECT_EQ(LoadFromDisk("ptx", key), value);
}

TEST_F(DiskCacheTest, AnEntryInAnothersPlaceIsNoHit) {
  StoreOnDisk("ptx", "one", "1");
  const fs::path one = Files().at(0);
  const std::string bytes = Read(one);
  StoreOnDisk("ptx", "two", "2");
  for (const fs::path& file : Files()) {
    if (file != one) Write(file, bytes);
  }
  EXPECT_EQ(LoadFromDisk("ptx", "two"), std::nullopt);
  EXPECT_EQ(LoadFromDisk("ptx", "one"), "1");
}

TEST_F(DiskCacheTest, AFolderInAnEntrysPlace) {
  StoreOnDisk("ptx", "key", "value");
  const fs::path file = Files().at(0);
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
  StoreOnDisk("ptx", "key", "value");
  EXPECT_EQ(LoadFromDisk("ptx", "key"), "value");
}

TEST_F(DiskCacheTest, APipeInAnEntrysPlace) {
  StoreOnDisk("ptx", "key", "value");
  const fs::path file = Files().at(0);
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(List().size(), 1u);
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
  StoreOnDisk("ptx", "key", "value");
  EXPECT_EQ(LoadFromDisk("ptx", "key"), "value");
}

// Whoever may write to a folder above the cache's can put another in its place.
TEST_F(DiskCacheTest, EntriesThatOthersMayHaveWritten) {
  StoreOnDisk("ptx", "key", "value");
  fs::permissions(Files().at(0), fs::perms::owner_read | fs::perms::group_write);
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
  StoreOnDisk("ptx", "key", "value");
  EXPECT_EQ(LoadFromDisk("ptx", "key"), "value");
  if (geteuid() != 0) return;  // Nobody else gives files away.
  ASSERT_EQ(chown(Files().at(0).c_str(), 12345, 12345), 0);
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
}

TEST_F(DiskCacheTest, ALinkInAnEntrysPlaceIsNotFollowed) {
  StoreOnDisk("ptx", "key", "value");
  const fs::path file = Files().at(0);
  fs::rename(file, root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", file);
  EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
}

TEST_F(DiskCacheTest, TenThousandKeysThatDifferInOneBit) {
  std::string key(1250, 'k');
  for (size_t bit = 0; bit < 10000; bit += 97) {
    std::string changed = key;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    StoreOnDisk("ptx", changed, absl::StrCat(bit));
  }
  for (size_t bit = 0; bit < 10000; ++bit) {
    std::string changed = key;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const std::optional<std::string> found = LoadFromDisk("ptx", changed);
    if (bit % 97 == 0) {
      EXPECT_EQ(found, absl::StrCat(bit));
    } else {
      EXPECT_EQ(found, std::nullopt) << bit;
    }
  }
}

TEST_F(DiskCacheTest, FoldersThatAreNotUsed) {
  const auto refused = [&](const std::string& folder) {
    const absl::Status status = SetDiskCacheFolder(folder);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_FALSE(HasDiskCache());
    EXPECT_EQ(DiskCacheFolder().status(), status);
    EXPECT_THAT(status.message(), HasSubstr(folder));
    EXPECT_THAT(status.message(), HasSubstr("set SLIPWAY_CACHE_DIR to a folder of your own, or to off"));
    EXPECT_EQ(LoadFromDisk("ptx", "key"), std::nullopt);
    StoreOnDisk("ptx", "key", "value");
    return std::string(status.message());
  };
  fs::create_directory(root_ + "/shared");
  for (const fs::perms others : {fs::perms::others_write, fs::perms::group_write}) {
    fs::permissions(root_ + "/shared", fs::perms::owner_all | others);
    EXPECT_THAT(refused(root_ + "/shared"), HasSubstr("may be written by others, and would hold code"));
  }
  Write(root_ + "/file", "");
  EXPECT_THAT(refused(root_ + "/file"), HasSubstr("is no folder"));
  EXPECT_THAT(refused(root_ + "/file/below"), HasSubstr("cannot be made (Not a directory)"));
  if (geteuid() == 0) {
    fs::create_directory(root_ + "/other");
    ASSERT_EQ(chown((root_ + "/other").c_str(), 12345, 12345), 0);
    EXPECT_THAT(refused(root_ + "/other"), HasSubstr("belongs to another user, and would hold code"));
  }
  EXPECT_TRUE(SetDiskCacheFolder("off").ok());
  EXPECT_FALSE(HasDiskCache());
  EXPECT_EQ(DiskCacheFolder().status().message(), "the disk cache is turned off");
  EXPECT_TRUE(SetDiskCacheFolder(root_ + "/deep/down/").ok());
  EXPECT_EQ(DiskCacheFolder().value(), root_ + "/deep/down");
}

// In a process of its own each, because what the environment says is read once, and root may write everywhere.
TEST_F(DiskCacheTest, WhatTheEnvironmentSays) {
  StoreOnDisk("ptx", "key", "value");
  const auto run = [&](const std::vector<std::pair<const char*, std::string>>& set, auto check) {
    // A fresh program: this one, asked for a helper test.
    std::string command;
    for (const char* name : {"SLIPWAY_CACHE_DIR", "SLIPWAY_CACHE_BYTES", "XDG_CACHE_HOME", "HOME", "SLIPWAY_LOG"})
      absl::StrAppend(&command, "unset ", name, "; ");
    for (const auto& [name, value] : set) absl::StrAppend(&command, "export ", name, "='", value, "'; ");
    const std::string self = fs::read_symlink("/proc/self/exe").string();
    absl::StrAppend(&command, "SLIPWAY_DISK_CACHE_TEST_CHILD=1 '", self,
                    "' --gtest_also_run_disabled_tests --gtest_filter=DiskCacheChild.* 2>&1");
    FILE* const pipe = popen(command.c_str(), "r");
    std::string output;
    for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    pclose(pipe);
    check(output);
  };
  run({{"SLIPWAY_CACHE_DIR", folder_}}, [&](const std::string& out) { EXPECT_THAT(out, HasSubstr("found value")); });
  run({{"XDG_CACHE_HOME", root_ + "/xdg"}},
      [&](const std::string& out) { EXPECT_THAT(out, HasSubstr("folder " + root_ + "/xdg/slipway\n")); });
  fs::create_directory(root_ + "/home");
  run({{"XDG_CACHE_HOME", "relative"}, {"HOME", root_ + "/home"}},
      [&](const std::string& out) { EXPECT_THAT(out, HasSubstr("folder " + root_ + "/home/.cache/slipway\n")); });
  run({{"SLIPWAY_CACHE_DIR", "off"}, {"HOME", root_}}, [&](const std::string& out) {
    EXPECT_THAT(out, HasSubstr("no folder"));
    EXPECT_THAT(out, testing::Not(HasSubstr("slipway:")));  // It was asked for.
  });
  const auto count = [](const std::string& out) {
    size_t warnings = 0;
    for (size_t at = out.find("slipway:"); at != out.npos; at = out.find("slipway:", at + 1)) ++warnings;
    return warnings;
  };
  run({{"XDG_CACHE_HOME", "relative"}}, [&](const std::string& out) {
    EXPECT_THAT(out, HasSubstr("XDG_CACHE_HOME, relative, is relative and so ignored, and SLIPWAY_CACHE_DIR and HOME "
                               "are not set; set SLIPWAY_CACHE_DIR"));
  });
  if (geteuid() == 0) {
    fs::create_directory(root_ + "/users");
    ASSERT_EQ(chown((root_ + "/users").c_str(), 12345, 12345), 0);
    run({{"HOME", root_ + "/users"}}, [&](const std::string& out) {
      EXPECT_THAT(out, HasSubstr("$HOME, " + root_ + "/users, belongs to another user; set SLIPWAY_CACHE_DIR"));
      EXPECT_FALSE(fs::exists(root_ + "/users/.cache"));
    });
  }
  // The limit counts, whoever names the folder; what the program says counts more.
  for (const char* first : {"folder", "limit", "neither"}) {
    fs::remove_all(root_ + "/limited");
    run({{"SLIPWAY_CACHE_DIR", root_ + "/limited"}, {"SLIPWAY_CACHE_BYTES", "10"}, {"SLIPWAY_DISK_CACHE_FIRST", first}},
        [&](const std::string& out) {
          EXPECT_THAT(out, HasSubstr(first == std::string("limit") ? "other is value" : "other is nothing"));
        });
  }
  // A home that is not there is not made.
  run({{"HOME", root_ + "/nobody"}}, [&](const std::string& out) {
    EXPECT_THAT(out, HasSubstr("$HOME, " + root_ + "/nobody, cannot be looked at (No such file or directory)"));
    EXPECT_FALSE(fs::exists(root_ + "/nobody"));
  });
  Write(root_ + "/file", "");
  for (const auto& set : std::vector<std::vector<std::pair<const char*, std::string>>>{
           {}, {{"SLIPWAY_CACHE_DIR", root_ + "/file"}}, {{"HOME", "/proc/nowhere"}}}) {
    run(set, [&](const std::string& out) {
      EXPECT_THAT(out, HasSubstr("no folder"));
      EXPECT_EQ(count(out), 1u) << out;
      EXPECT_THAT(out, HasSubstr("set SLIPWAY_CACHE_DIR to a folder of your own, or to off"));
    });
  }
}

// What WhatTheEnvironmentSays runs.
TEST(DiskCacheChild, DISABLED_Tells) {
  unsetenv("SLIPWAY_DISK_CACHE_TEST_CHILD");
  if (const char* const first = std::getenv("SLIPWAY_DISK_CACHE_FIRST")) {
    if (first == std::string("folder")) SetDiskCacheFolder(std::getenv("SLIPWAY_CACHE_DIR")).IgnoreError();
    if (first == std::string("limit")) SetDiskCacheLimit(1000);
  }
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<std::string> folder = DiskCacheFolder();
    std::printf("%s\n", folder.ok() ? absl::StrCat("folder ", *folder).c_str() : "no folder");
    StoreOnDisk("ptx", "other", "value");
    std::printf("found %s\n", LoadFromDisk("ptx", "key").value_or("nothing").c_str());
    std::printf("other is %s\n", LoadFromDisk("ptx", "other").value_or("nothing").c_str());
  }
}

TEST_F(DiskCacheTest, AFullDiskIsSaidOnceAndGivenUp) {
  // A limit on the size of files stands for a full disk; its signal is ignored, as a careful program does.
  const pid_t pid = Fork([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit tiny = {100, 100};
    setrlimit(RLIMIT_FSIZE, &tiny);
    SetDiskCacheFolder(folder_).IgnoreError();
    const uint64_t failures = GetDiskCacheCounters().failures;
    testing::internal::CaptureStderr();
    for (int i = 0; i < 5; ++i) StoreOnDisk("ptx", absl::StrCat("key", i), std::string(1000, 'x'));
    const std::string said = testing::internal::GetCapturedStderr();
    const bool once = said.find("newly compiled kernels are not kept: ") != said.npos &&
                      said.find("kept", said.find("kept") + 4) == said.npos;
    return once && GetDiskCacheCounters().failures == failures + 1 && !LoadFromDisk("ptx", "key0").has_value() ? 0 : 1;
  });
  EXPECT_EQ(Wait(pid), 0);
  EXPECT_TRUE(Files().empty());
}

TEST_F(DiskCacheTest, WhatCannotBeWrittenCanStillBeRead) {
  StoreOnDisk("ptx", "key", "value");
  if (geteuid() == 0) {
    // Root may write to folders that are read-only, unless it becomes somebody else.
    ASSERT_EQ(chown(root_.c_str(), 12345, 12345), 0);
    ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
    for (const fs::path& file : Files()) ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  }
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const pid_t pid = Fork([&] {
    if (geteuid() == 0 && (setgid(12345) != 0 || setuid(12345) != 0)) return 2;
    if (!SetDiskCacheFolder(folder_).ok()) return 3;
    const uint64_t failures = GetDiskCacheCounters().failures;
    testing::internal::CaptureStderr();
    StoreOnDisk("ptx", "new", "value");
    StoreOnDisk("ptx", "newer", "value");
    const std::string said = testing::internal::GetCapturedStderr();
    if (said.find("cannot be written (Permission denied)") == said.npos) return 4;
    return LoadFromDisk("ptx", "key") == "value" && GetDiskCacheCounters().failures == failures + 1 ? 0 : 5;
  });
  EXPECT_EQ(Wait(pid), 0);
}

TEST_F(DiskCacheTest, PruningLeavesWhatWasUsedLast) {
  for (int i = 0; i < 10; ++i) StoreOnDisk("ptx", absl::StrCat("key", i), std::string(1000, 'x'));
  // Ages: key9 is the oldest. What was used is touched, if its time is more than an hour old.
  for (const DiskCacheEntry& entry : List()) {
    const int i = entry.key.back() - '0';
    const utimbuf times = {std::time(nullptr) - 10000 - 1000 * i, std::time(nullptr) - 10000 - 1000 * i};
    ASSERT_EQ(utime(entry.file.c_str(), &times), 0);
  }
  EXPECT_TRUE(LoadFromDisk("ptx", "key9").has_value());
  Write(folder_ + "/.tmp-1-2-3", "left behind");
  Write(folder_ + "/.tmp-4-5-6", "being written");
  const utimbuf old = {std::time(nullptr) - 10000, std::time(nullptr) - 10000};
  ASSERT_EQ(utime((folder_ + "/.tmp-1-2-3").c_str(), &old), 0);
  const uint64_t each = List()[0].bytes;
  EXPECT_EQ(PruneDiskCache(3 * each + 10).value(), 7 * each + 11);
  std::vector<std::string> left;
  for (const DiskCacheEntry& entry : List()) left.push_back(entry.key);
  EXPECT_THAT(left, testing::ElementsAre("key9", "key0", "key1"));
  EXPECT_FALSE(fs::exists(folder_ + "/.tmp-1-2-3"));
  EXPECT_TRUE(fs::exists(folder_ + "/.tmp-4-5-6"));
}

TEST_F(DiskCacheTest, TheLimitHolds) {
  SetDiskCacheLimit(100000);
  for (int i = 0; i < 2000; ++i) StoreOnDisk("ptx", absl::StrCat("key", i), std::string(1000, 'x'));
  uint64_t bytes = 0;
  for (const DiskCacheEntry& entry : List()) bytes += entry.bytes;
  EXPECT_LT(bytes, 100000u + 1000 * 1100);  // One writer in 64 looks, on the average.
  SetDiskCacheLimit(500);
  const uint64_t stores = GetDiskCacheCounters().stores;
  StoreOnDisk("ptx", "large", std::string(1000, 'x'));
  EXPECT_EQ(GetDiskCacheCounters().stores, stores);
}

TEST_F(DiskCacheTest, ListsWhatIsThere) {
  StoreOnDisk("ptx", "first line\nsecond", "value");
  StoreOnDisk("host", "another", "value");
  std::vector<DiskCacheEntry> entries = List();
  ASSERT_EQ(entries.size(), 2u);
  for (const DiskCacheEntry& entry : entries) {
    EXPECT_TRUE(entry.status.ok());
    EXPECT_EQ(entry.key, entry.kind == "ptx" ? "first line" : "another");
  }
  Write(entries[0].file, "rubbish");
  for (const DiskCacheEntry& entry : List()) {
    if (entry.file != entries[0].file) continue;
    EXPECT_EQ(entry.status.message(), "is damaged");
  }
  EXPECT_TRUE(fs::exists(entries[0].file));  // Listing changes nothing.
}

TEST_F(DiskCacheTest, ThreadsAndProcessesAtOnce) {
  const auto work = [&](unsigned seed) {
    for (int round = 0; round < 200; ++round) {
      const int i = static_cast<int>((seed * 7919u + static_cast<unsigned>(round) * 104729u) % 50);
      const std::string key = absl::StrCat("key", i),
                        value(static_cast<size_t>(100 * i), static_cast<char>('a' + i % 26));
      const std::optional<std::string> found = LoadFromDisk("ptx", key);
      if (found.has_value() && *found != value) return 1;
      if (!found.has_value()) StoreOnDisk("ptx", key, value);
      if (round % 50 == 49) DropFromDisk("ptx", key);
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (unsigned p = 0; p < 8; ++p) children.push_back(Fork([&] { return work(p); }));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back([&, t] { EXPECT_EQ(work(100 + t), 0); });
  for (std::thread& thread : threads) thread.join();
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  for (const DiskCacheEntry& entry : List()) EXPECT_TRUE(entry.status.ok());
}

TEST_F(DiskCacheTest, WritersThatAreKilledLeaveNothing) {
  const std::string value(1 << 20, 'v');
  for (int round = 0; round < 20; ++round) {
    const pid_t writer = Fork([&] {
      for (int i = 0;; ++i) StoreOnDisk("ptx", absl::StrCat("key", round, "-", i), value);
      return 0;
    });
    usleep(5000 + 700 * round);
    kill(writer, SIGKILL);
    Wait(writer);
    for (const DiskCacheEntry& entry : List()) {
      EXPECT_TRUE(entry.status.ok());
      fs::remove(entry.file);
    }
  }
  EXPECT_TRUE(Files().empty());
}

}  // namespace
}  // namespace slipway
