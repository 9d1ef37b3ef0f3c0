#include "driver/cpu/ptx/type.h"

namespace slipway::ptx {
namespace {

struct NamedType {
  std::string_view name;
  Type type;
};

constexpr NamedType kTypes[] = {
    {"pred", {Kind::kPredicate, 1}},     {"b8", {Kind::kBits, 8}},          {"b16", {Kind::kBits, 16}},
    {"b32", {Kind::kBits, 32}},          {"b64", {Kind::kBits, 64}},        {"b128", {Kind::kBits, 128}},
    {"u8", {Kind::kUnsigned, 8}},        {"u16", {Kind::kUnsigned, 16}},    {"u32", {Kind::kUnsigned, 32}},
    {"u64", {Kind::kUnsigned, 64}},      {"s8", {Kind::kSigned, 8}},        {"s16", {Kind::kSigned, 16}},
    {"s32", {Kind::kSigned, 32}},        {"s64", {Kind::kSigned, 64}},      {"f16", {Kind::kFloat, 16}},
    {"f32", {Kind::kFloat, 32}},         {"f64", {Kind::kFloat, 64}},       {"bf16", {Kind::kBrainFloat, 16}},
    {"tf32", {Kind::kTensorFloat, 32}},  {"f16x2", {Kind::kFloat, 16, 2}},  {"bf16x2", {Kind::kBrainFloat, 16, 2}},
    {"u16x2", {Kind::kUnsigned, 16, 2}}, {"s16x2", {Kind::kSigned, 16, 2}},
};

struct NamedSpace {
  std::string_view name;
  Space space;
};

constexpr NamedSpace kSpaces[] = {
    {"reg", Space::kRegister},       {"param", Space::kParam},   {"param::entry", Space::kParam},
    {"param::func", Space::kParam},  {"local", Space::kLocal},   {"shared", Space::kShared},
    {"shared::cta", Space::kShared}, {"global", Space::kGlobal}, {"const", Space::kConst},
};

}  // namespace

std::optional<Type> ParseType(std::string_view name) {
  for (const NamedType& type : kTypes) {
    if (type.name == name) return type.type;
  }
  return std::nullopt;
}

Type OneOf(TypeSet set) {
  for (const NamedType& type : kTypes) {
    if ((set & Only(type.type)) != 0) return type.type;
  }
  return Type{};
}

std::optional<Space> ParseSpace(std::string_view name) {
  for (const NamedSpace& space : kSpaces) {
    if (space.name == name) return space.space;
  }
  return std::nullopt;
}

}  // namespace slipway::ptx
