// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <string>

#if defined(__x86_64__) && defined(__GNUC__)
#define MOTET_X86 1
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#else
#define MOTET_X86 0
#endif

// Kernels are compiled for the first so many instruction sets of portable, avx2, and both of avx512, which
// only come together: 1, 2 or 4. What ships has all that the compiler knows. A build that only tests may
// leave out those whose code it cannot run, or need not: all of its files say so.
#ifndef MOTET_INSTRUCTION_SETS
#define MOTET_INSTRUCTION_SETS (MOTET_X86 ? 4 : 1)
#endif

// The processor is asked once, at run time, what it offers: a build makes no assumption about the machine
// that it runs on.
namespace motet::cpu {

struct cpu_features {
  bool avx2 = false;         // with fma and f16c
  bool avx512 = false;       // f, bw, dq, vl
  bool avx512_bf16 = false;  // vdpbf16ps
  bool amx_bf16 = false;     // tiles; the operating system must grant them too
  bool amd = false;
  isize l2_bytes = 0;
  std::string name;
};

namespace detail {
cpu_features ask_cpu();
}

inline const cpu_features& features() {
  static const cpu_features found = detail::ask_cpu();
  return found;
}

#if !defined(MOTET_COMPILED_KERNELS)
namespace detail {

// Linux grants the tile registers to a process that asks for them.
inline bool may_use_tiles() {
#if MOTET_X86 && defined(__linux__)
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

MOTET_BODY cpu_features ask_cpu() {
  cpu_features found;
  found.l2_bytes = 512 * 1024;
#if MOTET_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  const auto ask = [&](unsigned leaf, unsigned sub) {
    return __get_cpuid_count(leaf, sub, &a, &b, &c, &d) != 0;
  };
  const auto bit = [](unsigned word, int which) { return ((word >> which) & 1u) != 0; };
  if (ask(0, 0)) found.amd = b == 0x68747541u;  // "Auth"enticAMD
  bool os_avx = false, os_avx512 = false, os_amx = false;
  if (ask(1, 0) && bit(c, 27)) {
    const bool fma = bit(c, 12), f16c = bit(c, 29);
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    os_avx = (low & 0x6u) == 0x6u && fma && f16c;
    os_avx512 = os_avx && (low & 0xe0u) == 0xe0u;
    os_amx = (low & 0x60000u) == 0x60000u;
    static_cast<void>(high);
  }
  if (ask(7, 0)) {
    found.avx2 = os_avx && bit(b, 5);
    found.avx512 = found.avx2 && os_avx512 && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
    found.amx_bf16 = found.avx512 && os_amx && bit(d, 22) && bit(d, 24) && may_use_tiles();
  }
  if (ask(7, 1)) found.avx512_bf16 = found.avx512 && bit(a, 5);
  for (const unsigned leaf : {4u, 0x8000001du}) {
    for (unsigned sub = 0; sub < 8 && ask(leaf, sub) && (a & 31u) != 0; ++sub) {
      if (((a >> 5) & 7u) != 2 || (a & 31u) == 2) continue;  // level 2, not instructions only
      found.l2_bytes = static_cast<isize>((b >> 22) + 1) * static_cast<isize>(((b >> 12) & 1023u) + 1) *
                       static_cast<isize>((b & 4095u) + 1) * (static_cast<isize>(c) + 1);
    }
  }
  for (unsigned leaf = 0x80000002u; leaf <= 0x80000004u && ask(leaf, 0); ++leaf) {
    for (const unsigned word : {a, b, c, d}) {
      for (int byte = 0; byte < 4; ++byte) {
        const char letter = static_cast<char>((word >> (8 * byte)) & 255u);
        if (letter != 0) found.name += letter;
      }
    }
  }
  while (!found.name.empty() && found.name.back() == ' ') found.name.pop_back();
#endif
  if (found.name.empty()) found.name = "unknown processor";
  return found;
}

}  // namespace detail
#endif

}  // namespace motet::cpu
