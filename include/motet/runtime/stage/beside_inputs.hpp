// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/runtime/stage/fed_inputs.hpp>

namespace motet {

namespace detail {

struct beside_room {
  std::vector<isize> offsets, row_offsets;  // rebased
};

}  // namespace detail

// Text goes with the counts of the rows that are beside each of its samples.
template <class Net>
struct input_traits<Net, tokens_beside> : input_traits<Net, labelled_tokens> {
  using text = input_traits<Net, labelled_tokens>;
  using storage = detail::beside_room;
  static storage room(isize samples) {
    return {text::room(samples), std::vector<isize>(as_size(samples) + 1)};
  }
  static tokens_beside largest(isize samples) {
    return {text::largest(samples), {detail::even_offsets(samples, Net::most_rows)}};
  }
  static bool fits(const tokens_beside& all, isize samples) {
    if (!text::fits(all, samples)) return false;
    for (isize s = 0; s < all.seq.samples; ++s)
      if (all.rows_that_enter().rows_of(s) > Net::most_rows) return false;
    return true;
  }
  static tokens_beside slice(const tokens_beside& all, isize first, isize count, storage& room) {
    const sequences rows = all.rows_that_enter();
    for (isize s = 0; s <= count; ++s)
      room.row_offsets[as_size(s)] = rows.begin(first + s) - rows.begin(first);
    return {text::slice(all, first, count, room.offsets), {room.row_offsets.data()}};
  }
  template <class Bring>
  static tokens_beside stage(const tokens_beside& all, std::byte* to, Bring&& bring) {
    return {text::stage(all, to, bring), {all.row_offsets}};
  }
  static bool same(const tokens_beside& a, const tokens_beside& b) {
    return text::same(a, b) && a.row_offsets == b.row_offsets;
  }
  static void shape(const tokens_beside& all, std::vector<isize>& into) {
    text::shape(all, into);
    into.push_back(all.entering_count());
  }
};

}  // namespace motet
