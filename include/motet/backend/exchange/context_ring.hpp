// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/microbatch_spread.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

// The ring of a context group's members, alike on every back end, says whose keys a member sees when, and
// what is on its way meanwhile: rows of samples that are cut.

namespace motet {

struct context_ring {
  const microbatch_spread& is;
  isize members, me;

  explicit context_ring(const microbatch_spread& of)
      : is(of), members(of.context.size()), me(of.context.member()) {}

  // This member sees the keys of this part in a step.
  isize part_at(isize step) const { return (me - step + 2 * members) % members; }
  isize rows_of(isize part) const { return is.part_rows_cut[as_size(part)]; }
  isize most_rows() const { return *std::max_element(is.part_rows_cut.begin(), is.part_rows_cut.end()); }
  // A dry run notes these pairs, of queries of this part and keys of all.
  double pairs() const {
    double sum = 0;
    for (isize s = 0; s < is.whole.samples; ++s)
      sum += static_cast<double>(is.part.rows_of(s)) * static_cast<double>(is.whole.rows_of(s));
    return sum;
  }
};

// Sends something to the next member of the ring and gets the like from the one before, while this rank
// computes. Thread 0 talks for all. A back end brings host_numbers(ctx, count), see rows_exchange.hpp.
template <class Context>
class ring_shift {
 public:
  ring_shift(Context& ctx, const microbatch_spread& is)
      : group_(is.context), room_(host_numbers(ctx, 2 * is.context.size())) {}
  ring_shift(const ring_shift&) = delete;
  ring_shift& operator=(const ring_shift&) = delete;

  template <class T>
  void begin(const Context& ctx, const T* from, isize count, T* to, isize to_count) {
    if (ctx.thread != 0) return;
    const auto members = as_size(group_.size()), me = as_size(group_.member());
    const std::span<isize> sent = std::span<isize>(room_).first(members),
                           got = std::span<isize>(room_).subspan(members);
    std::fill(sent.begin(), sent.end(), isize(0));
    std::fill(got.begin(), got.end(), isize(0));
    sent[(me + 1) % members] = count * static_cast<isize>(sizeof(T));
    got[(me + members - 1) % members] = to_count * static_cast<isize>(sizeof(T));
    which_ = group_.begin_all_to_all(reinterpret_cast<const std::byte*>(from), sent,
                                     reinterpret_cast<std::byte*>(to), got);
    open_ = true;
  }
  // Keeps it moving.
  void poll() {
    if (open_) open_ = !group_.test(which_);
  }
  void finish() {
    if (open_) group_.finish(which_);
    open_ = false;
  }

 private:
  const any_group& group_;
  decltype(host_numbers(std::declval<Context&>(), isize())) room_;
  ticket which_ = 0;
  bool open_ = false;
};

}  // namespace motet
