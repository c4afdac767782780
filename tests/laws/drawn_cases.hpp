// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

// Which cases tests of drawn ones try: docs/plan/drawn_plans.md.
namespace motet::laws {

inline std::uint64_t asked(const char* variable, std::uint64_t usual) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::stoull(text) : usual;
}

// MOTET_TEST_TIMES=N tries so many times as many cases, for more than a test has time for, and
// MOTET_TEST_SEED=S others than those of every run.
inline int so_many(int usually) { return usually * static_cast<int>(asked("MOTET_TEST_TIMES", 1)); }
inline std::uint64_t seeded(std::uint64_t first) { return first + (asked("MOTET_TEST_SEED", 0) << 32); }

// A whole run has many cases of one kind under two sanitizers, where each case needs but one of them:
// MOTET_TEST_HALF=0 tries those with an even number, 1 the others, and all are tried without it. tests/run.sh
// sets it where both sanitizers are.
inline bool in_our_half(std::uint64_t number) {
  static const std::uint64_t half = asked("MOTET_TEST_HALF", 2);
  return half == 2 || number % 2 == half;
}

}  // namespace motet::laws
