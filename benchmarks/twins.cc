#include "benchmarks/twins.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "jit/builder.h"

namespace slipway {
namespace {

using ir::Builder;
using ir::Op;
using ir::ParamId;
using ir::SpecialRegister;
using ir::ValueId;

// INDEX is `long long` or `int`; both twins compute indices and offsets in it.
constexpr const char* kPrelude = R"(
template <int N> struct Array { float* data; long long shape[N]; long long strides[N]; };
using index = INDEX;
__device__ index extent(long long x) { return (index)x; }
__device__ index global_x() { return (index)blockIdx.x * (index)blockDim.x + (index)threadIdx.x; }
__device__ index global_y() { return (index)blockIdx.y * (index)blockDim.y + (index)threadIdx.y; }
__device__ float& at(const Array<1>& a, index i) { return a.data[i * (index)a.strides[0]]; }
__device__ float& at(const Array<2>& a, index i, index j) {
  return a.data[i * (index)a.strides[0] + j * (index)a.strides[1]];
}
)";

constexpr const char* kSaxpy = R"(
extern "C" __global__ void NAME(Array<1> y, Array<1> x, float a) {
  index i = global_x();
  if (i < extent(y.shape[0])) at(y, i) = a * at(x, i) + at(y, i);
}
)";

constexpr const char* kExpression = R"(
extern "C" __global__ void NAME(Array<1> z, Array<1> x, Array<1> y) {
  index i = global_x();
  if (i < extent(z.shape[0])) {
    float u = at(x, i), v = at(y, i);
    at(z, i) = (u - v) * (u - v) / (1.0f + expf(-u));
  }
}
)";

constexpr const char* kStencil = R"(
extern "C" __global__ void NAME(Array<2> out, Array<2> in, float c, float d) {
  index i = global_y(), j = global_x();
  if (i >= 1 & j >= 1 & i < extent(out.shape[0]) - 1 & j < extent(out.shape[1]) - 1) {
    at(out, i, j) = c * at(in, i, j) + d * (at(in, i - 1, j) + at(in, i + 1, j) + at(in, i, j - 1) + at(in, i, j + 1));
  }
}
)";

class TwinBuilder {
 public:
  TwinBuilder(const std::string& kernel, IndexWidth width)
      : width_(width),
        type_(width == IndexWidth::kIndex32 ? DType::kInt32 : DType::kInt64),
        name_(absl::StrCat(kernel, width == IndexWidth::kIndex32 ? "_32" : "_64")),
        b_(name_) {}

  Twin Saxpy() {
    const ParamId y = Array("y", 1, false), x = Array("x", 1, true), a = b_.AddScalar("a", DType::kFloat32);
    const ValueId i = b_.GlobalIndex(type_);
    b_.BeginIf(b_.Apply(Op::kLt, {i, Extent(y, 0)}));
    b_.Store(y, {i}, Add(Mul(b_.Scalar(a), b_.Load(x, {i})), b_.Load(y, {i})));
    b_.EndIf();
    return Finish(kSaxpy);
  }

  Twin Expression() {
    const ParamId z = Array("z", 1, false), x = Array("x", 1, true), y = Array("y", 1, true);
    const ValueId i = b_.GlobalIndex(type_);
    b_.BeginIf(b_.Apply(Op::kLt, {i, Extent(z, 0)}));
    const ValueId u = b_.Load(x, {i}), v = b_.Load(y, {i});
    const ValueId difference = b_.Apply(Op::kSub, {u, v});
    const ValueId denominator = Add(b_.Literal(int64_t{1}), b_.Apply(Op::kExp, {b_.Apply(Op::kNeg, {u})}));
    b_.Store(z, {i}, b_.Apply(Op::kDiv, {Mul(difference, difference), denominator}));
    b_.EndIf();
    return Finish(kExpression);
  }

  Twin Stencil() {
    const ParamId out = Array("out", 2, false), in = Array("in", 2, true);
    const ParamId c = b_.AddScalar("c", DType::kFloat32), d = b_.AddScalar("d", DType::kFloat32);
    const ValueId one = b_.Constant(type_, 1);
    const ValueId i = Index(SpecialRegister::kBlockY, SpecialRegister::kBlockDimY, SpecialRegister::kThreadY);
    const ValueId j = Index(SpecialRegister::kBlockX, SpecialRegister::kBlockDimX, SpecialRegister::kThreadX);
    auto both = [&](ValueId p, ValueId q) { return b_.Apply(Op::kBitAnd, {p, q}); };
    auto minus = [&](ValueId p) { return b_.Apply(Op::kSub, {p, one}); };
    // One by one, in the order of the CUDA twin: C++ does not say in which order arguments are evaluated.
    ValueId inside = b_.Apply(Op::kGe, {i, one});
    inside = both(inside, b_.Apply(Op::kGe, {j, one}));
    inside = both(inside, b_.Apply(Op::kLt, {i, minus(Extent(out, 0))}));
    inside = both(inside, b_.Apply(Op::kLt, {j, minus(Extent(out, 1))}));
    b_.BeginIf(inside);
    const ValueId centre = Mul(b_.Scalar(c), b_.Load(in, {i, j}));
    ValueId around = b_.Load(in, {minus(i), j});
    around = Add(around, b_.Load(in, {Add(i, one), j}));
    around = Add(around, b_.Load(in, {i, minus(j)}));
    around = Add(around, b_.Load(in, {i, Add(j, one)}));
    b_.Store(out, {i, j}, Add(centre, Mul(b_.Scalar(d), around)));
    b_.EndIf();
    return Finish(kStencil);
  }

 private:
  ParamId Array(const char* name, int rank, bool read_only) {
    return b_.AddArray({.name = name, .dtype = DType::kFloat32, .rank = rank, .index = width_, .read_only = read_only});
  }
  ValueId Add(ValueId a, ValueId b) { return b_.Apply(Op::kAdd, {a, b}); }
  ValueId Mul(ValueId a, ValueId b) { return b_.Apply(Op::kMul, {a, b}); }
  ValueId Extent(ParamId array, int dimension) { return b_.Cast(type_, b_.Shape(array, dimension)); }
  ValueId Index(SpecialRegister block, SpecialRegister size, SpecialRegister thread) {
    auto read = [&](SpecialRegister reg) { return b_.Cast(type_, b_.Special(reg)); };
    return Add(Mul(read(block), read(size)), read(thread));
  }

  Twin Finish(const char* cuda) {
    absl::StatusOr<ir::Kernel> kernel = std::move(b_).Finish();
    if (!kernel.ok()) {
      std::fprintf(stderr, "%s: %s\n", name_.c_str(), kernel.status().ToString().c_str());
      std::exit(1);
    }
    const char* index = width_ == IndexWidth::kIndex32 ? "int" : "long long";
    return {name_, *std::move(kernel),
            absl::StrReplaceAll(absl::StrCat(kPrelude, cuda), {{"INDEX", index}, {"NAME", name_}})};
  }

  IndexWidth width_;
  DType type_;
  std::string name_;
  Builder b_;
};

}  // namespace

Twin MakeSaxpy() { return TwinBuilder("saxpy", IndexWidth::kIndex64).Saxpy(); }

std::vector<Twin> MakeTwins() {
  std::vector<Twin> twins;
  for (IndexWidth width : {IndexWidth::kIndex64, IndexWidth::kIndex32}) {
    twins.push_back(TwinBuilder("saxpy", width).Saxpy());
    twins.push_back(TwinBuilder("stencil", width).Stencil());
    twins.push_back(TwinBuilder("expression", width).Expression());
  }
  return twins;
}

}  // namespace slipway
