// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/strategy/weighted_shares.hpp>
#include <motet/tensor/share.hpp>

namespace motet {

// Samples of a step belong to the replicas and microbatches of a module: groups come first (one for each
// join), each over the replicas, each part over the microbatches of a group. Uneven counts are fine, and a
// part may be empty.
// Asks for: one group, replica and microbatch at least.
// Memory: a few numbers; two more for each replica where parts are not even.
// Errors: none of its own.
// Example:
//   static_assert(sample_split{.samples = 10, .replicas = 3}.of(0, 0, 0).size() == 4);
struct sample_split {
  index samples = 0;
  index groups = 1;
  index replicas = 1;
  index microbatches = 1;  // of one replica in one group
  // where the replicas' parts begin within a group, and the end: of the larger groups, then of the others.
  // Empty: even parts
  list<index> bounds{};

  constexpr interval of(index group, index replica, index microbatch) const {
    const index begin = share(samples, groups, group).begin;
    const interval own = replica_part(group, replica);
    const interval part = share(own.size(), microbatches, microbatch);
    return {begin + own.begin + part.begin, begin + own.begin + part.end};
  }
  // A replica has this part of a group, counted within the group.
  constexpr interval replica_part(index group, index replica) const {
    if (bounds.empty()) return share(share(samples, groups, group).size(), replicas, replica);
    const index* const own = bounds.data() + (group < samples % groups ? 0 : replicas + 1) + replica;
    return {own[0], own[1]};
  }

  // The same, with replicas that have samples in proportion to their weights: each at least one in a
  // microbatch, where there are enough, and none more than `most` in a group. Equal weights change nothing.
  constexpr sample_split weighted(const list<index>& weights, index most = share_bounds{}.most) const {
    sample_split out{samples, groups, replicas, microbatches, {}};
    for (const index size : {samples / groups + 1, samples / groups}) {
      out.bounds.push(0);
      for (const index each : weighted_shares(size, weights, {microbatches, most}))
        out.bounds.push(out.bounds.back() + each);
    }
    return out;
  }
};

// One end of an edge: a module's samples, and how their rows (context) and columns (tensor) are cut.
struct feed_side {
  sample_split split;
  index context = 1;
  index tensor = 1;
};

struct feed_end {
  index group = 0, replica = 0, microbatch = 0, context = 0, tensor = 0;
  friend constexpr bool operator==(const feed_end&, const feed_end&) = default;
};

// One rank sends another, for one microbatch of each, the rows of these samples that both context parts hold,
// and these columns of them.
struct feed_message {
  feed_end from, to;
  interval samples;
  interval columns;
};

// The rows of a sample of `rows` rows that a message carries, counted within the sample.
constexpr interval rows_of(const feed_message& it, const feed_side& from, const feed_side& to, index rows) {
  return intersection(share(rows, from.context, it.from.context), share(rows, to.context, it.to.context));
}

namespace detail {

// Parts may meet when share(n, a, i) and share(n, b, j) have a row in common for some n. Rounding moves a
// bound by less than a row, so parts whose exact shares do not overlap can meet for few rows only.
constexpr bool may_meet(index a, index i, index b, index j) {
  if (i * b < (j + 1) * a && j * a < (i + 1) * b) return true;
  for (index n = 0; n < 2 * a * b; ++n)
    if (intersection(share(n, a, i), share(n, b, j)).size() > 0) return true;
  return false;
}

}  // namespace detail

// The static list of messages that carries `width` columns of every sample from one side to the other, any
// degrees on both. Senders hold all columns on every tensor rank, so each sends its share; receivers get
// their share and gather the rest among themselves: every number crosses once. Backward is the same list with
// the ends exchanged. Receivers find their messages in the order of samples.
constexpr list<feed_message> make_feed(const feed_side& from, const feed_side& to, index width) {
  list<feed_message> out;
  // Both sides become intervals in the order of samples; empty ones send nothing.
  struct piece {
    index group = 0, replica = 0, microbatch = 0;
    interval samples;
  };
  const auto pieces = [](const sample_split& split) {
    list<piece> all;
    for (index g = 0; g < split.groups; ++g)
      for (index r = 0; r < split.replicas; ++r)
        for (index m = 0; m < split.microbatches; ++m)
          if (const interval own = split.of(g, r, m); own.size() > 0) all.push({g, r, m, own});
    return all;
  };
  const list<piece> senders = pieces(from.split), receivers = pieces(to.split);
  list<std::uint8_t> meets(from.context * to.context, 0);
  for (index a = 0; a < from.context; ++a)
    for (index b = 0; b < to.context; ++b)
      meets[a * to.context + b] = detail::may_meet(from.context, a, to.context, b) ? 1 : 0;
  for (index s = 0, r = 0; s < senders.size() && r < receivers.size();) {
    const piece &sends = senders[s], &receives = receivers[r];
    const interval both = intersection(sends.samples, receives.samples);
    for (index a = 0; both.size() > 0 && a < from.context; ++a) {
      for (index b = 0; b < to.context; ++b) {
        if (meets[a * to.context + b] == 0) continue;
        for (index t = 0; t < from.tensor; ++t) {
          for (index u = 0; u < to.tensor; ++u) {
            const interval columns = intersection(share(width, from.tensor, t), share(width, to.tensor, u));
            if (columns.size() == 0) continue;
            out.push({{sends.group, sends.replica, sends.microbatch, a, t},
                      {receives.group, receives.replica, receives.microbatch, b, u},
                      both,
                      columns});
          }
        }
      }
    }
    if (sends.samples.end <= receives.samples.end) ++s;
    if (sends.samples.end >= receives.samples.end) ++r;
  }
  return out;
}

}  // namespace motet
