// LLVM bitcode from LLVM IR as text, for tests.
#ifndef SLIPWAY_TESTS_EMBEDDED_BITCODE_H_
#define SLIPWAY_TESTS_EMBEDDED_BITCODE_H_

#include <string>

namespace slipway {

// "target triple" is added; empty for none. Text that is not IR fails the test.
std::string Bitcode(const std::string& ir, const std::string& triple = "nvptx64-nvidia-cuda");

// Of a function that has no parameters, and an attribute of one with that number: nothing but damage makes such.
std::string BitcodeWithAttributeOf(unsigned parameter);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_EMBEDDED_BITCODE_H_
