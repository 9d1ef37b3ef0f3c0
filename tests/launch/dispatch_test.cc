#include "slipway/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace slipway {
namespace {

using testing::HasSubstr;
using Key = std::vector<uint64_t>;

TEST(DispatchTest, MakesEachKeyOnce) {
  SpecializationCache<std::string> cache;
  int made = 0;
  const auto get = [&](const Key& key) {
    return cache.GetOrMake(key, [&]() -> absl::StatusOr<std::string> { return "value " + std::to_string(++made); });
  };
  EXPECT_EQ(cache.Find(Key{1, 2}), nullptr);
  EXPECT_EQ(**get({1, 2}), "value 1");
  EXPECT_EQ(**get({1, 2}), "value 1");
  EXPECT_EQ(**get({2, 1}), "value 2");
  EXPECT_EQ(**get({1}), "value 3");
  EXPECT_EQ(**get({}), "value 4");
  EXPECT_EQ(**get({1, 2}), "value 1");
  EXPECT_EQ(**get({}), "value 4");
  ASSERT_NE(cache.Find(Key{2, 1}), nullptr);
  EXPECT_EQ(*cache.Find(Key{2, 1}), "value 2");
  EXPECT_EQ(cache.size(), 4u);
  const DispatchCounters counters = cache.counters();
  EXPECT_EQ(counters.compiles, 4u);
  EXPECT_EQ(counters.misses, 4u);
  EXPECT_EQ(counters.hits, 5u);
  EXPECT_EQ(counters.failures, 0u);
}

TEST(DispatchTest, AddressesStayGoodWhileTheTableGrows) {
  SpecializationCache<uint64_t> cache;
  std::vector<const uint64_t*> first;
  for (uint64_t i = 0; i < 5000; ++i) {
    first.push_back(*cache.GetOrMake(Key{i, i * i}, [i]() -> absl::StatusOr<uint64_t> { return 3 * i; }));
  }
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t* found = cache.Find(Key{i, i * i});
    ASSERT_EQ(found, first[i]);
    ASSERT_EQ(*found, 3 * i);
    ASSERT_EQ(cache.Find(Key{i, i * i + 1}), nullptr);
  }
}

TEST(DispatchTest, FailuresAreRemembered) {
  SpecializationCache<int> cache;
  int calls = 0;
  const auto fail = [&]() -> absl::StatusOr<int> {
    ++calls;
    return absl::UnimplementedError("no such code");
  };
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = cache.GetOrMake(Key{7}, fail).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(status.message(), "no such code");
  }
  EXPECT_EQ(cache.Find(Key{7}), nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cache.counters().failures, 1u);
  // Clear forgets failures too.
  cache.Clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(**cache.GetOrMake(Key{7}, []() -> absl::StatusOr<int> { return 5; }), 5);
}

// Two makers that ask for what the other makes, in two caches and on two threads: one is told, and the other has what
// the first came to.
TEST(DispatchTest, MakersThatWaitForEachOtherAreAnError) {
  constexpr const char* kWords =
      "specialisation: this kernel is being made on another thread, which waits for what is made on this one; let the "
      "makers of two kernels not launch each other's";
  SpecializationCache<int> caches[3];
  constexpr int kThreads = 3;
  std::latch all_make(kThreads);
  absl::Status results[kThreads];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      results[t] = caches[t]
                       .GetOrMake(Key{1},
                                  [&]() -> absl::StatusOr<int> {
                                    all_make.arrive_and_wait();
                                    const auto other = caches[(t + 1) % kThreads].GetOrMake(
                                        Key{1}, []() -> absl::StatusOr<int> { return 0; });
                                    if (!other.ok()) return other.status();
                                    return **other;
                                  })
                       .status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& result : results) {
    EXPECT_EQ(result.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(result.message(), kWords);
  }
  // Nobody waits any more.
  SpecializationCache<int> after;
  EXPECT_EQ(**after.GetOrMake(Key{1}, []() -> absl::StatusOr<int> { return 3; }), 3);
}

TEST(DispatchTest, MakingWhatIsBeingMadeIsAnError) {
  SpecializationCache<int> cache;
  absl::Status inner;
  const auto value = cache.GetOrMake(Key{1}, [&]() -> absl::StatusOr<int> {
    inner = cache.GetOrMake(Key{1}, []() -> absl::StatusOr<int> { return 0; }).status();
    // Another key is fine: kernels may be made of kernels.
    return **cache.GetOrMake(Key{2}, []() -> absl::StatusOr<int> { return 2; });
  });
  EXPECT_EQ(**value, 2);
  EXPECT_EQ(inner.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(inner.message()),
      HasSubstr("specialisation: making this kernel asked for the kernel itself, which would wait for ever; let its "
                "maker not launch what it makes"));
}

TEST(DispatchTest, ValuesNeedNotBeCopyable) {
  SpecializationCache<std::unique_ptr<int>> cache;
  EXPECT_EQ(
      ***cache.GetOrMake(Key{1}, []() -> absl::StatusOr<std::unique_ptr<int>> { return std::make_unique<int>(9); }), 9);
}

TEST(DispatchTest, EightThreadsCompileEachKeyOnce) {
  constexpr int kThreads = 8, kKeys = 200, kRounds = 20;
  SpecializationCache<uint64_t> cache;
  std::vector<std::atomic<int>> made(kKeys);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kKeys; ++i) {
          const uint64_t k = static_cast<uint64_t>((i * 7 + t * 31) % kKeys);
          const uint64_t key[] = {k, ~k};
          const auto value = cache.GetOrMake(key, [&]() -> absl::StatusOr<uint64_t> {
            made[k].fetch_add(1);
            std::this_thread::yield();  // Let others arrive while it is being made.
            if (k % 10 == 3) return absl::InternalError("bad key");
            return k * k;
          });
          const bool right = k % 10 == 3 ? value.status().message() == "bad key" : value.ok() && **value == k * k;
          if (!right) wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  for (int k = 0; k < kKeys; ++k) EXPECT_EQ(made[k].load(), 1) << k;
  const DispatchCounters counters = cache.counters();
  EXPECT_EQ(counters.compiles, static_cast<uint64_t>(kKeys));
  EXPECT_EQ(counters.failures, static_cast<uint64_t>(kKeys / 10));
  // At most 16 threads: each counts its hits on a line of its own, so that none is lost.
  EXPECT_EQ(counters.hits + counters.misses, static_cast<uint64_t>(kThreads * kRounds * kKeys));
}

TEST(DispatchTest, KeysKeepWhatShapesCode) {
  const Facts word = static_cast<Facts>(DType::kFloat32) | Facts{2} << facts::kRankShift | facts::kContiguous |
                     facts::kIndex32 | facts::kValid | facts::kWritable | Facts{9} << facts::kAlignShift |
                     facts::OfDevice(4);
  EXPECT_EQ(KeyWord(word), word & ~(facts::kValid | facts::kAlignMask | facts::kDeviceMask));
  EXPECT_NE(KeyWord(facts::OfScalar(DType::kFloat32)), KeyWord(static_cast<Facts>(DType::kFloat32)));
}

}  // namespace
}  // namespace slipway
