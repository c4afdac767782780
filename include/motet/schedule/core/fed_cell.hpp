// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// A microbatch of one voice that reads rows of a microbatch of another: they leave that one at its last stage
// and enter this one at its first, as rows pass from stage to stage. Their gradients come back the same way.
// Where two modules cut their samples unlike, a microbatch feeds several, or is fed by several.
struct fed_cell {
  std::int32_t from = 0, from_microbatch = 0;
  std::int32_t to = 0, to_microbatch = 0;
  friend constexpr bool operator==(const fed_cell&, const fed_cell&) = default;
};

// A microbatch at a stage of a voice.
struct cell_seat {
  std::int32_t voice = -1, stage = 0, microbatch = 0;
  friend constexpr bool operator==(const cell_seat&, const cell_seat&) = default;
};

// One at the other end of a message, and which part of its rows the message brings; no part: there is none.
struct linked_cell {
  cell_seat at;
  std::int32_t part = -1;
  constexpr bool there() const { return part >= 0; }
};

// The rows of each microbatch go so from a stage, and come so to it: the next stage and the one
// before, of its own voice or, at both ends, of those that it feeds or that feed it. Those of one microbatch
// are numbered in the order of the feeds, from 0 on: they are the parts of its rows.
class cell_links {
  // Visits those that go backward.
  template <class Visit>
  struct of_learners {
    const list<voice>& voices;
    Visit& visit;
    constexpr void operator()(const cell_seat& at, int own, int theirs) {
      if (voices[at.voice].learns) visit(at, own, theirs);
    }
  };
  struct entry {
    cell_seat at;
    std::int32_t part = 0;  // of the other's rows
  };
  // Each microbatch of each voice has those at the other ends.
  struct ends {
    list<isize> begin;
    list<entry> entries;
    list<std::int32_t> counted;
    constexpr void make_room() {
      for (isize k = 1; k < begin.size(); ++k) begin[k] += begin[k - 1];
      entries.resize(begin.back(), {});
      counted.resize(begin.size(), 0);
    }
    constexpr std::int32_t count_up(isize k) { return counted[k]++; }
    constexpr entry& at(isize k, std::int32_t part) { return entries[begin[k] + part]; }
    constexpr linked_cell part(isize k, std::int32_t which) const {
      if (which < 0 || which >= begin[k + 1] - begin[k]) return {};
      const entry& found = entries[begin[k] + which];
      return {found.at, found.part};
    }
    template <class Visit>
    constexpr void each(isize k, Visit& visit) const {
      for (isize i = begin[k]; i < begin[k + 1]; ++i)
        visit(entries[i].at, static_cast<int>(i - begin[k]), static_cast<int>(entries[i].part));
    }
  };

 public:
  static constexpr int most_parts = 255;

  constexpr explicit cell_links(const list<voice>& voices) : voices_(&voices) {}
  constexpr cell_links(const list<voice>& voices, const list<fed_cell>& feeds) : voices_(&voices) {
    if (feeds.empty()) return;
    isize all = 0;
    for (const voice& each : voices) {
      first_.push(all);
      all += each.microbatches;
    }
    next_.begin.resize(all + 1, 0);
    previous_.begin.resize(all + 1, 0);
    for (const fed_cell& each : feeds) {
      ++next_.begin[microbatch(each.from, each.from_microbatch) + 1];
      ++previous_.begin[microbatch(each.to, each.to_microbatch) + 1];
    }
    next_.make_room();
    previous_.make_room();
    for (const fed_cell& each : feeds) {
      const isize from = microbatch(each.from, each.from_microbatch),
                  to = microbatch(each.to, each.to_microbatch);
      const std::int32_t out = next_.count_up(from), in = previous_.count_up(to);
      next_.at(from, out) = {{each.to, 0, each.to_microbatch}, in};
      previous_.at(to, in) = {{each.from, voices[each.from].stages - 1, each.from_microbatch}, out};
    }
  }

