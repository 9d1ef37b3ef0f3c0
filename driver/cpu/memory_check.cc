#include "driver/cpu/memory_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/cpu/call_stack.h"
#include "driver/cpu/failed_threads.h"
#include "driver/cpu/runtime.h"
#include "driver/cpu/system/device_heap.h"
#include "driver/log.h"

namespace slipway::cpu {
namespace {

using ptx::Space;

// Addresses up to here come from null pointers.
constexpr uint64_t kNullBytes = 4096;

// What only the checker itself knows of a thread.
struct Checker : CheckedThread {
  CpuLaunch* launch = nullptr;
  uint64_t context = 0;  // Its id, of which the known ranges are.
  const std::byte* shared = nullptr;
  const CheckedKernel* kernel = nullptr;
  std::shared_ptr<const Arena::Ranges> ranges;  // As last looked at.
};

Checker& ThisThread() {
  // On the heap: most threads of a process never run checked code.
  static thread_local const std::unique_ptr<Checker> checker = [] {
    auto made = std::make_unique<Checker>();
    made->frees = &Runtime::Get().arena.frees();
    return made;
  }();
  return *checker;
}

// --- What may be touched

constexpr bool IsRead(AccessKind kind) { return kind == AccessKind::kRead || kind == AccessKind::kAtomicRead; }

struct Range {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  bool Holds(uint64_t address, uint64_t size) const {
    return address - begin < bytes && size <= bytes - (address - begin);
  }
  bool Holds(uint64_t address, const AccessSite& site) const {
    return Holds(address, MayReachEndOfWord(site.kind, site.bytes) && address % site.bytes == 0 ? 1 : site.bytes);
  }
};

Range SharedOf(const Checker& self) { return {reinterpret_cast<uint64_t>(self.shared), self.shared_bytes}; }
Range ParamsOf(const Checker& self) {
  return {reinterpret_cast<uint64_t>(self.launch->params), self.kernel->params_bytes};
}

bool IsLocal(const Checker& self, uint64_t address, uint64_t size) {
  for (const LocalFrame* frame = self.frame; frame != nullptr; frame = frame->outer) {
    for (uint64_t i = 0; i < frame->count; ++i) {
      const LocalVariable& variable = frame->variables()[i];
      if (Range{variable.begin, variable.bytes}.Holds(address, size)) return true;
    }
  }
  return false;
}

struct Found {
  Range range;
  bool constant;
};

// Whether the context that runs may touch a range of another device: its peers' memory (cuCtxEnablePeerAccess), and
// that of pools that were opened for it (cuMemPoolSetAccess).
bool MayTouch(const Checker& self, const Arena::Range& range) {
  Context* const context = self.launch->context;
  if (context == nullptr || range.device == context->device || range.kind == Arena::Kind::kHost ||
      range.kind == Arena::Kind::kManaged || (range.open_to >> context->device & 1) != 0) {
    return true;
  }
  const std::shared_ptr<Context> owner = range.owner == 0 ? nullptr : ContextById(range.owner);
  if (owner == nullptr) return false;
  const std::lock_guard lock(context->peers_mutex);
  return context->peers.contains(owner->handle);
}

// The live range of the arena that holds an access, where it may be made; nothing if there is none.
std::optional<Found> FindIn(const Arena::Ranges& ranges, const Checker& self, uint64_t address,
                            const AccessSite& site) {
  const Arena::Range* const below = ranges.Below(address);
  if (below == nullptr) return std::nullopt;
  if (below->constant ? !IsRead(site.kind) : site.space == Space::kConst) return std::nullopt;
  if (!MayTouch(self, *below)) return std::nullopt;
  Range range{below->begin, below->bytes};
  if (below->kind == Arena::Kind::kHeap && self.launch->heap != nullptr && range.Holds(address, 1)) {
    const std::optional<DeviceHeap::Block> block = self.launch->heap->Nearest(address);
    if (!block) return std::nullopt;
    range = {block->address, block->bytes};
  }
  if (!range.Holds(address, site)) return std::nullopt;
  return Found{range, below->constant};
}

bool IsInArena(Checker& self, uint64_t address, const AccessSite& site) {
  // Before looking: what is freed from here on makes the answer an old one.
  const uint64_t frees = self.frees->load(std::memory_order_acquire);
  std::optional<Found> found;
  if (self.ranges != nullptr && self.ranges->frees == frees) found = FindIn(*self.ranges, self, address, site);
  if (!found) {  // It may be new.
    self.ranges = Runtime::Get().arena.LiveRanges();
    found = FindIn(*self.ranges, self, address, site);
  }
  if (!found) return false;
  const KnownRange known{found->range.begin, found->range.begin + found->range.bytes, frees};
  if (site.space == Space::kConst) {
    self.known_constant[site.known] = known;
  } else if (!found->constant) {  // Which not every access that shares the entry may touch.
    self.known[site.known] = known;
  }
  return true;
}

bool IsThere(Checker& self, uint64_t address, const AccessSite& site) {
  if (site.variable != nullptr) return site.in_bounds;
  switch (site.space) {
    case Space::kShared:
      return Range{0, self.shared_bytes}.Holds(address, site);
    case Space::kLocal:
      return IsLocal(self, address, site.bytes);
    case Space::kParam:
      return ParamsOf(self).Holds(address, site.bytes) || IsLocal(self, address, site.bytes);
    case Space::kConst:
      return IsInArena(self, address, site);
    case Space::kGeneric:
      if (IsLocal(self, address, site.bytes) || SharedOf(self).Holds(address, site) ||
          ParamsOf(self).Holds(address, site.bytes)) {
        return true;
      }
      [[fallthrough]];
    default:
      return IsInArena(self, address, site);
  }
}

// --- What is told

// "12 bytes past the end of ", "4 bytes before ", "8 bytes inside ": where an access stands to a range.
std::string Relation(uint64_t address, const Range& range) {
  const auto bytes = [](uint64_t count) { return absl::StrCat(count, count == 1 ? " byte " : " bytes "); };
  if (address < range.begin) return absl::StrCat(bytes(range.begin - address), "before ");
  const uint64_t offset = address - range.begin;
  if (offset < range.bytes) return absl::StrCat(bytes(offset), "inside ");
  if (offset == range.bytes) return "at the end of ";
  return absl::StrCat(bytes(offset - range.bytes), "past the end of ");
}

// "a 4096-byte ", "an 8-byte ".
std::string Sized(uint64_t bytes) {
  const std::string digits = absl::StrCat(bytes);
  const bool is_eleven_or_eighteen =
      digits[0] == '1' && digits.size() % 3 == 2 && (digits[1] == '1' || digits[1] == '8');
  return absl::StrCat(digits[0] == '8' || is_eleven_or_eighteen ? "an " : "a ", digits, "-byte ");
}

uint64_t Distance(uint64_t address, const Range& range) {
  if (address < range.begin) return range.begin - address;
  return address - range.begin < range.bytes ? 0 : address - range.begin - range.bytes;
}

std::string WhereInHeap(DeviceHeap& heap, uint64_t address) {
  const std::optional<DeviceHeap::Block> block = heap.Nearest(address);
  if (block && address - block->address < block->bytes) {
    return absl::StrCat(Relation(address, {block->address, block->bytes}), Sized(block->bytes), "block of malloc");
  }
  if (const std::optional<FreedRanges::Range> freed = heap.FindFreed(address)) {
    return absl::StrCat(Relation(address, {freed->address, freed->bytes}), Sized(freed->bytes),
                        "block of malloc that was freed");
  }
  if (!block) return "where malloc has given nothing";
  return absl::StrCat(Relation(address, {block->address, block->bytes}), Sized(block->bytes), "block of malloc");
}

std::string WhereInArena(const Checker& self, uint64_t address, const AccessSite& site) {
  const Arena& arena = Runtime::Get().arena;
  const std::shared_ptr<const Arena::Ranges> ranges = arena.LiveRanges();
  const Arena::Range* nearest = ranges->Below(address);
  const bool inside = nearest != nullptr && address - nearest->begin < nearest->bytes;
  if (!inside) {
    if (const std::optional<FreedRanges::Range> freed = arena.FindFreed(address)) {
      return absl::StrCat(Relation(address, {freed->address, freed->bytes}), Sized(freed->bytes),
                          "allocation that was freed");
    }
    if (ranges->list.empty()) return "where nothing is allocated";
    const Arena::Range* const next = nearest == nullptr ? ranges->list.data() : nearest + 1;
    const bool has_next = next != ranges->list.data() + ranges->list.size();
    if (nearest == nullptr || (has_next && Distance(address, {next->begin, next->bytes}) <
                                               Distance(address, {nearest->begin, nearest->bytes}))) {
      nearest = next;
    }
  }
  if (inside && nearest->kind == Arena::Kind::kHeap && self.launch->heap != nullptr) {
    return WhereInHeap(*self.launch->heap, address);
  }
  std::string what = absl::StrCat(Sized(nearest->bytes), "allocation");
  if (nearest->kind == Arena::Kind::kHost) what += " of the host";
  if (nearest->kind == Arena::Kind::kHeap) what = "the heap of malloc";
  if (nearest->name != nullptr) {
    what =
        absl::StrCat(nearest->constant ? "constant " : "variable ", *nearest->name, " of ", nearest->bytes, " bytes");
  }
  if (inside && site.space == Space::kConst && !nearest->constant) what += ", which is no constant memory";
  if (inside && !MayTouch(self, *nearest)) {
    absl::StrAppend(&what, " of device ", nearest->device, ", which this context has no access to");
  }
  return Relation(address, {nearest->begin, nearest->bytes}) + what;
}

std::string WhereInLocal(const Checker& self, uint64_t address) {
  const LocalVariable* nearest = nullptr;
  const auto distance = [&](const LocalVariable& variable) {
    return Distance(address, {variable.begin, variable.bytes});
  };
  for (const LocalFrame* frame = self.frame; frame != nullptr; frame = frame->outer) {
    for (uint64_t i = 0; i < frame->count; ++i) {
      const LocalVariable& variable = frame->variables()[i];
      if (nearest == nullptr || distance(variable) < distance(*nearest)) nearest = &variable;
    }
  }
  if (nearest == nullptr) return "which is no local memory of the thread";
  return absl::StrCat(Relation(address, {nearest->begin, nearest->bytes}), "local variable ", nearest->name, " of ",
                      nearest->bytes, " bytes");
}

std::string WhereInShared(uint64_t offset, uint64_t bytes) {
  const std::string what = absl::StrCat("the block's ", bytes, " bytes of shared memory");
  // Negative offsets are 32-bit ones, as a rule.
  const uint64_t before = offset >= uint64_t{1} << 32 ? 0 - offset : (uint64_t{1} << 32) - offset;
  if (before <= uint64_t{1} << 31) return absl::StrCat(before, before == 1 ? " byte" : " bytes", " before ", what);
  return Relation(offset, {0, bytes}) + what;
}

// Where an address is, in words; `address` as the PTX has it.
std::string Where(const Checker& self, uint64_t address, const AccessSite& site) {
  if (site.variable != nullptr) {
    return absl::StrCat(site.in_bounds ? "inside " : "outside of ", site.variable, " of ", site.variable_bytes,
                        " bytes");
  }
  if (site.space == Space::kShared) return WhereInShared(address, self.shared_bytes);
  if (address == 0) return "a null pointer";
  if (address < kNullBytes) return absl::StrCat(address, " bytes from a null pointer");
  if (site.space == Space::kLocal) return WhereInLocal(self, address);
  if (site.space == Space::kParam) {
    return Relation(address, ParamsOf(self)) +
           absl::StrCat("the kernel's ", self.kernel->params_bytes, " bytes of parameters");
  }
  if (Runtime::Get().arena.Reserved(address)) return WhereInArena(self, address, site);
  if (site.space != Space::kGeneric) {
    if (IsLocal(self, address, 1)) return "which is local memory of the thread";
    if (SharedOf(self).Holds(address, 1)) return "which is shared memory of the block";
  } else {
    const Range shared = SharedOf(self);
    if (shared.bytes > 0 && Distance(address, shared) <= kNullBytes) {
      return Relation(address, shared) + absl::StrCat("the block's ", shared.bytes, " bytes of shared memory");
    }
    for (const LocalFrame* frame = self.frame; frame != nullptr; frame = frame->outer) {
      for (uint64_t i = 0; i < frame->count; ++i) {
        const LocalVariable& variable = frame->variables()[i];
        if (Distance(address, {variable.begin, variable.bytes}) <= kNullBytes) return WhereInLocal(self, address);
      }
    }
  }
  return "which is no memory of the device";
}

constexpr const char* SpaceName(Space space) {
  switch (space) {
    case Space::kGlobal:
      return "global ";
    case Space::kShared:
      return "shared ";
    case Space::kLocal:
      return "local ";
    case Space::kParam:
      return "parameter ";
    case Space::kConst:
      return "constant ";
    default:
      return "";
  }
}

constexpr const char* KindName(AccessKind kind) {
  return IsRead(kind) ? "read" : kind == AccessKind::kWrite ? "write" : "atomic";
}

void Tell(const Checker& self, const std::string& what, const AccessSite& site, const FailedThread& who) {
  if (!MayTellOfThread(*self.launch)) return;
  std::string text = absl::StrCat("cpu device: ", what, "\n  kernel ", self.kernel->name, ", ", Describe(who), ", ");
  if (site.function != nullptr) absl::StrAppend(&text, "function ", site.function, ", ");
  text += site.where;
  if (GetSettings().check.call_stack) {
    const std::byte* const stack = self.launch->params + CallStackOffset(self.kernel->params_bytes);
    absl::StrAppend(&text, "\n  launched by", Describe(*reinterpret_cast<const CallStack*>(stack)));
  }
  LogWarning(text);
}

// A thread is kept from something: tells of it, and the launch fails.
void Refuse(const Checker& self, CpuFailure reason, const std::string& what, const AccessSite& site,
            const FailedThread& who) {
  Tell(self, what, site, who);
  NoteFailedThread(who);
  std::atomic_ref(self.launch->trapped).store(reason, std::memory_order_relaxed);
}

// --- What checked code calls

CheckedThread* Begin(CpuLaunch* launch, std::byte* shared, const CheckedKernel* kernel) {
  Checker& self = ThisThread();
  const uint64_t context = launch->context == nullptr ? 0 : launch->context->id;
  if (context != self.context) {  // What another could touch is not known of this one.
    std::fill(std::begin(self.known), std::end(self.known), KnownRange());
    std::fill(std::begin(self.known_constant), std::end(self.known_constant), KnownRange());
    self.context = context;
  }
  self.launch = launch;
  self.shared = shared;
  self.kernel = kernel;
  self.shared_bytes = kernel->shared_bytes + launch->dynamic_shared_bytes;
  self.frame = nullptr;
  return &self;
}

CheckedThread* Thread() { return &ThisThread(); }

bool CheckAccess(CheckedThread* thread, uint64_t address, const AccessSite* site, uint32_t block_x, uint32_t block_y,
                 uint32_t block_z, uint32_t thread_x, uint32_t thread_y, uint32_t thread_z) {
  Checker& self = *static_cast<Checker*>(thread);
  const bool there = IsThere(self, address, *site);
  if (there && address % site->bytes == 0) return true;
  Refuse(self, there ? kMisalignedAccess : kInvalidAccess,
         absl::StrCat(there ? "misaligned " : "invalid ", SpaceName(site->space), KindName(site->kind), " of size ",
                      site->bytes, " at 0x", absl::Hex(address), ", ", Where(self, address, *site)),
         *site, {{block_x, block_y, block_z}, {thread_x, thread_y, thread_z}, true});
  return false;
}

bool CheckFree(CheckedThread* thread, void* address, const AccessSite* site, uint32_t block_x, uint32_t block_y,
               uint32_t block_z, uint32_t thread_x, uint32_t thread_y, uint32_t thread_z) {
  Checker& self = *static_cast<Checker*>(thread);
  if (address == nullptr) return true;
  DeviceHeap* const heap = self.launch->heap;
  if (heap != nullptr && heap->Free(address)) {
    Runtime::Get().arena.NoteFree();
    return true;
  }
  const auto at = reinterpret_cast<uint64_t>(address);
  const bool freed_before = heap != nullptr && [&] {
    const std::optional<FreedRanges::Range> freed = heap->FindFreed(at);
    return freed && freed->address == at;
  }();
  Refuse(self, kThreadTrapped,
         absl::StrCat(freed_before ? "double" : "invalid", " free of 0x", absl::Hex(at),
                      freed_before ? "" : ", which malloc did not give"),
         *site, {{block_x, block_y, block_z}, {thread_x, thread_y, thread_z}, true});
  return false;
}

}  // namespace

absl::Span<const std::pair<std::string_view, void*>> CheckFunctions() {
  static const std::pair<std::string_view, void*> functions[] = {
      {"slipway_check_begin", reinterpret_cast<void*>(&Begin)},
      {"slipway_check_thread", reinterpret_cast<void*>(&Thread)},
      {"slipway_check_access", reinterpret_cast<void*>(&CheckAccess)},
      {"slipway_check_free", reinterpret_cast<void*>(&CheckFree)},
  };
  return functions;
}

}  // namespace slipway::cpu
