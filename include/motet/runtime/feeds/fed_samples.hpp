// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/messages.hpp>

namespace motet {

// This knows which samples the feeds of a program carry, once it is known how modules cut the samples of a
// step.
class fed_samples {
 public:
  fed_samples(const program& of, const stage_groups& groups, const list<sample_split>& splits)
      : of_(of),
        groups_(groups),
        splits_(splits),
        links_(of.voices, of.feeds),
        cut_(of.voices.size(), 0),
        fed_(of.voices.size(), 0) {
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
    const voice& sings = of_.voices[v];
    const sample_split& split = splits_[sings.module];
    return mine_of(split.of(m / split.microbatches, sings.replica, m % split.microbatches),
                   seat_of(sings, groups_));
  }
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
              intersection(of(from.voice, from.microbatch), of(to.voice, to.microbatch)));
    });
  }

 private:
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
    bool alike = true;
    for (std::int32_t m = 0; m < of_.voices[v].microbatches; ++m) {
      int count = 0;
      links_.each_next(v, of_.voices[v].stages - 1, m, [&](const cell_seat& to, int, int) {
        const interval own = of(v, m), others = of(to.voice, to.microbatch);
        alike =
            alike && ++count == 1 && to.microbatch == m && own.begin == others.begin && own.end == others.end;
        links_.each_previous(to.voice, 0, to.microbatch,
                             [&](const cell_seat& other, int, int) { alike = alike && other.voice == v; });
      });
    }
    return alike;
  }
  // The rows of every sample go on once to each module that is fed, and come once from each that feeds.
  void require_once(bool behind, std::int32_t v, std::int32_t m) {
    const voice& sings = of_.voices[v];
    for (isize& each : fed_) each = 0;
    const auto add = [&](const cell_seat& at, int, int) {
      fed_[of_.voices[at.voice].module] += intersection(of(v, m), of(at.voice, at.microbatch)).size();
    };
    if (behind) links_.each_next(v, sings.stages - 1, m, add);
    else links_.each_previous(v, 0, m, add);
    const isize all = of(v, m).size();
    for (std::int32_t other = 0; other < fed_.size(); ++other)
      if ((behind ? feeds_[pair(sings.module, other)] : feeds_[pair(other, sings.module)]) != 0 &&
          fed_[other] != all)
        fail(program_does_not_fit,
             sentence({"microbatch ", m, " of voice ", v, " (", sings.name.view(), ") has ", all,
                       " samples, and the feeds ", behind ? "take" : "bring", " the rows of ", fed_[other],
                       behind ? " to" : " from", " module ", other}));
  }
  isize pair(std::int32_t from, std::int32_t to) const { return isize{from} * fed_.size() + to; }

  const program& of_;
  const stage_groups& groups_;
  const list<sample_split>& splits_;
  cell_links links_;
  list<std::uint8_t> cut_;    // of each module: rows of a microbatch do not stay together behind it
  list<isize> fed_;           // of each module at the other end, samples of one microbatch
  list<std::uint8_t> feeds_;  // of each two modules, whether one feeds the other
};

}  // namespace motet