  // Some voice feeds another where this holds.
  constexpr bool has_feeds() const { return !first_.empty(); }
  // visit(cell, part, their part): of each cell that the rows of this one go to, which part of this one's
  // rows it takes, and which part of its own they are.
  template <class Visit>
  constexpr void each_next(std::int32_t v, std::int32_t stage, std::int32_t m, Visit&& visit) const {
    if (stage + 1 < (*voices_)[v].stages) visit(cell_seat{v, stage + 1, m}, 0, 0);
    else if (has_feeds()) next_.each(microbatch(v, m), visit);
  }
  // Visits so each cell that its rows come from.
  template <class Visit>
  constexpr void each_previous(std::int32_t v, std::int32_t stage, std::int32_t m, Visit&& visit) const {
    if (stage > 0) visit(cell_seat{v, stage - 1, m}, 0, 0);
    else if (has_feeds()) previous_.each(microbatch(v, m), visit);
  }
  // Visits each cell that a message of this kind goes to which (v, stage, m) makes, or each that one comes
  // from which it takes. Gradients go between those that go backward.
  template <class Visit>
  constexpr void each_target(int kind, std::int32_t v, std::int32_t stage, std::int32_t m,
                             Visit&& visit) const {
    if (kind != 2) each_next(v, stage, m, visit);
    else each_previous(v, stage, m, of_learners<Visit>{*voices_, visit});
  }
  template <class Visit>
  constexpr void each_source(int kind, std::int32_t v, std::int32_t stage, std::int32_t m,
                             Visit&& visit) const {
    if (kind != 2) each_previous(v, stage, m, visit);
    else each_next(v, stage, m, of_learners<Visit>{*voices_, visit});
  }
  constexpr bool has_target(int kind, std::int32_t v, std::int32_t stage, std::int32_t m) const {
    bool found = false;
    each_target(kind, v, stage, m, [&](const cell_seat&, int, int) { found = true; });
    return found;
  }
  constexpr bool has_source(int kind, std::int32_t v, std::int32_t stage, std::int32_t m) const {
    bool found = false;
    each_source(kind, v, stage, m, [&](const cell_seat&, int, int) { found = true; });
    return found;
  }
  // This is at the other end of part `part` of a message that (v, stage, m) makes or takes.
  constexpr linked_cell other_end(bool makes, int kind, std::int32_t v, std::int32_t stage, std::int32_t m,
                                  int part) const {
    linked_cell found;
    if (makes != (kind == 2)) {
      if (stage + 1 < (*voices_)[v].stages) found = only_part(part, {v, stage + 1, m});
      else if (has_feeds()) found = next_.part(microbatch(v, m), part);
    } else {
      if (stage > 0) found = only_part(part, {v, stage - 1, m});
      else if (has_feeds()) found = previous_.part(microbatch(v, m), part);
    }
    if (kind == 2 && found.there() && !(*voices_)[found.at.voice].learns) return {};
    return found;
  }
  constexpr isize cell(const cell_seat& at) const {
    return (*voices_)[at.voice].cell(at.stage, at.microbatch);
  }
  // A program of so many cells has at most messages() of a kind; message() is the number of the one that
  // brings (v, stage, m) this part of its rows.
  constexpr isize messages(std::int32_t cells) const {
    return cells + next_.entries.size() + previous_.entries.size();
  }
  constexpr isize message(std::int32_t cells, int kind, std::int32_t v, std::int32_t stage, std::int32_t m,
                          int part) const {
    if (part == 0) return (*voices_)[v].cell(stage, m);
    const isize of_kind = kind == 2 ? previous_.entries.size() + next_.begin[microbatch(v, m)]
                                    : previous_.begin[microbatch(v, m)];
    return cells + of_kind + part;
  }

 private:
  constexpr isize microbatch(std::int32_t v, std::int32_t m) const { return first_[v] + m; }
  static constexpr linked_cell only_part(int part, const cell_seat& at) { return {at, part == 0 ? 0 : -1}; }

  const list<voice>* voices_;
  list<isize> first_;     // of each voice, among the microbatches of all
  ends next_, previous_;  // of the last stages, and of the first
};

// Two voices whose feeds do not fit together; none: all do. All microbatches of a voice feed others or none
// does, and likewise are fed, each pair once, and whoever goes backward has a gradient to go from.
struct misfed {
  std::int32_t from = -1, to = -1;
  constexpr bool ok() const { return from < 0; }
};
constexpr misfed find_misfed(const list<voice>& voices, const list<fed_cell>& feeds) {
  if (feeds.empty()) return {};
  list<isize> first;
  isize all = 0;
  for (const voice& each : voices) {
    first.push(all);
    all += each.microbatches;
  }
  // Every microbatch feeds so many, and is fed by so many.
  list<std::int32_t> feeding(all, 0), fed(all, 0);
  // Those that a microbatch feeds come in order, each behind its last one, so that none is there twice.
  list<std::int64_t> last(all, -1);
  bool in_order = true;
  const auto known = [&](std::int32_t v, std::int32_t m) {
    return v >= 0 && v < voices.size() && m >= 0 && m < voices[v].microbatches;
  };
  for (const fed_cell& each : feeds) {
    const misfed wrong{each.from < 0 ? 0 : each.from, each.to};
    if (!known(each.from, each.from_microbatch) || !known(each.to, each.to_microbatch) ||
        each.from == each.to)
      return wrong;
    if (++feeding[first[each.from] + each.from_microbatch] > cell_links::most_parts ||
        ++fed[first[each.to] + each.to_microbatch] > cell_links::most_parts)
      return wrong;
    const std::int64_t to = (std::int64_t{each.to} << 32) + each.to_microbatch;
    in_order = in_order && std::exchange(last[first[each.from] + each.from_microbatch], to) < to;
    const voice& from = voices[each.from];
    if (from.learns && from.join < 0 && !voices[each.to].learns) return wrong;
  }
  for (isize v = 0; v < voices.size(); ++v)
    for (std::int32_t m = 1; m < voices[v].microbatches; ++m)
      for (const auto* each : {&feeding, &fed})
        if (((*each)[first[v] + m] == 0) != ((*each)[first[v]] == 0))
          return {static_cast<std::int32_t>(v), static_cast<std::int32_t>(v)};
  if (in_order) return {};
  const cell_links links(voices, feeds);
  for (const fed_cell& each : feeds) {
    isize times = 0;
    links.each_next(each.from, voices[each.from].stages - 1, each.from_microbatch,
                    [&](const cell_seat& at, int, int) {
                      if (at.voice == each.to && at.microbatch == each.to_microbatch) ++times;
                    });
    if (times != 1) return {each.from, each.to};
  }
  return {};
}

}  // namespace motet
