// Compares jit/cuda/nvrtc.h with the toolkit's nvrtc.h. Decided by the compiler.
#include <nvrtc.h>

#include <type_traits>

// Ours declares the same names in namespace slipway.
#include "gtest/gtest.h"
#include "jit/cuda/nvrtc.h"

namespace {

// A parameter as C passes it: the toolkit's program handle and enum of results stand for ours.
template <class T>
struct Plain {
  using Type = T;
};
template <>
struct Plain<_nvrtcProgram*> {
  using Type = slipway::nvrtcProgram;
};
template <>
struct Plain<_nvrtcProgram**> {
  using Type = slipway::nvrtcProgram*;
};
template <>
struct Plain<nvrtcResult> {
  using Type = int;
};
template <class F>
struct PlainFunction;
template <class R, class... P>
struct PlainFunction<R (*)(P...)> {
  using Type = typename Plain<R>::Type (*)(typename Plain<P>::Type...);
};

#define SLIPWAY_NVRTC_COMPARE(name, required, parameters)                                                    \
  static_assert(std::is_same_v<decltype(slipway::Nvrtc::name), PlainFunction<decltype(&nvrtc##name)>::Type>, \
                "nvrtc" #name " is declared otherwise in nvrtc.h");
SLIPWAY_NVRTC_FUNCTIONS(SLIPWAY_NVRTC_COMPARE)
#undef SLIPWAY_NVRTC_COMPARE
static_assert(
    std::is_same_v<decltype(slipway::Nvrtc::GetErrorString), PlainFunction<decltype(&nvrtcGetErrorString)>::Type>);
static_assert(slipway::kNvrtcSuccess == NVRTC_SUCCESS && slipway::kNvrtcInvalidOption == NVRTC_ERROR_INVALID_OPTION);

TEST(NvrtcH, AgreesWithOurDeclarations) { SUCCEED(); }

}  // namespace
