#include "slipway/signature.h"

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"

namespace slipway {

std::string Describe(const ParamSpec& param) {
  std::string text = absl::StrCat(param.name, param.name.empty() ? "" : ": ");
  switch (param.kind) {
    case ParamKind::kScalar:
      return absl::StrCat(text, AsAbsl(Name(param.dtype)));
    case ParamKind::kPointer:
      return absl::StrCat(text, param.read_only ? "const " : "", AsAbsl(Name(param.dtype)), "*");
    case ParamKind::kStruct:
      return absl::StrCat(text, "struct of ", param.struct_size, " bytes aligned to ", param.struct_align);
    case ParamKind::kArray:
      break;
  }
  absl::StrAppend(&text, param.read_only ? "const " : "", AsAbsl(Name(param.dtype)), "[");
  for (int d = 0; d < param.rank; ++d) absl::StrAppend(&text, d == 0 ? ":" : ",:");
  absl::StrAppend(&text, "]");
  if (param.layout == Layout::kContiguous) absl::StrAppend(&text, " contiguous");
  if (param.index == IndexWidth::kIndex32) absl::StrAppend(&text, " index32");
  if (param.vector) absl::StrAppend(&text, " vector");
  if (param.vector_rows) absl::StrAppend(&text, " rows");
  return text;
}

std::string Describe(const Signature& signature) {
  std::string text = "(";
  for (const ParamSpec& param : signature) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", Describe(param));
  }
  return absl::StrCat(text, ")");
}

size_t AbiSize(const ParamSpec& param) {
  switch (param.kind) {
    case ParamKind::kScalar:
      return SizeOf(param.dtype);
    case ParamKind::kPointer:
      return sizeof(void*);
    case ParamKind::kStruct:
      return param.struct_size;
    case ParamKind::kArray:
      break;
  }
  const size_t dims = param.layout == Layout::kStrided ? 2 * param.rank : param.rank;
  return sizeof(void*) + dims * sizeof(int64_t);
}

size_t AbiAlign(const ParamSpec& param) {
  if (param.kind == ParamKind::kStruct) return param.struct_align;
  return param.kind == ParamKind::kScalar ? AlignOf(param.dtype) : sizeof(void*);
}

BufferLayout LayOut(const Signature& signature) {
  BufferLayout layout;
  layout.offsets.reserve(signature.size());
  size_t end = 0;
  for (const ParamSpec& param : signature) {
    const size_t align = AbiAlign(param);
    const size_t offset = (end + align - 1) / align * align;
    layout.offsets.push_back(static_cast<uint32_t>(offset));
    end = offset + AbiSize(param);
  }
  layout.size = static_cast<uint32_t>(end);
  return layout;
}

}  // namespace slipway
