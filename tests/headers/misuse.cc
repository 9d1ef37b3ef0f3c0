// Programs that must not compile, each with the words that the compiler shall say; misuse_test.py compiles this.
#include <array>
#include <string>

#include "slipway/embedded.h"
#include "slipway/slipway.h"

namespace slipway {

using View = ArrayView<float, 1>;

struct Deep {};  // A tensor of too many dimensions.
template <>
struct TensorTrait<Deep> {
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = 9;
  static float* data(const Deep&) { return nullptr; }
  static std::array<int64_t, 9> shape(const Deep&) { return {}; }
  static std::array<int64_t, 9> strides(const Deep&) { return {}; }
};

struct Megabyte {
  char bytes[1 << 20];
};

struct Text {  // No plain struct.
  std::string text;
};

int ReturnsInt(float*) { return 0; }
void TakesView(View) {}

void Arrays() {
  sizeof(ArrayView<float, 9>);           // says: Slipway arrays have 0 to 8 dimensions
  sizeof(ArrayView<volatile float, 1>);  // says: volatile elements are not supported
  sizeof(Array<const float, 1>);  // says: an Array owns what it holds; make an ArrayView<const T, N> of it instead
}

void Kernels(const Kernel& kernel, const Stream& stream) {
  // says: a parameter is an ArrayView, a scalar of a Slipway dtype, a pointer or a plain struct
  static_cast<void>(TypedKernel<Text>::From(kernel));
  // says: parameters are values, so const says nothing
  static_cast<void>(TypedKernel<const float>::From(kernel));
  // says: the parameters of one kernel are at most 32,764 bytes
  static_cast<void>(TypedKernel<Megabyte>::From(kernel));
  // says: Slipway's arrays have 0 to 8 dimensions
  static_cast<void>(kernel(stream, ForSize(1), Deep()));
}

void HostFunctions() {
  // says: specialise slipway::HostResult for what the function returns
  static_cast<void>(HostFunction::Make("f", &ReturnsInt));
  // says: a host function takes arrays by their address
  static_cast<void>(HostFunction::Make("f", &TakesView));
}

void Embedded() {
  sizeof(ArrayVar<float, 9>);  // says: Slipway arrays have 0 to 8 dimensions
  sizeof(Var<const float>);    // says: a Var is a variable; for a value that stays use Expr, or auto
  // says: a kernel's function takes ArrayVar<T, N>, Var<T> (or Expr<T>) and StructVar<S> parameters
  MakeKernel("k", [](float) {});
  // says: no argument tells its device: give Bind one first
  static_cast<void>(MakeKernel("k", [](Var<float>) {}).Bind(ForSize(1), 1.0f));
  // says: a generic kernel's function takes AnyArrayVar, AnyVar, AnyExpr, ArrayVar<T, N>, Var<T>, Expr<T> or auto
  // parameters, by value, and can be called when it is const
  MakeGenericKernel("k", [](Text) {});
  // says: a generic kernel's function has a fixed number of parameters: no packs, no defaults
  MakeGenericKernel("k", [](auto, auto...) {});
}

}  // namespace slipway
