#include "tests/launch/random_call.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

template <class T>
T Pick(Random* random, T below) {
  return static_cast<T>((*random)() % static_cast<uint64_t>(below));
}

template <class Row, size_t kCount>
const Row& PickRow(Random* random, const Row (&rows)[kCount]) {
  return rows[Pick(random, kCount)];
}

// An Arg of any dtype whose value is these bytes.
Arg ScalarArg(DType dtype, const unsigned char* bytes) {
  switch (dtype) {
#define SLIPWAY_TEST_SCALAR(enumerator, type, name, short_name, size) \
  case DType::enumerator: {                                           \
    type value;                                                       \
    std::memcpy(static_cast<void*>(&value), bytes, sizeof(value));    \
    return Arg(value);                                                \
  }
    SLIPWAY_DTYPES(SLIPWAY_TEST_SCALAR)
#undef SLIPWAY_TEST_SCALAR
    case DType::kVoid:
      break;
  }
  ADD_FAILURE();
  return Arg(0);
}

// A raw pointer to elements of any dtype.
Arg PointerArg(DType dtype, bool read_only, uint64_t address) {
  switch (dtype) {
#define SLIPWAY_TEST_POINTER(enumerator, type, name, short_name, size) \
  case DType::enumerator:                                              \
    return read_only ? Arg(reinterpret_cast<const type*>(address)) : Arg(reinterpret_cast<type*>(address));
    SLIPWAY_DTYPES(SLIPWAY_TEST_POINTER)
#undef SLIPWAY_TEST_POINTER
    case DType::kVoid:
      break;
  }
  return read_only ? Arg(reinterpret_cast<const void*>(address)) : Arg(reinterpret_cast<void*>(address));
}

struct StructType {
  uint32_t size, align;
  Arg (*arg)(const void* bytes);
};
template <size_t kSize, size_t kAlign>
constexpr StructType StructTypeOf() {
  static_assert(sizeof(Blob<kSize, kAlign>) == kSize);
  return {kSize, kAlign, [](const void* bytes) { return Arg(*static_cast<const Blob<kSize, kAlign>*>(bytes)); }};
}
constexpr StructType kStructTypes[] = {
    StructTypeOf<1, 1>(),   StructTypeOf<2, 2>(),   StructTypeOf<3, 1>(),   StructTypeOf<4, 4>(),
    StructTypeOf<5, 1>(),   StructTypeOf<6, 2>(),   StructTypeOf<7, 1>(),   StructTypeOf<8, 1>(),
    StructTypeOf<8, 8>(),   StructTypeOf<9, 1>(),   StructTypeOf<12, 4>(),  StructTypeOf<16, 8>(),
    StructTypeOf<16, 16>(), StructTypeOf<17, 1>(),  StructTypeOf<20, 4>(),  StructTypeOf<24, 8>(),
    StructTypeOf<31, 1>(),  StructTypeOf<32, 16>(), StructTypeOf<100, 4>(), StructTypeOf<160, 16>(),
};

}  // namespace

Signature RandomSignature(Random* random, size_t count) {
  Signature signature(count);
  for (ParamSpec& param : signature) {
    switch (Pick(random, 8)) {
      case 0:
      case 1:
      case 2:
        param = ScalarParam(PickRow(random, kScalarTypes).dtype);
        break;
      case 3: {
        const StructType& type = PickRow(random, kStructTypes);
        param = {.name = {}, .kind = ParamKind::kStruct, .struct_size = type.size, .struct_align = type.align};
        break;
      }
      case 4:
        param = {.name = {}, .kind = ParamKind::kPointer, .read_only = Pick(random, 2) == 0};
        if (Pick(random, 4) != 0) param.dtype = PickRow(random, kScalarTypes).dtype;
        break;
      default:
        param = ArrayParam(PickRow(random, kScalarTypes).dtype, Pick(random, kMaxRank + 1),
                           Pick(random, 2) == 0 ? Layout::kStrided : Layout::kContiguous, Pick(random, 2) == 0,
                           Pick(random, 4) == 0 ? IndexWidth::kIndex32 : IndexWidth::kIndex64);
    }
  }
  return signature;
}

