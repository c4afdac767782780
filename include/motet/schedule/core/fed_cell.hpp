// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// A microbatch of one voice that reads the rows of a microbatch of another: they leave that one at its last
// stage and enter this one at its first, as rows pass from stage to stage. Their gradients come back the same
// way.
struct fed_cell {
  std::int32_t from = 0, from_microbatch = 0;
  std::int32_t to = 0, to_microbatch = 0;
  friend constexpr bool operator==(const fed_cell&, const fed_cell&) = default;
};

// A microbatch at a stage of a voice; no voice: nowhere.
struct cell_seat {
  std::int32_t voice = -1, stage = 0, microbatch = 0;
  constexpr bool there() const { return voice >= 0; }
};

// Where the rows of each microbatch go from a stage, and where they come from: the next stage and the one
// before, of its own voice or, at both ends, of one that it feeds or that feeds it.
class cell_links {
 public:
  constexpr explicit cell_links(const list<voice>& voices) : voices_(&voices) {}
  constexpr cell_links(const list<voice>& voices, const list<fed_cell>& feeds) : voices_(&voices) {
    if (feeds.empty()) return;
    index all = 0;
    for (const voice& each : voices) {
      first_.push(all);
      all += each.microbatches;
    }
    next_.resize(all, {});
    previous_.resize(all, {});
    for (const fed_cell& each : feeds) {
      next_[first_[each.from] + each.from_microbatch] = {each.to, 0, each.to_microbatch};
      previous_[first_[each.to] + each.to_microbatch] = {each.from, voices[each.from].stages - 1,
                                                         each.from_microbatch};
    }
  }

  // Whether some voice feeds another.
  constexpr bool has_feeds() const { return !first_.empty(); }
  constexpr cell_seat next(std::int32_t v, std::int32_t stage, std::int32_t m) const {
    if (stage + 1 < (*voices_)[v].stages) return {v, stage + 1, m};
    return has_feeds() ? next_[first_[v] + m] : cell_seat{};
  }
  constexpr cell_seat previous(std::int32_t v, std::int32_t stage, std::int32_t m) const {
    if (stage > 0) return {v, stage - 1, m};
    return has_feeds() ? previous_[first_[v] + m] : cell_seat{};
  }
  // The same for gradients: nowhere, where nothing goes backward at the other end.
  constexpr cell_seat gradient_from(std::int32_t v, std::int32_t stage, std::int32_t m) const {
    return of_learner(next(v, stage, m));
  }
  constexpr cell_seat gradient_to(std::int32_t v, std::int32_t stage, std::int32_t m) const {
    return of_learner(previous(v, stage, m));
  }
  // Where a message of this kind goes that (v, stage, m) makes, and where one comes from that it takes.
  constexpr cell_seat target(int kind, std::int32_t v, std::int32_t stage, std::int32_t m) const {
    return kind == 2 ? gradient_to(v, stage, m) : next(v, stage, m);
  }
  constexpr cell_seat source(int kind, std::int32_t v, std::int32_t stage, std::int32_t m) const {
    return kind == 2 ? gradient_from(v, stage, m) : previous(v, stage, m);
  }
  constexpr index cell(const cell_seat& at) const {
    return (*voices_)[at.voice].cell(at.stage, at.microbatch);
  }

 private:
  constexpr cell_seat of_learner(const cell_seat& at) const {
    return at.there() && (*voices_)[at.voice].learns ? at : cell_seat{};
  }

  const list<voice>* voices_;
  list<index> first_;                // of each voice, among the microbatches of all
  list<cell_seat> next_, previous_;  // of the last stages, and of the first
};

// Two voices whose feeds do not fit together; none: all do. Each microbatch feeds one and is fed by one, all of
// a voice or none are, and whoever goes backward has a gradient to go from.
struct misfed {
  std::int32_t from = -1, to = -1;
  constexpr bool ok() const { return from < 0; }
};
constexpr misfed find_misfed(const list<voice>& voices, const list<fed_cell>& feeds) {
  if (feeds.empty()) return {};
  list<index> first;
  index all = 0;
  for (const voice& each : voices) {
    first.push(all);
    all += each.microbatches;
  }
  list<std::int32_t> feeding(all, -1), fed(all, -1);
  const auto known = [&](std::int32_t v, std::int32_t m) {
    return v >= 0 && v < voices.size() && m >= 0 && m < voices[v].microbatches;
  };
  for (const fed_cell& each : feeds) {
    const misfed wrong{each.from < 0 ? 0 : each.from, each.to};
    if (!known(each.from, each.from_microbatch) || !known(each.to, each.to_microbatch) ||
        each.from == each.to)
      return wrong;
    std::int32_t &out = feeding[first[each.from] + each.from_microbatch],
                 &in = fed[first[each.to] + each.to_microbatch];
    if (out >= 0 || in >= 0) return wrong;
    out = each.to;
    in = each.from;
    const voice& from = voices[each.from];
    if (from.learns && from.join < 0 && !voices[each.to].learns) return wrong;
  }
  for (index v = 0; v < voices.size(); ++v)
    for (std::int32_t m = 1; m < voices[v].microbatches; ++m)
      for (const auto* each : {&feeding, &fed})
        if ((*each)[first[v] + m] != (*each)[first[v]])
          return {static_cast<std::int32_t>(v), (*each)[first[v] + m]};
  return {};
}

}  // namespace motet
