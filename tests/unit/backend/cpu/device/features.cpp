// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/device/features.hpp>

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
  CHECK(f.avx512 == (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")));
#endif
}

}  // namespace
