// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/cpu/device/features.hpp>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

// One variant of the kernels runs: the best that the processor has, or the one that MOTET_KERNELS names.
namespace motet::cpu {

// Ordered: a machine that has one has those before it.
enum class kernel_kind : int { portable, avx2, avx512, avx512_bf16, amx };
inline constexpr kernel_kind kernel_kinds[] = {kernel_kind::portable, kernel_kind::avx2, kernel_kind::avx512,
                                               kernel_kind::avx512_bf16, kernel_kind::amx};

inline const char* kernel_name(kernel_kind kind) {
  switch (kind) {
    case kernel_kind::portable: return "portable";
    case kernel_kind::avx2: return "avx2";
    case kernel_kind::avx512: return "avx512";
    case kernel_kind::avx512_bf16: return "avx512_bf16";
    case kernel_kind::amx: return "amx";
  }
  return "unknown";
}

inline bool kernel_available(kernel_kind kind) {
  switch (kind) {
    case kernel_kind::portable: return true;
    case kernel_kind::avx2: return MOTET_INSTRUCTION_SETS > 1 && features().avx2;
    case kernel_kind::avx512: return MOTET_INSTRUCTION_SETS > 2 && features().avx512;
    case kernel_kind::avx512_bf16: return MOTET_INSTRUCTION_SETS > 2 && features().avx512_bf16;
    case kernel_kind::amx: return kernel_available(kernel_kind::avx512_bf16) && features().amx_bf16;
  }
  return false;
}

// Intel's vdpbf16ps (measured on a fifth-generation Xeon) does half the arithmetic of two fp32 multiply-adds
// in the same time; AMD's does twice as much. So the instruction is used by default on AMD alone. Tiles do
// sixteen times as much.
inline kernel_kind best_kernel() {
  if (kernel_available(kernel_kind::amx)) return kernel_kind::amx;
  if (kernel_available(kernel_kind::avx512_bf16) && features().amd) return kernel_kind::avx512_bf16;
  if (kernel_available(kernel_kind::avx512)) return kernel_kind::avx512;
  if (kernel_available(kernel_kind::avx2)) return kernel_kind::avx2;
  return kernel_kind::portable;
}

// The kernels of that name; null or empty: the best. Unlike its absence, a name that cannot be followed is an
// error, so that nobody measures other kernels than those that were meant.
kernel_kind kernel_named(const char* name);

namespace detail {
// The environment is asked once. Where that fails, the next caller hears the same.
inline std::atomic<int>& chosen_kernel() {
  static std::atomic<int> chosen{static_cast<int>(kernel_named(std::getenv("MOTET_KERNELS")))};
  return chosen;
}
}  // namespace detail

inline kernel_kind current_kernel() {
  return static_cast<kernel_kind>(detail::chosen_kernel().load(std::memory_order_relaxed));
}

// Tests and benchmarks call this; the result is false, and nothing changes, when this machine cannot run it.
inline bool set_kernel(kernel_kind kind) {
  if (!kernel_available(kind)) return false;
  detail::chosen_kernel().store(static_cast<int>(kind), std::memory_order_relaxed);
  return true;
}

// One line for logs: "Intel(R) Xeon(R) Processor: avx2 avx512 avx512_bf16, L2 2048 KiB, kernels avx512".
std::string describe_cpu();

#if !defined(MOTET_COMPILED_KERNELS)
MOTET_BODY kernel_kind kernel_named(const char* name) {
  if (name == nullptr || *name == '\0') return best_kernel();
  std::string available;
  bool known = false;
  for (const kernel_kind kind : kernel_kinds) {
    const bool here = kernel_available(kind), meant = std::string_view(name) == kernel_name(kind);
    if (meant && here) return kind;
    known = known || meant;
    if (here) available += std::string(available.empty() ? "" : ", ") + kernel_name(kind);
  }
  const std::string& machine = features().name;
  fail(kernels_refused, "MOTET_KERNELS=" + std::string(name) +
                            (known ? ", which " + machine + " lacks; it has "
                                   : ", which is no kernel's name; " + machine + " has ") +
                            available);
}
MOTET_BODY std::string describe_cpu() {
  const cpu_features& f = features();
  std::string line = f.name + ":";
  if (f.avx2) line += " avx2";
  if (f.avx512) line += " avx512";
  if (f.avx512_bf16) line += " avx512_bf16";
  if (f.amx_bf16) line += " amx_bf16";
  return sentence({line, ", L2 ", f.l2_bytes / 1024, " KiB, kernels ", kernel_name(current_kernel())});
}
#endif

}  // namespace motet::cpu
