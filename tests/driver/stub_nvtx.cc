// An NVTX injection library in miniature. It keeps what it is told as text, which StubNvtxLog() returns. Variants, by
// preprocessor:
//   STUB_NVTX_STARTS    0: its initialisation fails
//   STUB_NVTX_RANGES    0: it takes no ranges
// Types and numbers are written out here, not taken from driver/nvtx_abi.h, so that one is checked against the other.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
std::string text;

void Note(const std::string& line) {
  std::lock_guard<std::mutex> lock(mutex);
  text += line + "\n";
}

struct Attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char* message;
};

int domain;

void* Create(const char* name) {
  Note(std::string("domain ") + name);
  return &domain;
}
int Push(void* where, const Attributes* attributes) {
  const bool right =
      where == &domain && attributes->version == 3 && attributes->size == 48 && attributes->message_type == 1;
  Note(std::string(right ? "push " : "wrong push ") + attributes->message);
  return 0;
}
int Pop(void* where) {
  Note(where == &domain ? "pop" : "wrong pop");
  return 0;
}

}  // namespace

EXPORT const char* StubNvtxLog() {
  thread_local std::string copy;
  std::lock_guard<std::mutex> lock(mutex);
  copy = text;
  return copy.c_str();
}

EXPORT int InitializeInjectionNvtx2(const void* (*get_table)(uint32_t)) {
  using Function = void (*)();
  struct Callbacks {
    size_t size;
    int (*get_module)(int module, Function*** table, unsigned* size);
  };
  struct Version {
    size_t size;
    uint32_t version, reserved;
    void (*set)(uint32_t);
  };
  const auto* version = static_cast<const Version*>(get_table(3));
  if (version == nullptr || version->version != 3 || get_table(2) != nullptr) return 0;
  version->set(3);
  const auto* callbacks = static_cast<const Callbacks*>(get_table(1));
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks)) return 0;
  // As the profilers do, all that is known is filled.
  const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  for (int module = 1; module <= 6; ++module) {
    Function** table = nullptr;
    unsigned size = 0;
    if (callbacks->get_module(module, &table, &size) != 1 || size != sizes[module]) return 0;
    for (unsigned i = 1; i < size; ++i) {
      if (table[i] == nullptr) return 0;
    }
    if (table[0] != nullptr || table[size] != nullptr) return 0;
    if (module != 5 || !STUB_NVTX_RANGES) continue;
    *table[12] = reinterpret_cast<Function>(&Create);
    *table[4] = reinterpret_cast<Function>(&Push);
    *table[5] = reinterpret_cast<Function>(&Pop);
  }
  Function** table = nullptr;
  unsigned size = 0;
  if (callbacks->get_module(0, &table, &size) != 0 || callbacks->get_module(7, &table, &size) != 0) return 0;
  return STUB_NVTX_STARTS;
}
