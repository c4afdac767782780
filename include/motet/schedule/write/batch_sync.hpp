// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/shape.hpp>

namespace motet {

// One tower of a batch-synchronous pipeline.
struct tower_shape {
  int stages = 1;
  int microbatches = 1;
  int group = 0;   // microbatches for each loss; 0: all
  int stash = -1;  // of them kept from their first forward; the others run forward twice. -1: all
  // forwards more than needed before each backward, so that the loss is hidden behind them
  int ahead = 0;
  // false: a loss of its own for each microbatch, for which it waits for nobody (a caption loss beside a
  // contrastive one)
  bool joins = true;

  constexpr int whole_group() const { return !joins ? 1 : group > 0 ? group : microbatches; }
  constexpr int kept() const { return stash >= 0 ? stash : whole_group(); }
};

// Towers that meet in one loss over all samples of a group (Huang et al., NSDI'24, "DistMM-Pipe"). While
// backward runs through one group, forward runs through the next, so the pipeline does not drain for the
// loss; G is 1 in 1F1B. With a stash below the group, memory no longer grows with the group: what was not
// kept runs forward again shortly before its backward. The last of a group are the ones to keep.
// Asks for: one tower or more, of one stage and one microbatch or more each; a group that divides the
// microbatches, and a stash of at most a group.
// Memory: a stage keeps at most the stash of its group, and those on their way to the end and back.
// Errors: MT-P01, MT-P04, MT-P05, MT-P06, MT-P11
// Example:
//   constexpr batch_sync::shape towers{
//       .towers = {{.stages = 2, .microbatches = 8, .group = 4}, {.microbatches = 8, .group = 4}}, .count = 2};
//   static_assert(batch_sync::check(towers).ok());
//   const score order = batch_sync::write(towers);
struct batch_sync {
  static constexpr const char* name = "batch_sync";
  static constexpr int most_towers = 8;
  struct shape {
    tower_shape towers[most_towers];
    int count = 1;

    constexpr isize cells() const {
      isize sum = 0;
      for (int k = 0; k < count; ++k) sum += isize{towers[k].stages} * towers[k].microbatches;
      return sum;
    }
  };

  static constexpr verdict check(const shape& all) {
    if (all.count < 1 || all.count > most_towers) return {reason::no_stages, all.count, all.count, 1};
    int first = -1;
    for (int k = 0; k < all.count; ++k) {
      const tower_shape& t = all.towers[k];
      if (t.stages < 1 || t.microbatches < 1 || t.group < 0 || t.ahead < 0)
        return {reason::no_stages, k, least(t.stages, t.microbatches), 1};
      if (t.stages >= most_stages || t.microbatches >= most_microbatches || t.ahead >= most_microbatches)
        return {reason::too_large, k, t.stages, t.microbatches};
      if (t.microbatches % t.whole_group() != 0)
        return {reason::group_does_not_divide, k, t.whole_group(), t.microbatches};
      if (t.stash < -1 || t.stash > t.whole_group())
        return {reason::stash_out_of_range, k, t.stash, t.whole_group()};
      if (!t.joins) continue;
      const int groups = t.microbatches / t.whole_group();
      if (first >= 0 && groups != first) return {reason::joins_differ, k, groups, first};
      first = groups;
    }
    if (all.cells() > most_cells) return {reason::too_large, all.count, all.cells(), most_cells};
    return {};
  }

  static constexpr score write(const shape& all) {
    score out;
    int first_rank = 0;
    for (int k = 0; k < all.count; ++k) {
      write_tower(out, all.towers[k], k, first_rank);
      first_rank += all.towers[k].stages;
    }
    return out;
  }

 private:
  static constexpr void write_tower(score& out, const tower_shape& t, int number, int first_rank) {
    voice made;
    made.module = number;
    made.stages = t.stages;
    made.microbatches = t.microbatches;
    made.join = t.joins ? 0 : -1;
    made.group = t.whole_group();
    const int tower = out.add(made, [&](int stage) { return first_rank + stage; });
    const int group = t.whole_group(), all = t.microbatches;
    const auto keeps = [&](int m) { return m % group >= group - t.kept(); };
    for (int d = 0; d < t.stages; ++d) {
      out.rank();
      // First forwards up to `end`; the last stage calls for the loss behind each group.
      int ran = 0;
      const auto run_to = [&](int end) {
        for (; ran < least(end, all); ++ran) {
          out.play(keeps(ran) ? op::forward : op::forward_only, tower, d, ran);
          if (t.joins && d + 1 == t.stages && (ran + 1) % group == 0) out.join(0, ran / group, t.ahead > 0);
        }
      };
      int again = 0;
      const auto run_again_to = [&](int end) {
        for (; again < least(end, all); ++again)
          if (!keeps(again)) out.play(op::re_forward, tower, d, again);
      };
      const int distance = t.stages - 1 - d;
      run_to(group + t.ahead);
      for (int i = 1; i <= distance; ++i) {
        run_again_to(i);
        run_to(group + t.ahead + i);
      }
      for (int m = 0; m < all; ++m) {
        run_again_to(m + 1 + distance);
        out.play(op::backward, tower, d, m);
        run_to(m + 1 + group + t.ahead + distance);
      }
    }
  }
};

}  // namespace motet
