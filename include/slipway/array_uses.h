// Launches that are given arrays that own memory of another stream (memory.h): the use is noted, so that the memory is
// not given back before. Used by the launch paths; applications do not need it.
#ifndef SLIPWAY_ARRAY_USES_H_
#define SLIPWAY_ARRAY_USES_H_

#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/memory.h"
#include "slipway/stream.h"

namespace slipway::internal {

template <class A>
inline constexpr bool kOwns = std::is_same_v<A, AnyArray>;
template <class T, int N>
inline constexpr bool kOwns<Array<T, N>> = true;

inline bool IsForeign(const DeviceMemory& memory, const Stream& stream) {
  return memory.home() != nullptr && memory.home() != stream.handle();
}

// Whether one of the arguments owns memory of another stream than the launch's.
template <class... Args>
[[gnu::always_inline]] inline bool UsedElsewhere([[maybe_unused]] const Stream& stream, const Args&... args) {
  [[maybe_unused]] const auto foreign = [&](const auto& arg) {
    if constexpr (kOwns<std::decay_t<decltype(arg)>>) {
      return IsForeign(*arg.memory(), stream);
    } else {
      return false;
    }
  };
  return (foreign(args) || ...);
}

template <class A>
const auto& WithoutOwner(const A& arg) {
  if constexpr (kOwns<A>) {
    return arg.view();
  } else {
    return arg;
  }
}

// Calls `launch` with views in place of the arrays, and notes the uses of those once it has succeeded.
template <class Launch, class... Args>
[[gnu::noinline, gnu::cold]] absl::Status LaunchNotingUses(const Stream& stream, const Launch& launch,
                                                           const Args&... args) {
  absl::Status status = launch(WithoutOwner(args)...);
  [[maybe_unused]] const auto note = [&](const auto& arg) {
    if constexpr (kOwns<std::decay_t<decltype(arg)>>) {
      if (status.ok()) status = arg.RecordUse(stream);
    }
  };
  (note(args), ...);
  return status;
}

// The same for arguments in a list, after the launch.
absl::Status NoteUses(const Stream& stream, absl::Span<const Arg> args);

}  // namespace slipway::internal

#endif  // SLIPWAY_ARRAY_USES_H_
