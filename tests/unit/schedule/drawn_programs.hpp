// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <limits>
#include <stdexcept>

// Programs and their timelines for the tests of drawings.
struct drawn_program {
  motet::program program;
  motet::timeline when;
};

inline drawn_program played(motet::program made, const motet::cost_table& costs,
                            motet::delivery how = motet::delivery::buffered) {
  drawn_program out{std::move(made), {}};
  if (!motet::simulate(out.program, costs, out.when, how).ok())
    throw std::runtime_error("the program of a test is not legal");
  return out;
}
inline drawn_program played(const motet::score& from, double join = 0) {
  motet::program made = motet::compile(from);
  const motet::cost_table costs = motet::even_costs(made, {1, 1, 1}, join);
  return played(std::move(made), costs);
}
// Messages take a quarter of a unit on the wire and a tenth to get there.
inline drawn_program played_with_wires(const motet::score& from,
                                       motet::delivery how = motet::delivery::buffered, double join = 1) {
  motet::program made = motet::compile(from);
  motet::cost_table costs = motet::even_costs(made, {1, 1, 1, 0, 1, 1}, join);
  costs.wires.inside = {0.1, 4};
  return played(std::move(made), costs, how);
}

inline motet::batch_sync::shape two_towers(int stash = 2, int ahead = 0) {
  motet::batch_sync::shape out;
  out.count = 2;
  out.towers[0] = {4, 8, 4, stash, ahead};
  out.towers[1] = {2, 4, 2, -1, ahead};
  return out;
}
inline motet::batch_sync::shape one_tower(int microbatches, int group, int stash = -1, int ahead = 0) {
  motet::batch_sync::shape out;
  out.towers[0] = {4, microbatches, group, stash, ahead};
  return out;
}

// Two modules share both ranks, and forward of one overlaps with backward of the other.
inline motet::score shared_rank_score() {
  using motet::op;
  motet::score out;
  for (const char* name : {"picture", "caption"}) {
    motet::voice made;
    made.name = name;
    made.module = name[0] == 'c';
    made.stages = 2;
    made.microbatches = 2;
    out.add(made, [](int stage) { return stage; });
  }
  out.rank();
  out.play(op::forward, 0, 0, 0);
  out.play(op::forward, 1, 0, 0);
  out.play(op::forward, 0, 0, 1);
  out.play(op::backward, 0, 0, 0);
  out.pair_with_next();
  out.play(op::forward, 1, 0, 1);
  out.play(op::backward, 1, 0, 0);
  out.play(op::backward, 0, 0, 1);
  out.play(op::backward, 1, 0, 1);
  out.rank();
  for (int m = 0; m < 2; ++m) {
    for (int v = 0; v < 2; ++v) {
      out.play(op::forward, v, 1, m);
      out.play(op::backward, v, 1, m);
    }
  }
  return out;
}

// A program of which every name and number is odd.
inline drawn_program odd_program() {
  drawn_program out = played_with_wires(motet::batch_sync::write(two_towers()));
  out.program.voices[0].name = "<&\"'\\\n\x01>";
  out.program.voices[1].name = "caf\xc3\xa9 \xe6\x96\x87\xff\xe6\x96";
  out.when.start[3] = std::numeric_limits<double>::quiet_NaN();
  out.when.finish[5] = std::numeric_limits<double>::infinity();
  out.when.finish[7] = out.when.start[7] - 1;
  return out;
}
