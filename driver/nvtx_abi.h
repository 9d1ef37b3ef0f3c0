// What a program and an NVTX injection library agree on, declared here so that neither NVTX's headers nor its library
// are needed: NVTX 3's nvtxDetail/nvtxTypes.h and nvToolsExt.h. tests/driver/nvtx_h_test.cc compares each declaration
// with those headers, where they are installed.
#ifndef SLIPWAY_DRIVER_NVTX_ABI_H_
#define SLIPWAY_DRIVER_NVTX_ABI_H_

#include <cstddef>
#include <cstdint>

namespace slipway::nvtx {

// A library's entry, InitializeInjectionNvtx2: asks for tables and stores its functions where they say. 0: it failed.
using GetExportTable = const void* (*)(uint32_t id);
using Initialize = int (*)(GetExportTable get_export_table);
inline constexpr char kInitializeName[] = "InitializeInjectionNvtx2";

enum ExportTableId : uint32_t { kCallbacks = 1, kVersionInfo = 3 };

// A module of NVTX's interface has an array of pointers to slots; the library stores a function into each slot that it
// wants called. Entry 0 is null, and so is the one past the last.
using Function = void (*)();
using FunctionTable = Function**;
enum Module : int32_t { kCore = 1, kCuda = 2, kOpenCl = 3, kCudaRt = 4, kCore2 = 5, kSync = 6 };
// Entries of each module's table, entry 0 included.
inline constexpr unsigned kModuleSizes[] = {0, 16, 9, 15, 7, 16, 7};
inline constexpr unsigned kMaxModuleSize = 16;
// Entries of kCore2.
enum Core2 : unsigned { kDomainRangePushEx = 4, kDomainRangePop = 5, kDomainCreateA = 12 };

struct Callbacks {
  size_t struct_size;
  int (*get_module_function_table)(Module module, FunctionTable* table, unsigned* size);
};

struct VersionInfo {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved0;
  void (*set_injection_version)(uint32_t version);
};
inline constexpr uint32_t kVersion = 3;

struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved0;
  uint64_t payload;
  int32_t message_type;
  const char* message;
};
inline constexpr int32_t kMessageAscii = 1;

using Domain = void*;
using DomainCreate = Domain (*)(const char* name);
using DomainRangePush = int (*)(Domain domain, const EventAttributes* attributes);
using DomainRangePop = int (*)(Domain domain);

}  // namespace slipway::nvtx

#endif  // SLIPWAY_DRIVER_NVTX_ABI_H_
