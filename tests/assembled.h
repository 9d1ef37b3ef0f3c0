// Whatever PTX a test makes or writes, NVIDIA's assembler takes. Where ptxas is installed, the texts noted here are
// assembled once the last test of the process has ended, in as few runs as it takes; what is refused fails the process,
// with the text. Where it is not installed nothing happens; nor under a sanitizer, which would only slow it down.
//
// ctest runs each test in a process of its own, and many make the same texts: those that ptxas has taken are kept, as
// hashes, in ptxas-takes-*.txt of the build folder.
#ifndef SLIPWAY_TESTS_ASSEMBLED_H_
#define SLIPWAY_TESTS_ASSEMBLED_H_

#include <string>

namespace slipway {

// The oldest, a middle and the newest architecture that Slipway makes code for.
inline constexpr int kAssembledFor[] = {75, 90, 120};

// Notes a text, to be assembled for sm_<sm>. Thread-safe.
void AssembleAfterTests(std::string ptx, int sm);

// Notes a text that a test wrote by hand, for those of kAssembledFor that are not older than its own .target.
void AssembleAfterTests(const std::string& ptx);

// Whether anything is assembled at the end.
bool AssemblesAfterTests();

// Called between the last test and the assembling, to note more texts. Register before tests run.
void BeforeAssembling(void (*callback)());

}  // namespace slipway

#endif  // SLIPWAY_TESTS_ASSEMBLED_H_
