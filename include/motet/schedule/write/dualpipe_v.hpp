// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/shape.hpp>

namespace motet {

// DualPipe (DeepSeek-AI, 2024) cut in half to a V: in the steady part each device overlaps the forward of one
// of its two chunks with the backward of the other, so that one computes while the other communicates.
// Asks for: two chunks on each device, and at least twice as many microbatches as devices.
// Memory: on each device as many microbatches as there are devices, and one chunk more.
// Errors: MT-P01, MT-P02, MT-P07, MT-P10, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   static_assert(dualpipe_v::check(four).ok());
//   const score order = dualpipe_v::write(four);
struct dualpipe_v {
  static constexpr const char* name = "dualpipe_v";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) {
    if (const verdict found = check_counts(p, 2); !found.ok()) return found;
    if (p.microbatches < 2 * p.stages) return {reason::too_few_microbatches, 1, p.microbatches, 2 * p.stages};
    // One chunk more than zb_v keeps.
    if (p.memory != 0 && p.memory <= p.stages) return {reason::too_little_memory, 3, p.memory, p.stages + 1};
    return {};
  }

  static constexpr score write(const shape& p) {
    score out;
    const int tower = add_voice(out, p, 2, placement::vee);
    for (int d = 0; d < p.stages; ++d) {
      out.rank();
      const int turn = p.stages - 1 - d, stages[] = {d, 2 * p.stages - 1 - d};
      int forwards[2] = {}, backwards[2] = {};
      list<int> split;  // of the backwards that have run, the chunks whose weight part has not
      int weights[2] = {}, next = 0;
      const auto forward = [&](int chunk) { out.play(op::forward, tower, stages[chunk], forwards[chunk]++); };
      const auto backward = [&](int chunk) {
        out.play(op::backward, tower, stages[chunk], backwards[chunk]++);
        ++weights[chunk];
      };
      const auto input = [&](int chunk) {
        out.play(op::backward_input, tower, stages[chunk], backwards[chunk]++);
        split.push(chunk);
      };
      const auto weight = [&] {
        const int chunk = split[next++];
        out.play(op::backward_weight, tower, stages[chunk], weights[chunk]++);
      };
      const auto pair = [&](int chunk) {
        forward(chunk);
        out.pair_with_next();
        backward(1 - chunk);
      };

      for (int i = 0; i < 2 * turn; ++i) forward(0);
      for (int i = 0; i <= d; ++i) forward(0), forward(1);
      for (int i = 0; i < turn; ++i) input(1), weight(), forward(1);
      for (int i = 0; i < p.microbatches - 2 * p.stages + d + 1; ++i) {
        // At the turn of the V the first backward hangs on the forward just before it.
        if (i == 0 && turn == 0) forward(0), backward(1);
        else pair(0);
        pair(1);
      }
      for (int i = 0; i < turn; ++i) backward(1), pair(1);
      for (int i = 0; i < 2 * (d + 1); ++i) i <= d ? backward(1 - i % 2) : input(1 - i % 2);
      for (int i = 0; i < turn; ++i) weight(), input(0);
      for (int i = 0; i <= d; ++i) weight();
    }
    return out;
  }
};

}  // namespace motet
