// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/net_table.hpp>

#include <algorithm>

namespace motet {

// One of the ranks that cut the samples of a module takes these of the rows that a source brings it.
struct rows_taker {
  const net_outline* net = nullptr;    // none: the rows of whole samples are taken
  const void* const* input = nullptr;  // of that module, in the step under way
  row_parts cut{};
  isize part = 0, source = 0;

  bool takes_some() const { return net != nullptr; }
  // visit(sample, rows): intervals of the rows of each sample that the source makes.
  template <class Visit>
  void each(interval samples, Visit&& visit) const {
    for (isize s = samples.begin; s < samples.end; ++s) {
      auto of_sample = [&](interval rows) { visit(s, rows); };
      using call = decltype(of_sample);
      net->rows_of_part(*input, source, s, cut, part, &of_sample,
                        [](void* self, interval rows) { (*static_cast<call*>(self))(rows); });
    }
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
  rows_taker taker{};           // of rows that leave
  isize rows = 0;               // those that it takes in the step under way
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
  // That which messages number `part`.
  const piece& find(std::int32_t m, std::int32_t part) const {
    const all& own = of_microbatch_[as_size(m)];
    return *std::find_if(own.begin(), own.end(), [&](const piece& each) { return each.part == part; });
  }
  std::size_t most() const { return most_; }
  // Counts what is taken of each in the step that begins.
  void count_rows() {
    for (all& pieces : of_microbatch_)
      for (piece& each : pieces) {
        if (!each.taker.takes_some()) continue;
        each.rows = 0;
        each.taker.each(each.samples, [&](isize, interval rows) { each.rows += rows.size(); });
      }
  }

 private:
  std::vector<all> of_microbatch_;
  std::size_t most_ = 0;
};

// A sample's rows begin here among those of a microbatch that leave a module.
inline isize first_row_given(const net_outline& net, const any_microbatches& parts, isize m, isize sample) {
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
