// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/microbatch_spread.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// A seat is where a rank stands among those that hold one stage.
struct spread_seat {
  isize tensor = 1, tensor_member = 0;
  isize context = 1, context_member = 0;
  bool balanced = false;  // rows are cut for a causal mask
  // samples of fewer rows stay whole where a context group cuts others; below 0: keep_whole() tells for each
  // step
  isize long_rows = 0;
  // of rows, in which products beside an exchange are made, and who sees to the exchange meanwhile
  isize pieces = 1;
  courier* beside = nullptr;
  any_group experts{};  // ranks of replicas that share experts, each in a seat of its own
};

// A sample may have none, one or several sequences, such as pictures: these say where each begins among them.
// Without any, each sequence is a sample.
struct sample_bounds {
  isize samples = 0;
  const isize* first = nullptr;  // samples + 1 entries
  isize at(isize sample) const { return first != nullptr ? first[sample] : sample; }
  interval of(interval some) const { return {at(some.begin), at(some.end)}; }
};

// Says which rows of a microbatch a rank has, and keeps the memory of what it says.
class spread_rows {
 public:
  spread_rows() = default;
  // There is room for microbatches of up to so many samples, or sequences of samples.
  spread_rows(const spread_seat& at, isize most_samples) { prepare(at, most_samples); }
  spread_rows(const spread_rows&) = delete;
  spread_rows& operator=(const spread_rows&) = delete;

  void prepare(const spread_seat& at, isize most_samples) {
    at_ = at;
    most_ = most_samples;
    for (auto& each : offsets_) each.reserve(as_size(most_samples + 1));
    ends_.tensor_rows.reserve(as_size(at.tensor));
    ends_.tensor_samples.reserve(as_size(at.tensor));
  }
  isize most_samples() const { return most_; }
  // Samples of fewer rows stay whole from the next fill() on.
  void keep_whole(isize long_rows) { at_.long_rows = long_rows; }

  // Everything in `to` but its groups, which are the caller's; holds until the next call, while whole.offsets
  // stays. Allocates nothing, once `to` was filled before.
  void fill(const sequences& whole, microbatch_spread& to) { fill(whole, {whole.samples, nullptr}, to); }
  // Ranks share samples here, each of which may be several sequences.
  void fill(const sequences& whole, const sample_bounds& bounds, microbatch_spread& to);
  // As much of each as a microbatch can have whose samples are no longer: a dry run asks for it.
  void fill_most(const sequences& whole, const sample_bounds& bounds, microbatch_spread& to);

 private:
  // A sample of so many rows has longest_whole(cut, rows) of them where it stays whole, or may do so.
  template <class Longest>
  void fill(const sequences& whole, const sample_bounds& bounds, microbatch_spread& to,
            Longest longest_whole);
  // A sample that stays whole is with the member that embeds it, so its rows never change hands.
  void find_homes(const sample_bounds& bounds, microbatch_spread& to) {
    to.homes.clear();
    if (to.cut.long_rows == 0) return;
    to.homes.reserve(as_size(most_));
    for (isize t = 0; t < at_.tensor; ++t) {
      const interval sharing = share(bounds.samples, at_.tensor, t);
      for (isize s = sharing.begin; s < sharing.end; ++s)
        to.homes.insert(to.homes.end(), as_size(bounds.at(s + 1) - bounds.at(s)),
                        owner(sharing.size(), at_.context, s - sharing.begin));
    }
  }

  enum which_offsets : std::uint8_t {
    part,
    full,
    own_part,
    mine_whole,
    ends_part,
    cut_all,
    cut_own,
    stays_here,
    kinds
  };

  // Samples of `whole` with as many rows each as rows_of says; where all have the same in `whole` and none
  // stays whole, they do here.
  template <class Rows>
  sequences some(const sequences& whole, interval samples, Rows rows_of, which_offsets kind) {
    if (!whole.offsets && at_.long_rows == 0) return {samples.size(), rows_of(0), nullptr};
    auto& offsets = offsets_[kind];
    offsets.assign(1, 0);
    for (isize s = samples.begin; s < samples.end; ++s) offsets.push_back(offsets.back() + rows_of(s));
    return {samples.size(), 1, offsets.data()};
  }
  // Gathers the samples that the tensor members with this context part have whole.
  void fill_ends(const sequences& whole, const sample_bounds& bounds, microbatch_spread& to) {
    auto& offsets = offsets_[ends_part];
    offsets.assign(1, 0);
    ends_.tensor_rows.clear();
    ends_.tensor_samples.clear();
    isize samples = 0;
    for (isize t = 0; t < at_.tensor; ++t) {
      const interval members = share(bounds.samples, at_.tensor, t),
                     own = share(members.size(), at_.context, at_.context_member),
                     mine = bounds.of({members.begin + own.begin, members.begin + own.end});
      isize rows = 0;
      for (isize s = mine.begin; s < mine.end; ++s) {
        rows += whole.rows_of(s);
        offsets.push_back(offsets.back() + whole.rows_of(s));
      }
      samples += mine.size();
      ends_.tensor_rows.push_back(rows);
      ends_.tensor_samples.push_back(mine.size());
    }
    ends_.tensor = to.tensor;
    ends_.part = ends_.whole =
        whole.offsets ? sequences{samples, 1, offsets.data()} : sequences{samples, whole.length, nullptr};
    ends_.own = ends_.full = ends_.mine = to.mine;
    to.ends = &ends_;
  }

