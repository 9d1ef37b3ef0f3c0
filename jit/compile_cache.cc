#include "jit/compile_cache.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "driver/bytes.h"
#include "driver/disk_cache.h"
#include "jit/math_library.h"
#include "jit/semantics.h"
#include "launch/shared_modules.h"
#include "llvm/Config/llvm-config.h"
#include "slipway/kernel_cache.h"

namespace slipway {
namespace {

// The structural hash; target and options as text.
struct Key {
  ir::StructuralHash hash;
  std::string how;
  friend bool operator==(const Key&, const Key&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Key& key) {
    return H::combine(std::move(state), key.hash[0], key.hash[1], key.how);
  }
};

Key KeyOf(const ir::Kernel& kernel, const Target& target, const CompileOptions& options) {
  return {ir::Hash(kernel), absl::StrCat(ToString(target), " ", ToString(options), options.keep_llvm ? " llvm" : "")};
}

// Whether code of a math library becomes a part of the kernel.
bool UsesMathLibrary(const ir::Kernel& kernel) {
  for (const ir::Inst& inst : kernel.insts) {
    if (!ir::IsOperator(inst.op)) continue;
    const DType type = inst.num_operands == 0 ? inst.type : kernel.insts[kernel.OperandsOf(inst)[0]].type;
    if (ir::LoweringOf(inst.op, type).by == ir::LowerBy::kLibrary ||
        ir::LoweringOf(inst.op, inst.type).by == ir::LowerBy::kLibrary) {
      return true;
    }
  }
  return false;
}

// On disk: the first line is for people.
constexpr char kKind[] = "ptx";
std::string DiskKey(const ir::Kernel& kernel, const Key& key, const CompileOptions& options) {
  const std::string math =
      UsesMathLibrary(kernel) ? MathLibraryVersion(ResolveMathLibrary(options.math)) : std::string("no math library");
  return absl::StrCat(kernel.name, " for ", key.how, "; ", math, "; LLVM " LLVM_VERSION_STRING "; sources ",
                      internal::kSourceFingerprint, "; kernel ", absl::Hex(key.hash[0]), "-", absl::Hex(key.hash[1]),
                      "\n", ir::CanonicalBytes(kernel));
}

// What is kept of a compiled kernel: everything but what the kernel tells.
template <class Archive, class Texts>
void Visit(Archive& archive, Texts& inspection) {
  archive.Text(inspection.ir);
  archive.Text(inspection.llvm);
  archive.Text(inspection.ptx);
  archive.Text(inspection.math_library);
}

// From the disk, if it is there.
std::optional<CompiledKernel> LoadCompiled(const ir::Kernel& kernel, const std::string& disk_key) {
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<std::string> bytes = internal::LoadFromDisk(kKind, disk_key);
  if (!bytes.has_value()) return std::nullopt;
  auto inspection = std::make_shared<Inspection>();
  internal::ByteReader reader(*bytes);
  Visit(reader, *inspection);
  if (!reader.Done()) {
    internal::DropFromDisk(kKind, disk_key);
    return std::nullopt;
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  inspection->times = {{"read from disk", time.count()}};
  return WithCode(kernel, std::move(inspection));
}

absl::StatusOr<CompiledKernel> LoadOrCompile(const ir::Kernel& kernel, const Key& key, const Target& target,
                                             const CompileOptions& options) {
  if (!internal::HasDiskCache()) return Compile(kernel, target, options);
  const std::string disk_key = DiskKey(kernel, key, options);
  if (std::optional<CompiledKernel> compiled = LoadCompiled(kernel, disk_key)) return *std::move(compiled);
  absl::StatusOr<CompiledKernel> compiled = Compile(kernel, target, options);
  if (compiled.ok()) {
    internal::ByteWriter writer;
    Visit(writer, *compiled->inspection);
    internal::StoreOnDisk(kKind, disk_key, writer.Take());
  }
  return compiled;
}

size_t BytesOf(const CompiledKernel& compiled) {
  const Inspection& texts = *compiled.inspection;
  return sizeof(CompiledKernel) + texts.ir.size() + texts.llvm.size() + texts.ptx.size();
}

class Cache {
 public:
  static Cache& Get() {
    static auto* const cache = new Cache;  // Never destroyed: threads may outlive static objects.
    return *cache;
  }

  absl::StatusOr<CompiledKernel> GetOrCompile(const ir::Kernel& kernel, const Target& target,
                                              const CompileOptions& options) {
    const Key key = KeyOf(kernel, target, options);
    // A thread that is compiling already (a hook of its compile asks for a kernel) waits for nobody: the one that it
    // would wait for may wait for it, or be itself.
    static thread_local int compiling = 0;
    std::shared_ptr<Entry> entry;
    {
      std::unique_lock lock(mutex_);
      entry = EntryOf(key);
      if (compiling == 0) changed_.wait(lock, [&] { return !entry->busy; });
      if (entry->compiled.has_value()) {
        ++counters_.hits;
        CompiledKernel compiled = *entry->compiled;
        compiled.captured = kernel.captured;
        return compiled;
      }
      ++counters_.compiles;
      if (entry->busy) {
        entry = nullptr;
      } else {
        entry->busy = true;
      }
    }
    ++compiling;
    absl::StatusOr<CompiledKernel> compiled = LoadOrCompile(kernel, key, target, options);
    --compiling;
    if (entry == nullptr) return compiled;
    if (compiled.ok()) compiled->modules = std::make_shared<internal::SharedModules>();
    const std::lock_guard lock(mutex_);
    entry->busy = false;
    if (compiled.ok()) entry->compiled = *compiled;
    changed_.notify_all();
    if (Slot* const slot = Find(key, entry); slot != nullptr && !compiled.ok()) {
      order_.erase(slot->place);
      slots_.erase(key);
    } else if (slot != nullptr) {
      slot->bytes = BytesOf(*compiled);
      counters_.bytes += slot->bytes;
      Evict();
    }
    return compiled;
  }
  void CountCompile() {
    const std::lock_guard lock(mutex_);
    ++counters_.compiles;
  }

  KernelCacheCounters counters() {
    const std::lock_guard lock(mutex_);
    KernelCacheCounters now = counters_;
    now.entries = slots_.size();
    return now;
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    slots_.clear();
    order_.clear();
    counters_.bytes = 0;
  }
  void SetLimit(size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    Evict();
  }

 private:
  struct Entry {
    bool busy = false;  // A thread is compiling it.
    std::optional<CompiledKernel> compiled;
  };
  struct Slot {
    std::shared_ptr<Entry> entry;
    size_t bytes = 0;  // 0 while it is compiled.
    std::list<Key>::iterator place;
  };

  // With the lock held.
  std::shared_ptr<Entry> EntryOf(const Key& key) {
    const auto [found, is_new] = slots_.try_emplace(key);
    Slot& slot = found->second;
    if (is_new) {
      slot.entry = std::make_shared<Entry>();
      slot.place = order_.insert(order_.begin(), key);
    } else {
      order_.splice(order_.begin(), order_, slot.place);
    }
    return slot.entry;
  }
  // The slot of an entry, if it is still there.
  Slot* Find(const Key& key, const std::shared_ptr<Entry>& entry) {
    const auto found = slots_.find(key);
    return found == slots_.end() || found->second.entry != entry ? nullptr : &found->second;
  }
  // Those that are being compiled are left; what they take is known afterwards.
  void Evict() {
    for (auto last = order_.end(); counters_.bytes > limit_ && last != order_.begin();) {
      --last;
      const auto found = slots_.find(*last);
      if (found->second.bytes == 0) continue;
      counters_.bytes -= found->second.bytes;
      slots_.erase(found);
      last = order_.erase(last);
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::flat_hash_map<Key, Slot> slots_;
  std::list<Key> order_;  // The last used first.
  size_t limit_ = size_t{64} << 20;
  KernelCacheCounters counters_;
};

}  // namespace

absl::StatusOr<CompiledKernel> CompileOnce(const ir::Kernel& kernel, const Target& target,
                                           const CompileOptions& options) {
  // Lines of the source are no part of the hash.
  if (options.line_info) {
    Cache::Get().CountCompile();
    return Compile(kernel, target, options);
  }
  return Cache::Get().GetOrCompile(kernel, target, options);
}

KernelCacheCounters GetKernelCacheCounters() { return Cache::Get().counters(); }
void ClearKernelCache() { Cache::Get().Clear(); }
void SetKernelCacheLimit(size_t bytes) { Cache::Get().SetLimit(bytes); }

}  // namespace slipway
