// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>

#include <type_traits>

// Kernels are classes of number types, or functions, that headers declare. What they do for each instruction
// set is read where MOTET_KERNEL_BODIES is 1: without MOTET_COMPILED_KERNELS. A file that calls kernels for
// numbers that the library was built without, or that compiled.hpp does not list, defines it as 1 itself.
#if !defined(MOTET_KERNEL_BODIES)
#if defined(MOTET_COMPILED_KERNELS)
#define MOTET_KERNEL_BODIES 0
#else
#define MOTET_KERNEL_BODIES 1
#endif
#endif

namespace motet::cpu {

// Says whether this file can compute in T: whether the library that it links has kernels for it, or it reads
// them.
template <class T>
inline constexpr bool has_kernels_for = true;
#if !MOTET_KERNEL_BODIES && defined(MOTET_COMPILED_WITHOUT_BF16)
template <>
inline constexpr bool has_kernels_for<bf16> = false;
#endif
#if !MOTET_KERNEL_BODIES && defined(MOTET_COMPILED_WITHOUT_FP64)
template <>
inline constexpr bool has_kernels_for<double> = false;
#endif

namespace detail {

template <template <class...> class Kernel, class... T>
struct known_kernel {
  static_assert(
      (has_kernels_for<T> && ...),
      "motet: this file computes in numbers that motet::compiled was built without: put them (bf16, fp64) "
      "into MOTET_NUMBERS, or define MOTET_KERNEL_BODIES as 1 for this file, which then compiles "
      "kernels of its own");
  using type = Kernel<T...>;
};

}  // namespace detail

// The kernel for these numbers, which may be const: a kernel says by its arguments what it only reads.
template <template <class...> class Kernel, class... T>
using kernel_of = typename detail::known_kernel<Kernel, std::remove_const_t<T>...>::type;

}  // namespace motet::cpu
