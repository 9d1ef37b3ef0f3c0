#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "jit/ir.h"
#include "jit/walk.h"
#include "llvm/Support/xxhash.h"

namespace slipway::ir {
namespace {

// Changed whenever the meaning of what is hashed changes, so that entries of older versions in a disk cache are not
// met.
constexpr uint64_t kVersion = 2;

// What is hashed, as words: fixed-size fields and strings that carry their length, so that no two kernels give the same
// sequence.
class Words {
 public:
  void Add(uint64_t word) { words_.push_back(word); }
  void Add(const std::string& text) {
    Add(text.size());
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
      Add(word);
    }
  }
  void Add(const ParamSpec& param) {
    Add(param.name);
    Add(static_cast<uint64_t>(param.kind) | static_cast<uint64_t>(param.dtype) << 8 |
        static_cast<uint64_t>(param.rank) << 16 | static_cast<uint64_t>(param.layout) << 24 |
        static_cast<uint64_t>(param.index) << 32 | static_cast<uint64_t>(param.read_only) << 40 |
        static_cast<uint64_t>(param.vector) << 41 | static_cast<uint64_t>(param.vector_rows) << 42);
    Add(static_cast<uint64_t>(param.struct_size) << 32 | param.struct_align);
  }
  std::string Bytes() const { return {reinterpret_cast<const char*>(words_.data()), 8 * words_.size()}; }
  StructuralHash Hash() const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(words_.data());
    const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(bytes, 8 * words_.size()));
    return {hash.low64, hash.high64};
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

namespace {

Words WordsOf(const Kernel& kernel) {
  Words words;
  words.Add(kVersion);
  words.Add(kernel.name);
  const LaunchBounds& bounds = kernel.bounds;
  for (uint32_t bound : {bounds.max_threads, bounds.min_blocks, bounds.max_registers}) words.Add(bound);
  words.Add(kernel.params.size());
  for (const ParamSpec& param : kernel.params) words.Add(param);
  words.Add(kernel.buffers.size());
  for (const Buffer& buffer : kernel.buffers) {
    words.Add(buffer.spec);
    words.Add(static_cast<uint64_t>(buffer.space) | static_cast<uint64_t>(buffer.dynamic) << 8);
    words.Add(buffer.shape.size());
    for (int64_t extent : buffer.shape) words.Add(static_cast<uint64_t>(extent));
    words.Add(buffer.data);
  }
  words.Add(kernel.strings.size());
  for (const std::string& text : kernel.strings) words.Add(text);
  words.Add(kernel.vars.size());
  for (const Variable& var : kernel.vars) words.Add(static_cast<uint64_t>(var.type));
  // Values are numbered in textual order, so that instructions that no block holds do not count.
  std::vector<uint32_t> number(kernel.insts.size(), kNone);
  uint32_t next = 0;
  constexpr uint64_t kEnter = 0xfe, kLeave = 0xff;
  static_assert(kNumOps <= 0xfe, "no Op may have the numbers of kEnter and kLeave");
  Walk(
      kernel, [&](ValueId, int which) { words.Add(kEnter | static_cast<uint64_t>(which) << 8); },
      [&](ValueId id) {
        const Inst& inst = kernel.insts[id];
        number[id] = next++;
        words.Add(static_cast<uint64_t>(inst.op) | static_cast<uint64_t>(inst.type) << 8 |
                  static_cast<uint64_t>(inst.num_operands) << 16 | static_cast<uint64_t>(inst.imm2) << 32);
        words.Add(inst.imm);
        for (ValueId operand : kernel.OperandsOf(inst)) words.Add(number[operand]);
      },
      [&](ValueId, int) { words.Add(kLeave); });
  // Most kernels have none of these, and the hashes that they had without them.
  if (!kernel.checks.empty()) {
    words.Add(kernel.checks.size());
    for (const std::string& text : kernel.checks) words.Add(text);
  }
  if (!kernel.externals.empty() || kernel.is_function) {
    words.Add(static_cast<uint64_t>(kernel.is_function) | static_cast<uint64_t>(kernel.result) << 8);
    words.Add(kernel.externals.size());
    for (const External& external : kernel.externals) {
      words.Add(external.name);
      words.Add(static_cast<uint64_t>(external.result) | static_cast<uint64_t>(external.params.size()) << 8);
      for (const DeviceParam& param : external.params) {
        words.Add(static_cast<uint64_t>(param.dtype) | static_cast<uint64_t>(param.pointer) << 8 |
                  static_cast<uint64_t>(param.read_only) << 9);
      }
    }
  }
  return words;
}

}  // namespace

StructuralHash Hash(const Kernel& kernel) { return WordsOf(kernel).Hash(); }
std::string CanonicalBytes(const Kernel& kernel) { return WordsOf(kernel).Bytes(); }

}  // namespace slipway::ir
