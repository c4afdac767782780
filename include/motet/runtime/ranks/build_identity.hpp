// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/checksum.hpp>
#include <motet/format/files/file.hpp>
#include <motet/meta/config.hpp>

#include <cfloat>
#include <string>

namespace motet {

// Names what this program was made by, as far as it changes results: compiler, library, optimisation, the
// arithmetic that the compiler may use.
inline std::string build_identity() {
  const auto version = [](auto... numbers) {
    std::string text;
    ((text += (text.empty() ? "" : ".") + std::to_string(numbers)), ...);
    return text;
  };
  std::string text = "motet " + version(MOTET_VERSION_MAJOR, MOTET_VERSION_MINOR, MOTET_VERSION_PATCH);
#if defined(__clang__)
  text += ", clang " + version(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  text += ", g++ " + version(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  text += ", C++ " + std::to_string(__cplusplus);
#if defined(__OPTIMIZE__)
  text += ", optimised";
#endif
#if defined(__FAST_MATH__)
  text += ", fast math";
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
  text += ", finite math";
#endif
#if defined(__AVX512F__)
  text += ", AVX-512";
#elif defined(__AVX2__)
  text += ", AVX2";
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  text += ", FMA";
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
  text += ", FLT_EVAL_METHOD " + std::to_string(FLT_EVAL_METHOD);
#endif
  return text;
}

// This is of the bytes of the running program's file: two builds from the same source by the same compiler
// are alike, an edited one is not. It is 0 where the system does not tell the file.
inline std::uint64_t program_file_checksum() {
  try {
    return checksum(mapped_file("/proc/self/exe").bytes());
  } catch (const error&) {
    return 0;
  }
}

}  // namespace motet
