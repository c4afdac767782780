// static_assert(motet::require<motet::prove_plan<my_model, every_field, SAMPLES>()>);
#pragma once

#include <motet/plan/describe/plan.hpp>

constexpr motet::plan every_field() {
  motet::plan of;
  of.cluster = {.ranks = 80, .ranks_per_node = 8, .tensor_may_cross_nodes = true};
  of.schedule = "interleaved";
  of.modules.push(motet::on_ranks("a \"\\\007\303\251 tower", 5, motet::degrees{.stages = 2, .data = 3, .context = 2, .tensor = 4}, 8));
  of.modules[0].chunks = 2;
  of.modules[0].layers = {1, 1, 1, 1};
  of.modules[0].remade = {1, 0, 1, 0};
  of.modules[0].group = 4;
  of.modules[0].stash = 2;
  of.modules[0].ahead = 1;
  of.modules[0].zero = 1;
  of.modules[0].balanced = false;
  of.modules.push(motet::on_ranks("caption", 0, motet::degrees{}));
  of.modules[1].on = motet::mesh(motet::degrees{.data = 40},
      {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56,
       58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78});
  of.modules.push(motet::on_ranks("sound", 63, motet::degrees{}));
  of.modules[2].fills = true;
  of.modules[2].room = 3;
  of.modules[2].forward_takes = 1.5;
  of.modules[2].backward_takes = 2.75;
  of.modules[2].lane = 1;
  of.modules[2].share = 0.25;
  return of;
}