RandomCall::RandomCall(const Device& device, Random* random, const Signature& signature) {
  for (const ParamSpec& param : signature) {
    switch (param.kind) {
      case ParamKind::kScalar:
        args_.push_back(AddScalar(random, param));
        break;
      case ParamKind::kPointer:
        args_.push_back(AddPointer(device, random, param));
        break;
      case ParamKind::kStruct:
        args_.push_back(AddStruct(random, param));
        break;
      case ParamKind::kArray:
        args_.push_back(AddArray(device, random, param));
    }
  }
}

Arg RandomCall::AddScalar(Random* random, const ParamSpec& param) {
  unsigned char bytes[16];
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((*random)());
  if (param.dtype == DType::kBool) bytes[0] &= 1;
  const ScalarType& type = *std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                                         [&](const ScalarType& t) { return t.dtype == param.dtype; });
  AppendAligned(&packed_, bytes, type.size, type.align);
  return ScalarArg(param.dtype, bytes);
}

// A raw address, or a contiguous array.
Arg RandomCall::AddPointer(const Device& device, Random* random, const ParamSpec& param) {
  if (Pick(random, 2) == 0) {
    const uint64_t address = (Pick(random, 1000) + 1) * 256;
    AppendAligned(&packed_, &address, 8, 8);
    return PointerArg(param.dtype, param.read_only, address);
  }
  const DType dtype = param.dtype == DType::kVoid ? PickRow(random, kScalarTypes).dtype : param.dtype;
  const AnyArrayView& view = AddView(device, random, dtype, Pick(random, kMaxRank + 1), true);
  void* const data = view.data();
  AppendAligned(&packed_, &data, 8, 8);
  return view;
}

Arg RandomCall::AddStruct(Random* random, const ParamSpec& param) {
  const StructType& type = *std::find_if(std::begin(kStructTypes), std::end(kStructTypes), [&](const StructType& t) {
    return t.size == param.struct_size && t.align == param.struct_align;
  });
  structs_.push_back(std::make_unique<Chunk[]>((type.size + 15) / 16));
  unsigned char* const bytes = structs_.back()[0].bytes;
  for (uint32_t i = 0; i < type.size; ++i) bytes[i] = static_cast<unsigned char>((*random)());
  AppendAligned(&packed_, bytes, type.size, type.align);
  return type.arg(bytes);
}

Arg RandomCall::AddArray(const Device& device, Random* random, const ParamSpec& param) {
  // Strides of any kind may be read. What is written has elements apart.
  const bool contiguous = param.layout == Layout::kContiguous || !param.read_only || Pick(random, 2) == 0;
  const AnyArrayView& view = AddView(device, random, param.dtype, param.rank, contiguous);
  std::vector<int64_t> words = {reinterpret_cast<int64_t>(view.data())};
  words.insert(words.end(), view.shape().begin(), view.shape().end());
  if (param.layout == Layout::kStrided) words.insert(words.end(), view.strides().begin(), view.strides().end());
  AppendAligned(&packed_, words.data(), 8 * words.size(), 8);
  return view;
}

const AnyArrayView& RandomCall::AddView(const Device& device, Random* random, DType dtype, int rank, bool contiguous) {
  std::vector<int64_t> shape(rank), strides(rank);
  for (int64_t& extent : shape) extent = Pick(random, 5) + 1;
  int64_t step = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = contiguous ? step : Pick(random, 2001) - 1000;
    step *= shape[d];
  }
  void* const data = reinterpret_cast<void*>((Pick(random, int64_t{1000}) + 1) * 256);
  views_.push_back(std::make_unique<AnyArrayView>(AnyArrayView::Make(device, dtype, data, shape, strides).value()));
  return *views_.back();
}

}  // namespace slipway
