// Which sanitizer this is compiled with; they change how much may be reserved and what fork() allows.
#ifndef SLIPWAY_DRIVER_CPU_SANITIZERS_H_
#define SLIPWAY_DRIVER_CPU_SANITIZERS_H_

namespace slipway::cpu {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// Of a function that calls translated code: clang's -fsanitize=function looks for a type in front of what is called,
// where there may be no memory.
#if defined(__clang__)
#define SLIPWAY_CALLS_TRANSLATED_CODE __attribute__((no_sanitize("function")))
#else
#define SLIPWAY_CALLS_TRANSLATED_CODE
#endif

inline constexpr bool kSanitized = kThreadSanitizer || kAddressSanitizer;

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_SANITIZERS_H_
