// tests/assembled.h for a bundle: the tests' PTX has been given to ptxas where the bundle was made.
#include "tests/assembled.h"

namespace slipway {

void AssembleAfterTests(std::string, int) {}
void AssembleAfterTests(const std::string&) {}
bool AssemblesAfterTests() { return false; }
void BeforeAssembling(void (*)()) {}

}  // namespace slipway
