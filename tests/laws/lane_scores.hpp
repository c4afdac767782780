// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/score.hpp>

#include <random>
#include <vector>

// Drawn scores whose modules compute in several lanes of their ranks.
namespace motet::laws {

struct lane_draw {
  int modules = 3, lanes = 2, ranks = 2, most_stages = 3, most_microbatches = 4;
  bool sharded = true;  // some modules are computed by two ranks together
};

// The modules before the last feed it, each in a lane of its own as far as there are so many. The order is
// one in which all can be played, cue by cue.
inline score draw_lane_score(std::mt19937& random, const lane_draw& how) {
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  struct cell {
    op what;
    int voice, stage, microbatch;
    std::vector<std::size_t> needs;
  };
  score out;
  const int microbatches = 1 + below(how.most_microbatches);
  std::vector<cell> left;
  std::vector<std::size_t> first;  // of each module's cells: forwards, then backwards
  std::vector<int> first_voice, shards, stages;
  for (int k = 0; k < how.modules; ++k) {
    const bool together = how.sharded && how.ranks > 1 && below(3) == 0;
    stages.push_back(1 + below(how.most_stages));
    shards.push_back(together ? 2 : 1);
    first_voice.push_back(static_cast<int>(out.voices().size()));
    std::vector<int> where;
    for (int s = 0; s < stages.back(); ++s) where.push_back(below(how.ranks));
    for (int t = 0; t < shards.back(); ++t) {
      voice made;
      made.module = k;
      made.shard = t;
      made.shards = shards.back();
      made.stages = stages.back();
      made.microbatches = microbatches;
      made.lane = (how.modules - 1 - k) % how.lanes;
      out.add(made, [&](int s) { return (where[static_cast<std::size_t>(s)] + t) % how.ranks; });
    }
    first.push_back(left.size());
    for (const op what : {op::forward, op::backward})
      for (int s = 0; s < stages.back(); ++s)
        for (int m = 0; m < microbatches; ++m) left.push_back({what, first_voice.back(), s, m, {}});
  }
  const auto at = [&](int k, op what, int s, int m) {
    const auto own = static_cast<std::size_t>(k);
    return first[own] +
           static_cast<std::size_t>(((what == op::backward ? stages[own] : 0) + s) * microbatches + m);
  };
  const int last = how.modules - 1;
  for (int k = 0; k < how.modules; ++k) {
    const int end = stages[static_cast<std::size_t>(k)] - 1;
    for (int m = 0; m < microbatches; ++m) {
      for (int s = 0; s <= end; ++s) {
        if (s > 0) left[at(k, op::forward, s, m)].needs.push_back(at(k, op::forward, s - 1, m));
        std::vector<std::size_t>& back = left[at(k, op::backward, s, m)].needs;
        back.push_back(at(k, op::forward, s, m));
        if (s < end) back.push_back(at(k, op::backward, s + 1, m));
      }
      if (k == last) continue;
      left[at(last, op::forward, 0, m)].needs.push_back(at(k, op::forward, end, m));
      left[at(k, op::backward, end, m)].needs.push_back(at(last, op::backward, 0, m));
    }
  }
  score made;
  for (const voice& each : out.voices()) made.add(each, [&](int s) { return out.place(each, s); });
  for (int k = 0; k < last; ++k)
    made.feed(first_voice[static_cast<std::size_t>(k)], first_voice[static_cast<std::size_t>(last)]);
  std::vector<bool> done(left.size(), false);
  std::vector<std::vector<std::size_t>> order(static_cast<std::size_t>(how.ranks));
  std::vector<std::vector<int>> voices(order.size());
  for (std::size_t ended = 0; ended < left.size();) {
    const auto i = static_cast<std::size_t>(below(static_cast<int>(left.size())));
    bool ready = !done[i];
    for (const std::size_t need : left[i].needs) ready = ready && done[need];
    if (!ready) continue;
    done[i] = true;
    ++ended;
    const int shared = out.voices()[left[i].voice].shards;
    for (int t = 0; t < shared; ++t) {
      const auto r = static_cast<std::size_t>(out.place(out.voices()[left[i].voice + t], left[i].stage));
      order[r].push_back(i);
      voices[r].push_back(left[i].voice + t);
    }
  }
  for (std::size_t r = 0; r < order.size(); ++r) {
    made.rank();
    for (std::size_t p = 0; p < order[r].size(); ++p)
      made.play(left[order[r][p]].what, voices[r][p], left[order[r][p]].stage, left[order[r][p]].microbatch);
  }
  return made;
}

}  // namespace motet::laws
