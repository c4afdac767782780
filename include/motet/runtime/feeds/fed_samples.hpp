// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/messages.hpp>

namespace motet {

// This knows which samples the feeds of a program carry, once it is known how modules cut the samples of a
// step. Ranks that cut the samples of a module that takes parts are fed rows of them all, each its own, and
// those of a module that gives parts feed their own of them all.
class fed_samples {
 public:
  // takes_parts, gives_parts: of each module; none: no module does.
  fed_samples(const program& of, const stage_groups& groups, const list<sample_split>& splits,
              std::vector<std::uint8_t> takes_parts = {}, std::vector<std::uint8_t> gives_parts = {})
      : of_(of),
        groups_(groups),
        splits_(splits),
        takes_parts_(std::move(takes_parts)),
        gives_parts_(std::move(gives_parts)),
        links_(of.voices, of.feeds),
        cut_(of.voices.size(), 0),
        fed_(of.voices.size(), 0),
        ways_(of.voices.size(), 1) {
    if (!links_.has_feeds()) return;
    feeds_.resize(fed_.size() * fed_.size(), 0);
    for (const fed_cell& each : of.feeds)
      feeds_[pair(of.voices[each.from].module, of.voices[each.to].module)] = 1;
    for (std::int32_t v = 0; v < of.voices.size(); ++v) {
      if (!fed_alike(v)) cut_[of.voices[v].module] = 1;
      for (std::int32_t m = 0; m < of.voices[v].microbatches; ++m) {
        require_once(true, v, m);
        require_once(false, v, m);
      }
    }
  }
  // The samples of a voice's microbatch, as an interval of the step's.
  interval of(std::int32_t v, std::int32_t m) const {
    return mine_of(whole(v, m), seat_of(of_.voices[v], groups_));
  }
  // The samples of which rows enter a cell, and those of which rows leave it.
  interval entering(std::int32_t v, std::int32_t m) const {
    return ways_into(v) == 1 ? of(v, m) : shared(v, m);
  }
  interval leaving(std::int32_t v, std::int32_t m) const {
    return ways_out_of(v) == 1 ? of(v, m) : shared(v, m);
  }
  // The rows of a sample enter so many ranks, or leave them, each its own.
  std::int32_t ways_into(std::int32_t v) const { return ways(takes_parts_, v); }
  std::int32_t ways_out_of(std::int32_t v) const { return ways(gives_parts_, v); }
  // visit(from, to): the last stage of a voice, and the first of one that has all of its microbatches.
  template <class Visit>
  void each_whole(Visit&& visit) const {
    each([&](const cell_seat& from, const cell_seat& to, int, int) {
      if (cut_[of_.voices[from.voice].module] == 0 && from.microbatch == 0) visit(from, to);
    });
  }
  // visit(from, to, part, their part, samples): microbatches that have these samples of each other, where
  // modules cut them unlike.
  template <class Visit>
  void each_piece(Visit&& visit) const {
    each([&](const cell_seat& from, const cell_seat& to, int part, int theirs) {
      if (cut_[of_.voices[from.voice].module] != 0)
        visit(from, to, part, theirs,
              intersection(leaving(from.voice, from.microbatch), entering(to.voice, to.microbatch)));
    });
  }

 private:
  // Ranks that cut these samples have them together.
  interval shared(std::int32_t v, std::int32_t m) const {
    spread_seat at = seat_of(of_.voices[v], groups_);
    at.context = 1, at.context_member = 0;
    return mine_of(whole(v, m), at);
  }
  std::int32_t ways(const std::vector<std::uint8_t>& by_parts, std::int32_t v) const {
    const auto module = as_size(of_.voices[v].module);
    return module < by_parts.size() && by_parts[module] != 0 ? groups_.context_of(of_.voices[v]) : 1;
  }
  // All ranks that compute the microbatch have these.
  interval whole(std::int32_t v, std::int32_t m) const {
    const voice& sings = of_.voices[v];
    const sample_split& split = splits_[sings.module];
    return split.of(m / split.microbatches, sings.replica, m % split.microbatches);
  }
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::int32_t v = 0; links_.has_feeds() && v < of_.voices.size(); ++v)
      for (std::int32_t m = 0; m < of_.voices[v].microbatches; ++m) {
        const cell_seat from{v, of_.voices[v].stages - 1, m};
        links_.each_next(v, from.stage, m,
                         [&](const cell_seat& to, int part, int theirs) { visit(from, to, part, theirs); });
      }
  }
  // Says whether each microbatch of a voice feeds the same one of another, and nothing else does.
  bool fed_alike(std::int32_t v) const {
    bool alike = ways_out_of(v) == 1;
    for (std::int32_t m = 0; m < of_.voices[v].microbatches; ++m) {
      int count = 0;
      links_.each_next(v, of_.voices[v].stages - 1, m, [&](const cell_seat& to, int, int) {
        const interval own = of(v, m), others = entering(to.voice, to.microbatch);
        alike = alike && ++count == 1 && ways_into(to.voice) == 1 && to.microbatch == m &&
                own.begin == others.begin && own.end == others.end;
        links_.each_previous(to.voice, 0, to.microbatch,
                             [&](const cell_seat& other, int, int) { alike = alike && other.voice == v; });
      });
    }
    return alike;
  }
  // The rows of every sample go on once to each module that is fed, or to all ranks that cut it there, and
  // come once from each that feeds, or from all ranks that cut it there.
  void require_once(bool behind, std::int32_t v, std::int32_t m) {
    const voice& sings = of_.voices[v];
    for (isize& each : fed_) each = 0;
    for (std::int32_t& each : ways_) each = 1;
    const auto add = [&](const cell_seat& at, int, int) {
      const std::int32_t other = of_.voices[at.voice].module;
      ways_[other] = behind ? ways_into(at.voice) : ways_out_of(at.voice);
      fed_[other] += (behind ? intersection(leaving(v, m), entering(at.voice, at.microbatch))
                             : intersection(entering(v, m), leaving(at.voice, at.microbatch)))
                         .size();
    };
    if (behind) links_.each_next(v, sings.stages - 1, m, add);
    else links_.each_previous(v, 0, m, add);
    const isize all = (behind ? leaving(v, m) : entering(v, m)).size();
    for (std::int32_t other = 0; other < fed_.size(); ++other)
      if ((behind ? feeds_[pair(sings.module, other)] : feeds_[pair(other, sings.module)]) != 0 &&
          fed_[other] != all * ways_[other])
        fail(program_does_not_fit,
             sentence({"microbatch ", m, " of voice ", v, " (", sings.name.view(), ") has ", all,
                       " samples, and the feeds ", behind ? "take" : "bring", " the rows of ",
                       fed_[other] / ways_[other], behind ? " to" : " from", " module ", other}));
  }
  isize pair(std::int32_t from, std::int32_t to) const { return isize{from} * fed_.size() + to; }

  const program& of_;
  const stage_groups& groups_;
  const list<sample_split>& splits_;
  std::vector<std::uint8_t> takes_parts_, gives_parts_;
  cell_links links_;
  list<std::uint8_t> cut_;    // of each module: rows of a microbatch do not stay together behind it
  list<isize> fed_;           // of each module at the other end, samples of one microbatch
  list<std::int32_t> ways_;   // likewise, how often each sample is among them
  list<std::uint8_t> feeds_;  // of each two modules, whether one feeds the other
};

}  // namespace motet
