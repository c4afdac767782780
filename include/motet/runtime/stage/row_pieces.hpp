// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/net_table.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace motet {

// One of the ranks that cut the samples of a module has these of each sample's rows, of all that a module
// gives: those that it makes, or those that it takes.
struct part_of_rows {
  const net_outline* net = nullptr;    // none: it has the rows of whole samples
  const void* const* input = nullptr;  // of its own module, in the step under way
  row_parts cut{};
  isize part = 0;
  interval shared{};  // samples of the step that those ranks cut
  isize source = -1;  // takes them from this one of those that feed its module; -1: makes them
  // of the cut in the step under way, where each finds its own; none: as `cut` says
  const isize* long_rows = nullptr;

  bool is_part() const { return net != nullptr; }
  // visit(rows): of a sample, as intervals.
  template <class Visit>
  void each(isize sample, Visit&& visit) const {
    if (!is_part()) return visit(interval{0, std::numeric_limits<isize>::max() / 2});
    using call = std::remove_reference_t<Visit>;
    constexpr auto told = [](void* self, interval rows) { (*static_cast<call*>(self))(rows); };
    row_parts own = cut;
    if (long_rows != nullptr) own.long_rows = *long_rows;
    own.home = owner(shared.size(), cut.parts, sample - shared.begin);
    if (source < 0) net->rows_made_by_part(*input, sample, own, part, &visit, told);
    else net->rows_of_part(*input, source, sample, own, part, &visit, told);
  }
};

// The rows that cross an edge in one message: those that one rank makes and another takes, in the giver's
// order, and within it in the taker's.
struct crossing_rows {
  part_of_rows given{}, taken{};

  // Rows of whole samples are one stretch at both ends; else these tell which end has to sort.
  bool cuts() const { return given.is_part() || taken.is_part(); }
  bool sorted(bool by_giver) const { return by_giver ? taken.is_part() : given.is_part(); }
  // visit(sample, at, count): runs of rows, the first of which is this one of those of the sample at one end.
  template <class Visit>
  void each(bool at_giver, interval samples, Visit&& visit) const {
    for (isize s = samples.begin; s < samples.end; ++s) {
      isize gave = 0;
      given.each(s, [&](interval from) {
        isize took = 0;
        taken.each(s, [&](interval to) {
          const interval both = intersection(from, to);
          if (both.size() > 0)
            visit(s, at_giver ? gave + both.begin - from.begin : took + both.begin - to.begin, both.size());
          took += to.size();
        });
        gave += from.size();
      });
    }
  }
  isize count(interval samples) const {
    isize rows = 0;
    each(true, samples, [&](isize, isize, isize more) { rows += more; });
    return rows;
  }
};

// A part of a microbatch's rows, of these samples of the step: another module has it within a microbatch of
// its own, at a stage on this rank or, for none, on another one.
template <class Stage>
struct row_piece {
  Stage* here = nullptr;
  std::int32_t microbatch = 0, part = 0;
  interval samples;
  isize door = 0;               // the number of the edge among those here
  std::int32_t their_part = 0;  // as messages number it there
  bool learns = true;           // whether the other one takes gradients, or gives them
  crossing_rows crossing{};
  isize rows = 0;  // those that cross in the step under way, where ranks cut samples
};

// Rows that a stage hands to another one on its rank, or brings in another order.
template <class T>
struct handed_rows {
  const T* from;
  T* to;
  isize count;
};

// The pieces in which rows enter a stage, or leave it, where a module beside it cuts samples unlike. Without
// any, the rows of a microbatch stay together.
template <class Stage>
class row_pieces {
 public:
  using piece = row_piece<Stage>;
  using all = std::vector<piece>;

  // The piece is of microbatch m, one of `count`.
  void add(isize count, std::int32_t m, const piece& made) {
    of_microbatch_.resize(as_size(count));
    all& own = of_microbatch_[as_size(m)];
    own.push_back(made);
    most_ = std::max(most_, own.size());
  }
  // The result is null where its rows stay together.
  const all* of(std::int32_t m) const {
    return of_microbatch_.empty() ? nullptr : &of_microbatch_[as_size(m)];
  }
  // The piece which messages number `part`.
  const piece& find(std::int32_t m, std::int32_t part) const {
    const all& own = of_microbatch_[as_size(m)];
    return *std::find_if(own.begin(), own.end(), [&](const piece& each) { return each.part == part; });
  }
  std::size_t most() const { return most_; }
  // Counts what crosses in each in the step that begins.
  void count_rows() {
    for (all& pieces : of_microbatch_)
      for (piece& each : pieces)
        if (each.crossing.cuts()) each.rows = each.crossing.count(each.samples);
  }

 private:
  std::vector<all> of_microbatch_;
  std::size_t most_ = 0;
};

// A sample's rows begin here among those of a microbatch that leave a module.
inline isize first_row_given(const net_outline& net, const any_microbatches& parts, isize m, isize sample) {
  if (parts.gives_parts()) return parts.leaving_before(m, sample);
  return net.rows_given(parts.whole(), sample) - net.rows_given(parts.whole(), parts.mine(m).begin);
}
// These are their numbers.
inline interval numbers_given(const net_outline& net, const any_microbatches& parts, isize m,
                              interval samples) {
  return {first_row_given(net, parts, m, samples.begin) * net.embedding,
          first_row_given(net, parts, m, samples.end) * net.embedding};
}
// Rows that enter it by one edge have these numbers: a module's rows lie behind those of the modules before
// it.
inline interval numbers_taken(const net_outline& net, const any_microbatches& parts, isize m,
                              interval samples, isize door) {
  const interval all = parts.samples_that_enter(m);
  const auto before = [&](isize source, isize sample) {
    return (parts.takes_parts() ? parts.entering_before(m, source, sample)
                                : net.rows_taken(parts.whole(), source, sample)) *
           net.takes_rows;
  };
  isize first = -before(door, all.begin);
  for (isize k = 0; k < door; ++k) first += before(k, all.end) - before(k, all.begin);
  return {first + before(door, samples.begin), first + before(door, samples.end)};
}

}  // namespace motet
