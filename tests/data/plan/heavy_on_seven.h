// Two towers on seven ranks.
// Made by plan_header(), compared by its test.
//
// static_assert(motet::require<motet::prove_plan<my_model, heavy_on_seven, heavy_on_seven_batch>()>);
#pragma once

#include <motet/plan/describe/plan.hpp>

inline constexpr motet::isize heavy_on_seven_batch = 64;

constexpr motet::plan heavy_on_seven() {
  motet::plan of;
  of.cluster = {.ranks = 7};
  of.schedule = "batch_sync";
  of.modules.push(motet::on_ranks("picture", 0, motet::degrees{.stages = 2, .tensor = 2}, 8));
  of.modules[0].group = 4;
  of.modules[0].stash = 2;
  of.modules.push(motet::on_ranks("caption", 4, motet::degrees{.data = 3}, 4));
  of.modules[1].group = 2;
  return of;
}
