// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only header that looks at compiler macros.
#include <cstddef>
#include <cstdint>

#define MOTET_VERSION_MAJOR 0
#define MOTET_VERSION_MINOR 1
#define MOTET_VERSION_PATCH 0

#if defined(__CUDACC__)
#define MOTET_HOST_DEVICE __host__ __device__
#else
#define MOTET_HOST_DEVICE
#endif

// Stands before a template of both kinds that calls what it was given, which may be of one kind only.
#if defined(__CUDACC__) && !defined(__clang__)
#define MOTET_CALLS_EITHER _Pragma("nv_exec_check_disable")
#else
#define MOTET_CALLS_EITHER
#endif

#if defined(__GNUC__)
#define MOTET_ALWAYS_INLINE inline __attribute__((always_inline))
#define MOTET_RESTRICT __restrict__
#else
#define MOTET_ALWAYS_INLINE inline
#define MOTET_RESTRICT
#endif

// Stands before a body outside of its class that files of compiled/ may have for all others, as docs/start.md
// says: they define it so that the body is kept, called there or not.
#if !defined(MOTET_BODY)
#define MOTET_BODY inline
#endif

// A static_assert may say a text that is computed (C++26).
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
#define MOTET_SAYS_COMPUTED_TEXT 1
#else
#define MOTET_SAYS_COMPUTED_TEXT 0
#endif

namespace motet {

namespace detail {
struct with_defaults {
  int first = 1, second = 2;
};
}  // namespace detail
static_assert(
    detail::with_defaults{.second = 5}.first == 1,
    "motet: this compiler reads zero where an initialiser leaves out a member that has a default, as "
    "nvcc does beside clang: nets would have other sizes than were written; take g++ (-ccbin g++)");

// Counts and positions: signed, so that differences and downward loops are plain arithmetic.
using isize = std::ptrdiff_t;

// A count or position as the standard library has them.
template <class T>
MOTET_HOST_DEVICE constexpr std::size_t as_size(T value) {
  return static_cast<std::size_t>(value);
}

MOTET_HOST_DEVICE constexpr isize round_up(isize value, isize multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace motet
