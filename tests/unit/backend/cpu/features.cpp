// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/features.hpp>

#include <doctest/doctest.h>

namespace {

using namespace motet::cpu;

TEST_CASE("what the processor offers is consistent") {
  const cpu_features& f = features();
  CHECK((!f.avx512 || f.avx2));
  CHECK((!f.avx512_bf16 || f.avx512));
  CHECK((!f.amx_bf16 || f.avx512));
  CHECK(f.l2_bytes >= 64 * 1024);
  CHECK(f.l2_bytes <= 256 * 1024 * 1024);
  CHECK_FALSE(f.name.empty());
#if defined(__x86_64__)
  // The compiler's own library asks the same processor.
  __builtin_cpu_init();
  CHECK(f.avx2 == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK(f.avx512 == (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512vl")));
#endif
}

TEST_CASE("a kernel that the machine lacks cannot be chosen, and the choice is described") {
  const kernel_kind before = current_kernel();
  CHECK(before == best_kernel());
  for (const kernel_kind kind : {kernel_kind::portable, kernel_kind::avx2, kernel_kind::avx512, kernel_kind::avx512_bf16, kernel_kind::amx}) {
    const kernel_kind held = current_kernel();
    CHECK(set_kernel(kind) == kernel_available(kind));
    CHECK(current_kernel() == (kernel_available(kind) ? kind : held));
    if (kernel_available(kind)) CHECK(describe_cpu().find(std::string("kernels ") + kernel_name(kind)) != std::string::npos);
  }
  CHECK(kernel_available(kernel_kind::portable));
  CHECK(set_kernel(before));
}

}  // namespace
