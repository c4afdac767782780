// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/files/model_json.hpp>

#include <cmath>
#include <cstdlib>

// Any bytes are a model or refused with MT-F01, MT-P70..72 or MT-P78..80; a model is the same after writing
// and reading again, its towers fit, and their work is a number. Aborts when that does not hold; returns 0:
// refused, 1: a model.
inline int fuzz_model_json(std::string_view bytes) {
  motet::model_shape made;
  try {
    made = motet::parse_model(bytes, "fuzz");
  } catch (const motet::error& refused) {
    const std::string_view code = refused.code();
    for (const char* each : {"MT-F01", "MT-P70", "MT-P71", "MT-P72", "MT-P78", "MT-P79", "MT-P80"})
      if (code == each) return 0;
    std::abort();
  }
  if (!(motet::parse_model(motet::format_model(made), "again") == made)) std::abort();
  if (made.towers.empty()) std::abort();
  for (const motet::tower_outline& each : made.towers) {
    if (!motet::check(each).ok()) std::abort();
    for (const motet::degrees split : {motet::degrees{}, motet::degrees{.context = 3, .tensor = 5}}) {
      const motet::part_work work = motet::work_of_layers(each, 0, each.layers, split);
      for (const double number : {work.forward_flops, work.backward_flops(), work.parameters, work.kept})
        if (!std::isfinite(number) || number < 0) std::abort();
    }
  }
  return 1;
}
