#include "driver/cpu/translate/refused.h"

#include <algorithm>

namespace slipway::cpu {
namespace {

constexpr std::string_view kAsynchronousCopies = "the CPU device has no asynchronous copies; copy by ld and st";
constexpr std::string_view kMbarriers = "the CPU device has no mbarriers; use bar or barrier";
constexpr std::string_view kTensorCores = "the CPU device has no matrix instructions (tensor cores)";
constexpr std::string_view kTextures = "the CPU device has no textures and surfaces; read and write global memory";
constexpr std::string_view kClusters = "the CPU device has no clusters of blocks";
constexpr std::string_view kMultimem = "the CPU device has no multimem addresses";
constexpr std::string_view kStack = "the CPU device has no stack allocation of variable size; declare a .local array";
constexpr std::string_view kVideo = "the CPU device has no video instructions but those on 2 or 4 parts";
constexpr std::string_view kTensorMaps = "the CPU device has no tensor maps";

// An opcode, a modifier that it must have (or none), and why.
constexpr struct {
  std::string_view opcode, modifier, reason;
} kRefused[] = {
    {"cp", "", kAsynchronousCopies},
    {"st", "async", kAsynchronousCopies},
    {"red", "async", kAsynchronousCopies},
    {"st", "bulk", kAsynchronousCopies},
    {"mbarrier", "", kMbarriers},
    {"mma", "", kTensorCores},
    {"wmma", "", kTensorCores},
    {"wgmma", "", kTensorCores},
    {"tcgen05", "", kTensorCores},
    {"ldmatrix", "", kTensorCores},
    {"stmatrix", "", kTensorCores},
    {"movmatrix", "", kTensorCores},
    {"tex", "", kTextures},
    {"tld4", "", kTextures},
    {"txq", "", kTextures},
    {"suld", "", kTextures},
    {"sust", "", kTextures},
    {"sured", "", kTextures},
    {"suq", "", kTextures},
    {"istypep", "", kTextures},
    {"mapa", "", kClusters},
    {"getctarank", "", kClusters},
    {"barrier", "cluster", kClusters},
    {"clusterlaunchcontrol", "", kClusters},
    {"multimem", "", kMultimem},
    {"alloca", "", kStack},
    {"stacksave", "", kStack},
    {"stackrestore", "", kStack},
    {"tensormap", "", kTensorMaps},
    {"vadd", "", kVideo},
    {"vsub", "", kVideo},
    {"vabsdiff", "", kVideo},
    {"vmin", "", kVideo},
    {"vmax", "", kVideo},
    {"vshl", "", kVideo},
    {"vshr", "", kVideo},
    {"vmad", "", kVideo},
    {"vset", "", kVideo},
    {"cvt", "rs", "the CPU device has no stochastic rounding"},
    {"fma", "oob", "the CPU device has no out-of-bounds NaN"},
};

}  // namespace

std::string_view WhyRefused(const ptx::Instruction& instruction) {
  for (const auto& row : kRefused) {
    if (row.opcode != instruction.opcode) continue;
    const auto& modifiers = instruction.modifiers;
    if (row.modifier.empty() || std::find(modifiers.begin(), modifiers.end(), row.modifier) != modifiers.end()) {
      return row.reason;
    }
  }
  return {};
}

}  // namespace slipway::cpu
