// printf and assert of kernels (CUDA C++ Programming Guide, "Formatted Output" and "Assertion").
#ifndef SLIPWAY_DRIVER_CPU_SYSTEM_PRINTF_H_
#define SLIPWAY_DRIVER_CPU_SYSTEM_PRINTF_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

namespace slipway::cpu {

// Appends what vprintf(format, arguments) prints and gives the number of arguments that it took. `arguments` is as
// compilers for CUDA lay out variadic ones: each aligned to its size, integers below 32 bits promoted, floating-point
// numbers as double. A conversion that is none, or that would write (%n), is printed as it stands; widths and
// precisions end at 4096. Null for a %s prints (null).
int Format(const char* format, const std::byte* arguments, std::string* out);

// What kernels of a context print until it is written to stdout: when a launch is done. As on a GPU, it has room for so
// much, and what was printed first is lost where that does not do. Thread-safe.
class PrintfBuffer {
 public:
  explicit PrintfBuffer(size_t capacity) : capacity_(capacity) {}
  PrintfBuffer(const PrintfBuffer&) = delete;
  PrintfBuffer& operator=(const PrintfBuffer&) = delete;

  size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }  // Bytes of text.
  void SetCapacity(size_t capacity) { capacity_.store(capacity, std::memory_order_relaxed); }

  // Keeps all that one call of printf has written, or, where it is longer than the buffer, nothing of it.
  void Append(const std::string& text);
  // Writes to stdout what there is, in one piece.
  void Flush();

 private:
  std::atomic<size_t> capacity_;
  std::atomic<bool> has_text_{false};
  std::mutex flushing_;  // Before mutex_.
  std::mutex mutex_;
  std::deque<std::string> texts_;
  size_t bytes_ = 0;
};

// vprintf: appends to the buffer, or writes to stdout at once where that is null. -1 for a null format.
int Vprintf(PrintfBuffer* buffer, const char* format, const std::byte* arguments);

// What a failed assertion prints, to stderr.
void PrintAssertion(const char* message, const char* file, uint32_t line, const char* function,
                    const uint32_t (&block)[3], const uint32_t (&thread)[3]);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_SYSTEM_PRINTF_H_
