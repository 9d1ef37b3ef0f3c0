#include "driver/cpu/compiled_module.h"

#include "driver/bytes.h"

namespace slipway::cpu {
namespace {

constexpr uint64_t kMagic = 0x31646f6d75706373;  // "scpumod1": the last digit changes with the form.

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
  internal::ByteWriter writer;
  writer.Number(kMagic);
  Visit(writer, module);
  return writer.Take();
}

absl::StatusOr<CompiledModule> Decode(std::string_view bytes) {
  internal::ByteReader reader(bytes);
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
