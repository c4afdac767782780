// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/microbatch_spread.hpp>
#include <motet/tensor/share.hpp>

#include <span>
#include <type_traits>
#include <utility>

// The exchanges of a tensor group in pieces: piece p has the p-th part of each member's rows, so all members
// send and receive alike, and lie where they would have come as a whole. Products are made of the rows that
// are there, while others are on their way. Every row is computed and summed as it would be otherwise.
namespace motet {

// How many elements of each member's rows are in a piece, and where they begin among those of all. A back end
// brings host_numbers(ctx, count), see rows_exchange.hpp.
template <class Context>
class exchanged_pieces {
 public:
  exchanged_pieces(Context& ctx, isize width, isize each)
      : is_(*ctx.shared),
        members_(is_.tensor_rows.size()),
        numbers_(host_numbers(ctx, 2 * count() * static_cast<isize>(members_))) {
    if (ctx.measuring()) return;
    for (isize p = 0; p < count(); ++p)
      each_part(p, [&](std::size_t m, interval rows) {
        const auto at = first(p) + m;
        numbers_[at] = rows.size() * width * each;
        numbers_[at + members_] = rows.begin * width * each;
      });
  }
  isize count() const { return is_.pieces; }
  std::span<const isize> counts(isize p) const { return {numbers_.data() + first(p), members_}; }
  std::span<const isize> places(isize p) const { return {numbers_.data() + first(p) + members_, members_}; }
  isize first_own_row() const {
    isize before = 0;
    for (std::size_t m = 0; m < as_size(is_.tensor.member()); ++m) before += is_.tensor_rows[m];
    return before;
  }
  // Where this member's own part of a piece begins.
  isize own(isize p) const { return places(p)[as_size(is_.tensor.member())]; }
  // what(sequences, rows) of the rows of a piece, as they lie; to it each row is a sample.
  template <class What>
  void each_run(isize p, What&& what) const {
    each_part(p, [&](std::size_t, interval rows) {
      if (rows.size() > 0) what(sequences{rows.size(), 1, nullptr}, rows);
    });
  }

 private:
  std::size_t first(isize p) const { return 2 * as_size(p) * members_; }
  template <class Part>
  void each_part(isize p, Part&& part) const {
    isize begin = 0;
    for (std::size_t m = 0; m < members_; begin += is_.tensor_rows[m++]) {
      const interval own = share(is_.tensor_rows[m], count(), p);
      part(m, interval{begin + own.begin, begin + own.end});
    }
  }

  const microbatch_spread& is_;
  std::size_t members_;
  decltype(host_numbers(std::declval<Context&>(), isize())) numbers_;
};

// Work that an exchange does when rows are there, or meanwhile, whatever it is: each exchange is compiled
// once for its numbers, and not for every layer that has work beside it.
template <class... Told>
class work_ref {
 public:
  template <class Work>
  explicit work_ref(Work& work)
      : work_(const_cast<void*>(static_cast<const void*>(&work))), does_(call<Work>) {}
  void operator()(Told... told) const { does_(work_, told...); }

 private:
  template <class Work>
  static void call(void* self, Told... told) {
    (*static_cast<Work*>(self))(told...);
  }

  void* work_;
  void (*does_)(void*, Told...);
};
using row_work = work_ref<const sequences&, interval>;

}  // namespace motet
