// printf and assert of kernels (CUDA C++ Programming Guide, "Formatted Output" and "Assertion").
#ifndef SLIPWAY_DRIVER_CPU_SYSTEM_PRINTF_H_
#define SLIPWAY_DRIVER_CPU_SYSTEM_PRINTF_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace slipway::cpu {

// Appends what vprintf(format, arguments) prints and gives the number of arguments that it took. `arguments` is as
// compilers for CUDA lay out variadic ones: each aligned to its size, integers below 32 bits promoted, floating-point
// numbers as double. A conversion that is none, or that would write (%n), is printed as it stands; widths and
// precisions end at 4096. Null for a %s prints (null).
int Format(const char* format, const std::byte* arguments, std::string* out);

// vprintf: writes to stdout, at once and in one piece. -1 for a null format.
int Vprintf(const char* format, const std::byte* arguments);

// Makes what this thread has written to stdout visible to others; does nothing if it has written nothing. Called
// after every range of blocks, so that the output of a launch is there when the launch is done.
void FlushPrintf();

// What a failed assertion prints, to stderr.
void PrintAssertion(const char* message, const char* file, uint32_t line, const char* function,
                    const uint32_t (&block)[3], const uint32_t (&thread)[3]);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_SYSTEM_PRINTF_H_
