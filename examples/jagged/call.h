// One call of a family: its arguments by name, its stream, and what went wrong so far.
#ifndef SLIPWAY_EXAMPLES_JAGGED_CALL_H_
#define SLIPWAY_EXAMPLES_JAGGED_CALL_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/generic_kernel.h"
#include "slipway/stream.h"

namespace slipway::jagged {

// Queues the launches of one call on a stream, in order. After a failure nothing more is queued, and status() is that
// failure: so families need not look after each step. For one thread.
class Call {
 public:
  // The arguments in the order of the project's C interface; a pointer table is an array of uint64 addresses. `record`
  // is one uint64 for a family whose kernels note mistakes (kernel_words.h), null for others. All of them stay until
  // the call's work is done, and are on the stream's device.
  Call(const Stream& stream, absl::Span<const NamedArg> arguments, const AnyArray* record)
      : stream_(stream), arguments_(arguments), record_(record) {}

  // The value of an int64 scalar, or the number of elements of an array. 0, and a failure, for a name that is
  // neither's.
  int64_t operator[](std::string_view name);
  // The argument itself; of an unknown name a number, and a failure.
  Arg Argument(std::string_view name);

  // The most elements that an array among the arguments has.
  int64_t LongestArgument() const;

  // An uninitialised array that lives as long as the call, and in memory of the stream, so that queued work may still
  // use it when the call is gone.
  const AnyArray& Temporary(int64_t size, DType dtype = DType::kInt64);

  // Queues the kernel for `size` threads, nothing if that is 0. It takes the temporaries, then all arguments of the
  // call, then the record if there is one.
  void Launch(const GenericKernel& kernel, int64_t size, absl::Span<const Arg> temporaries = {});
  void Launch(const GenericKernel& kernel, int64_t size, std::initializer_list<Arg> temporaries) {
    Launch(kernel, size, absl::MakeConstSpan(temporaries.begin(), temporaries.size()));
  }
  // The same for a kernel that takes these arguments only.
  void LaunchWith(const GenericKernel& kernel, const LaunchConfig& config, std::initializer_list<Arg> arguments);

  // Queues what a function does that is not one launch of a kernel, and returns the status of. Counts as one.
  template <class F>
  void Do(const F& queue) {
    if (!status_.ok()) return;
    status_ = queue();
    ++launches_;
  }

  // Copies an array into another of the same type and size.
  void Copy(const Arg& to, const Arg& from);
  // Sets all elements of an array, or the first of an argument.
  void Fill(const Arg& array, int64_t value);
  void SetFirst(std::string_view name, int64_t value);

  const Stream& stream() const { return stream_; }
  const absl::Status& status() const { return status_; }
  int64_t launches() const { return launches_; }  // Queued so far.

 private:
  void Queue(const GenericKernel& kernel, const LaunchConfig& config, absl::Span<const Arg> arguments);

  const Stream& stream_;
  const absl::Span<const NamedArg> arguments_;
  const AnyArray* const record_;
  std::vector<std::unique_ptr<const AnyArray>> temporaries_;  // Args refer to them: they must not move.
  absl::Status status_;
  int64_t launches_ = 0;
};

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_CALL_H_