  spread_seat at_;
  isize most_ = 0;
  std::vector<isize> offsets_[kinds];
  microbatch_spread ends_;
};

#if !defined(MOTET_COMPILED_RANKS)
template <class Longest>
void spread_rows::fill(const sequences& whole, const sample_bounds& bounds, microbatch_spread& to,
                       Longest longest_whole) {
  const interval sharing = share(bounds.samples, at_.tensor, at_.tensor_member),
                 own = share(sharing.size(), at_.context, at_.context_member), members = bounds.of(sharing),
                 mine = bounds.of({sharing.begin + own.begin, sharing.begin + own.end});
  to.cut = {at_.context, at_.balanced, at_.context == 1 ? 0 : std::max<isize>(0, at_.long_rows)};
  to.first_own = members.begin;
  to.first_mine = mine.begin;
  find_homes(bounds, to);
  const auto all_rows = [&](isize s) { return whole.rows_of(s); };
  const auto whole_of = [&](isize s, isize which) {
    const row_parts cut = to.cut_of(s);
    return cut.home == which ? longest_whole(cut, whole.rows_of(s)) : 0;
  };
  const auto cut_of = [&](isize s, isize which) {
    const isize rows = whole.rows_of(s);
    return rows < to.cut.long_rows ? 0 : to.cut.rows_of(rows, which);
  };
  const auto rows_of = [&](isize s, isize which) { return std::max(cut_of(s, which), whole_of(s, which)); };
  const auto part_rows = [&](isize s) { return rows_of(s, at_.context_member); };
  to.pieces = at_.pieces;
  to.beside = at_.beside;
  to.whole = whole;
  to.part = at_.context == 1 ? whole : some(whole, {0, whole.samples}, part_rows, part);
  to.full = some(whole, members, all_rows, full);
  to.own = at_.context == 1 ? to.full : some(whole, members, part_rows, own_part);
  to.mine = at_.context == 1 ? to.full : some(whole, mine, all_rows, mine_whole);
  to.tensor_rows.clear();
  to.tensor_samples.clear();
  for (isize t = 0; t < at_.tensor; ++t) {
    const interval theirs = bounds.of(share(bounds.samples, at_.tensor, t));
    to.tensor_rows.push_back(to.part.begin(theirs.end) - to.part.begin(theirs.begin));
    to.tensor_samples.push_back(theirs.size());
  }
  to.ends = nullptr;
  to.owned_rows.clear();
  to.part_rows_cut.assign(as_size(at_.context), 0);
  to.rows_whole = to.longest_piece = 0;
  for (isize c = 0; c < at_.context; ++c) {
    const interval theirs = share(sharing.size(), at_.context, c);
    const isize begin = bounds.at(sharing.begin + theirs.begin) - members.begin,
                end = bounds.at(sharing.begin + theirs.end) - members.begin;
    to.owned_rows.push_back(to.own.begin(end) - to.own.begin(begin));
    for (isize s = 0; s < whole.samples; ++s) to.part_rows_cut[as_size(c)] += cut_of(s, c);
  }
  const interval all{0, whole.samples};
  const isize here = at_.context_member;
  to.cut_whole = whole;
  to.cut_part = to.part;
  to.stays = {whole.samples, 0, nullptr};
  if (to.cut.long_rows > 0) {
    to.cut_whole = some(
        whole, all, [&](isize s) { return to.is_cut(s) ? whole.rows_of(s) : 0; }, cut_all);
    to.cut_part = some(
        whole, all, [&](isize s) { return cut_of(s, here); }, cut_own);
    to.stays = some(
        whole, all, [&](isize s) { return whole_of(s, here); }, stays_here);
  }
  to.rows_whole = to.stays.rows();
  for (isize s = 0; s < whole.samples; ++s)
    to.longest_piece = std::max({to.longest_piece, to.cut_of(s).longest_piece(whole.rows_of(s)),
                                 longest_whole(to.cut, whole.rows_of(s))});
  if (at_.context > 1) fill_ends(whole, bounds, to);
}
MOTET_BODY void spread_rows::fill(const sequences& whole, const sample_bounds& bounds,
                                  microbatch_spread& to) {
  fill(whole, bounds, to, [](const row_parts& cut, isize rows) { return rows < cut.long_rows ? rows : 0; });
}
MOTET_BODY void spread_rows::fill_most(const sequences& whole, const sample_bounds& bounds,
                                       microbatch_spread& to) {
  fill(whole, bounds, to, [](const row_parts& cut, isize rows) {
    return cut.long_rows > 0 ? std::min(rows, cut.long_rows - 1) : 0;
  });
  if (at_.context == 1 || at_.long_rows >= 0) return;
  // A rank then has no more rows than here, whole or not.
  isize left = to.part.rows();
  to.stays = some(
      whole, {0, whole.samples},
      [&](isize s) {
        const isize rows = std::min(left, whole.rows_of(s));
        left -= rows;
        to.longest_piece = std::max(to.longest_piece, rows);
        return rows;
      },
      stays_here);
  to.rows_whole = to.stays.rows();
}
#endif

}  // namespace motet
