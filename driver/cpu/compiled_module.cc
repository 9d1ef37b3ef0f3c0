#include "driver/cpu/compiled_module.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace slipway::cpu {
namespace {

constexpr uint64_t kMagic = 0x31646f6d75706373;  // "scpumod1": the last digit changes with the form.

class Writer {
 public:
  template <class T>
  void Number(const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(const std::string& text) {
    Number(uint64_t{text.size()});
    out_.append(text);
  }
  template <class T, class F>
  void List(const std::vector<T>& list, const F& each) {
    Number(uint64_t{list.size()});
    for (const T& one : list) each(one);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Everything reads as 0 and empty once something is missing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  void Number(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_array_v<T>);
    if (left_.size() < sizeof(value)) return Fail();
    std::memcpy(&value, left_.data(), sizeof(value));
    left_.remove_prefix(sizeof(value));
  }
  void Text(std::string& text) {
    uint64_t size = 0;
    Number(size);
    if (left_.size() < size) return Fail();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <class T, class F>
  void List(std::vector<T>& list, const F& each) {
    uint64_t size = 0;
    Number(size);
    for (; size != 0 && !failed_; --size) each(list.emplace_back());
  }
  bool Done() const { return !failed_ && left_.empty(); }

 private:
  void Fail() {
    failed_ = true;
    left_ = {};
  }
  std::string_view left_;
  bool failed_ = false;
};

// The one description of the form, for both.
template <class Archive, class Module>
void Visit(Archive& archive, Module& module) {
  archive.Number(module.isa);
  archive.Number(module.sm);
  archive.List(module.kernels, [&](auto& kernel) {
    archive.Text(kernel.name);
    archive.List(kernel.params, [&](auto& parameter) {
      archive.Number(parameter.offset);
      archive.Number(parameter.size);
      archive.Number(parameter.align);
    });
    archive.Number(kernel.params_bytes);
    archive.Number(kernel.shared_bytes);
    archive.Number(kernel.local_bytes);
    archive.Number(kernel.stack_bytes);
    archive.Number(kernel.max_threads);
    archive.Number(kernel.required_block);
    archive.Number(kernel.prints);
    archive.Number(kernel.allocates);
    archive.Number(kernel.recurses);
  });
  archive.Number(module.variable_bytes);
  archive.List(module.variables, [&](auto& variable) {
    archive.Text(variable.name);
    archive.Number(variable.offset);
    archive.Number(variable.bytes);
    archive.Number(variable.constant);
  });
  archive.List(module.initial, [&](auto& initial) {
    archive.Number(initial.offset);
    archive.Text(initial.bytes);
  });
  archive.List(module.addresses, [&](auto& address) {
    archive.Number(address.offset);
    archive.Number(address.bytes);
    archive.Number(address.shift);
    archive.Text(address.symbol);
    archive.Number(address.addend);
  });
  archive.Text(module.object);
}

// Whether everything lies where it may.
bool IsSound(const CompiledModule& module) {
  const auto fits = [&](uint64_t offset, uint64_t bytes) {
    return bytes <= module.variable_bytes && offset <= module.variable_bytes - bytes;
  };
  for (const CompiledVariable& variable : module.variables) {
    if (!fits(variable.offset, variable.bytes)) return false;
  }
  for (const CompiledBytes& initial : module.initial) {
    if (!fits(initial.offset, initial.bytes.size())) return false;
  }
  for (const CompiledAddress& address : module.addresses) {
    if (address.bytes > sizeof(uint64_t) || address.shift >= 64 || !fits(address.offset, address.bytes)) return false;
  }
  return true;
}

}  // namespace

std::string KernelSymbol(size_t index) { return "kernel." + std::to_string(index); }

std::string Encode(const CompiledModule& module) {
  Writer writer;
  writer.Number(kMagic);
  Visit(writer, module);
  return writer.Take();
}

absl::StatusOr<CompiledModule> Decode(std::string_view bytes) {
  Reader reader(bytes);
  uint64_t magic = 0;
  reader.Number(magic);
  CompiledModule module;
  if (magic == kMagic) Visit(reader, module);
  if (magic != kMagic || !reader.Done() || !IsSound(module)) {
    return absl::DataLossError("no compiled module of this version of the CPU device, or a part of one");
  }
  return module;
}

}  // namespace slipway::cpu
