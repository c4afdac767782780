// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/operations.hpp>
#include <motet/tensor/share.hpp>

namespace motet {

// Query heads and the key-value heads that they read. `group` query heads read the same one, but a share of
// the heads may begin in the middle of a group: of the first one it lacks `lead` heads.
struct head_groups {
  isize heads = 0;
  isize kv_heads = 0;
  isize group = 1;
  isize lead = 0;

  constexpr head_groups() = default;
  constexpr explicit head_groups(const attention_shape& shape)
      : heads(shape.heads),
        kv_heads(shape.kv_heads),
        group(shape.kv_heads > 0 ? shape.heads / shape.kv_heads : 1) {}

  MOTET_HOST_DEVICE constexpr isize kv_of(isize head) const { return (head + lead) / group; }
  // The key-value heads that some query heads read.
  MOTET_HOST_DEVICE constexpr interval kv_of(interval some) const {
    return some.size() == 0 ? interval{} : interval{kv_of(some.begin), kv_of(some.end - 1) + 1};
  }
  constexpr interval readers(isize kv) const {
    const isize begin = kv * group - lead, end = begin + group;
    return {begin < 0 ? 0 : begin, end < heads ? end : heads};
  }
  constexpr head_groups part(interval some) const {
    head_groups out;
    out.heads = some.size();
    out.kv_heads = kv_of(some).size();
    out.group = group;
    out.lead = (some.begin + lead) % group;
    return out;
  }
  constexpr bool even() const { return lead == 0 && heads == kv_heads * group; }
};

// A member of a group has its share of the heads here in a row of all of them: queries | keys | values, or
// queries alone. Where members read the same key-value head, each has it.
struct head_columns {
  head_groups all;
  isize head_width = 1;
  isize members = 1;
  bool keys = true;

  MOTET_HOST_DEVICE constexpr isize pieces() const { return keys ? 3 : 1; }
  MOTET_HOST_DEVICE constexpr interval piece(isize member, isize which) const {
    const interval own = share(all.heads, members, member);
    if (which == 0) return {own.begin * head_width, own.end * head_width};
    const interval kv = all.kv_of(own);
    const isize first = all.heads + (which - 1) * all.kv_heads;
    return {(first + kv.begin) * head_width, (first + kv.end) * head_width};
  }
  MOTET_HOST_DEVICE constexpr isize width(isize member) const {
    isize sum = 0;
    for (isize p = 0; p < pieces(); ++p) sum += piece(member, p).size();
    return sum;
  }
  constexpr isize width_of_all() const {
    isize sum = 0;
    for (isize m = 0; m < members; ++m) sum += width(m);
    return sum;
  }
};

}  // namespace motet
