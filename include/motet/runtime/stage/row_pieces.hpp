// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/net_table.hpp>

#include <algorithm>

namespace motet {

// A part of a microbatch's rows, those of these samples of the step: another module has it within a
// microbatch of its own, at a stage on this rank or, for none, on another one.
template <class Stage>
struct row_piece {
  Stage* here = nullptr;
  std::int32_t microbatch = 0, part = 0;
  interval samples;
  isize door = 0, their_door = 0;  // the number of the edge among those here, and among those there
  bool learns = true;              // whether the other one takes gradients, or gives them
};

// Rows that a stage hands to another one on its rank.
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

 private:
  std::vector<all> of_microbatch_;
  std::size_t most_ = 0;
};

// A microbatch's rows that leave a module have these numbers for these samples.
inline interval numbers_given(const net_outline& net, const any_microbatches& parts, isize m,
                              interval samples) {
  const auto before = [&](isize sample) { return net.rows_given(parts.whole(), sample) * net.embedding; };
  const isize first = before(parts.mine(m).begin);
  return {before(samples.begin) - first, before(samples.end) - first};
}
// Rows that enter it by one edge have these numbers: a module's rows lie behind those of the modules before
// it.
inline interval numbers_taken(const net_outline& net, const any_microbatches& parts, isize m,
                              interval samples, isize door) {
  const interval all = parts.mine(m);
  const auto before = [&](isize source, isize sample) {
    return net.rows_taken(parts.whole(), source, sample) * net.takes_rows;
  };
  isize first = -before(door, all.begin);
  for (isize k = 0; k < door; ++k) first += before(k, all.end) - before(k, all.begin);
  return {first + before(door, samples.begin), first + before(door, samples.end)};
}

}  // namespace motet
