// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/microbatch_order.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/multiplex.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

namespace motet {

// A pipeline played by 1F1B whose first ranks have an encoder between its computations, each with a part of
// every microbatch. The order asks for no times, so it is made once, and played with those of any
// microbatches.
// Asks for: at least as many stages as ranks with a part.
// Memory: a program, and some numbers for each of its computations.
// Errors: none of its own.
// Example:
//   double seconds(const microbatch_times& talk, const list<double>& part) {
//     return joint_pipeline(talk.stages, talk.stages, talk.microbatches, true)
//         .seconds(talk, in_turn(talk.microbatches), part, 2);
//   }
class joint_pipeline {
 public:
  // `encodes`: ranks with a part, the first ones. `learns`: whether the encoder does.
  joint_pipeline(std::int32_t stages, std::int32_t encodes, std::int32_t microbatches, bool learns)
      : made_(
            compile(written(stages, encodes, microbatches, learns), {messages::in_channels, false, false})) {
    costs_.stages.resize(made_.places.size(), {});
    costs_.scale.resize(made_.cells(), 0.0);
  }

  // A step whose microbatches come in this order; a rank's part of each takes so long forward, and so many
  // times as long back.
  double seconds(const microbatch_times& talk, const microbatch_order& order, const list<double>& part,
                 double part_backward) {
    for (const voice& sings : made_.voices)
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const bool talks = sings.module == 0;
        const double back = talks ? talk.backward[s] : part_backward;
        costs_.stages[sings.first_place + s] = {1, back, 0};
        for (std::int32_t m = 0; m < sings.microbatches; ++m)
          costs_.scale[sings.cell(s, m)] = talks ? talk.forward_of(s, order[m]) : part[order[m]];
      }
    return simulate(made_, costs_, when_).ok() ? when_.makespan : std::numeric_limits<double>::infinity();
  }

 private:
  static score written(std::int32_t stages, std::int32_t encodes, std::int32_t microbatches, bool learns) {
    const score talk = one_f_one_b::write({.stages = stages, .microbatches = microbatches});
    score all;
    const voice only = talk.voices()[0];
    all.add(only, [&](int s) { return talk.place(only, s); });
    for (std::int32_t r = 0; r < encodes; ++r) {
      voice part;
      part.module = 1;
      part.replica = r;
      part.microbatches = microbatches;
      part.learns = learns;
      all.feed(all.add(part, [&](int) { return r; }), 0);
    }
    for (std::int32_t r = 0; r < talk.ranks(); ++r) {
      all.rank();
      for (std::int32_t i = talk.begin_of(r); i < talk.end_of(r); ++i)
        all.play(talk[i].what, 0, talk[i].stage, talk[i].microbatch);
    }
    return multiplex(all, {.modules = {0, 1}});
  }

  program made_;
  cost_table costs_;
  timeline when_;
};

}  // namespace motet
