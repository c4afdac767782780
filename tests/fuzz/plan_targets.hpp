// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include <cstdlib>

// Any bytes are a plan or refused with MT-F01, MT-P70..72 or MT-P84; a plan is the same after writing and
// reading again; it fits a model or is told why not. Aborts when that does not hold; returns 0: refused, 1: a
// plan that does not fit, 2: one that does.
inline int fuzz_plan_json(std::string_view bytes) {
  motet::plan made;
  try {
    made = motet::parse_plan(bytes, "fuzz");
  } catch (const motet::error& refused) {
    const std::string_view code = refused.code();
    if (code != "MT-F01" && code != "MT-P70" && code != "MT-P71" && code != "MT-P72" && code != "MT-P84")
      std::abort();
    return 0;
  }
  if (!(motet::parse_plan(motet::format_plan(made), "again") == made)) std::abort();
  // A legal plan may still be large.
  if (made.cluster.ranks > 4096) return 1;
  const motet::list<motet::module_facts> facts{
      {.name = "picture", .layers = 4, .key_heads = 4},
      {.name = "caption", .layers = 2, .key_heads = 2, .attends = false}};
  const motet::message* row = nullptr;
  const bool fits = motet::explain_plan(made, facts, 64, &row).empty();
  if (fits != motet::prove_plan(motet::arranged(made, facts), facts, 64).ok() || fits != (row == nullptr))
    std::abort();
  return fits ? 2 : 1;
}
