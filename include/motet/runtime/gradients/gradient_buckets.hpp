// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/parameter.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace motet {

struct bucket_options {
  isize elements = 262144;  // of a bucket, about
  // runs with fewer elements are copied together, so that they do not cost a call each
  isize packed = 4096;
  // each member updates its part of every bucket only, and keeps moments for no more
  bool shards = false;
};

// One call sums a stretch of the buffer in its place, or many short ones, copied together.
struct gradient_bucket {
  std::vector<interval> parts;  // of the stage's flat buffer, from the end on
  isize size = 0;
  bool packed() const { return parts.size() > 1; }
  interval whole() const { return parts.front(); }  // of one that is not packed
};

// Cuts runs, which ascend, into buckets, from the end on: so gradients come out of backward. Depends on the
// runs' sizes and their order alone.
inline std::vector<gradient_bucket> cut_buckets(std::span<const interval> runs,
                                                const bucket_options& options) {
  std::vector<gradient_bucket> found;
  gradient_bucket open;
  const auto close = [&] {
    if (open.size > 0) found.push_back(std::exchange(open, {}));
  };
  for (std::size_t r = runs.size(); r-- > 0;) {
    const interval run = runs[r];
    if (run.size() == 0) continue;
    if (run.size() < options.packed) {
      open.parts.push_back(run);
      open.size += run.size();
      if (open.size >= options.elements) close();
      continue;
    }
    // Pieces are whole cache lines.
    const isize lines = (run.size() + 15) / 16,
                pieces = (run.size() + options.elements - 1) / options.elements;
    for (isize p = pieces; p-- > 0;) {
      const interval part = share(lines, pieces, p);
      const interval own{run.begin + part.begin * 16, std::min(run.begin + part.end * 16, run.end)};
      if (own.size() > 0) found.push_back({{own}, own.size()});
    }
  }
  close();
  return found;
}

// The part of a bucket in its place that a member adds up, counted from the bucket's begin.
constexpr interval part_of_bucket(isize size, isize members, isize member) {
  const interval lines = share((size + 15) / 16, members, member);
  return {std::min(lines.begin * 16, size), std::min(lines.end * 16, size)};
}

// These parts of a stage's flat buffer are in none of `runs`, which ascend.
inline std::vector<interval> without(isize size, std::span<const interval> runs) {
  std::vector<interval> rest;
  isize at = 0;
  for (const interval each : runs) {
    if (each.begin > at) rest.push_back({at, each.begin});
    at = std::max(at, each.end);
  }
  if (size > at) rest.push_back({at, size});
  return rest;
}

// Tensor leaves these whole in a stage that it cuts: each parameter with the gap behind it.
inline std::vector<interval> shared_runs(std::span<const parameter> parameters) {
  std::vector<interval> runs;
  for (const parameter& each : parameters)
    if (each.shared) runs.push_back({each.offset, each.offset + parameter_space(each.held())});
  return runs;
}

// Elements that this rank updates, and where the moments of the first of them are.
struct owned_elements {
  interval at;
  isize moments = 0;
  isize seconds = 0;  // likewise, of the second of both; below 0: they have none
};

// A share is what a rank does for a stage besides its own gradients.
struct update_share {
  std::vector<owned_elements> owned;  // ascend
  // whose squares it tells, so that each element of the model is counted once; ascend
  std::vector<interval> counted;
  isize moments = 0;  // elements of the first of both
  isize seconds = 0;  // and of the second
};

// This rank among those that hold the same elements.
struct group_seat {
  std::int32_t members = 1, member = 0;
  bool alone() const { return members <= 1; }
};

// These calls sum the gradients of a stage on one rank. Most elements are summed over the ranks that hold the
// same tensor shard (lane 0); those that tensor does not cut are summed over all shards as well (lane 1).
// Ranks of a lane find the same buckets in the same order, though the rest of their buffers may differ.
struct reduction_layout {
  struct lane {
    group_seat seat;
    std::vector<gradient_bucket> buckets;  // in the order of their calls
  };
  isize size = 0;
  lane lanes[2];
  update_share share;
  bool shards = false;
  isize packing = 0;  // elements of the memory in which buckets are packed
  isize largest = 0;  // elements of the largest bucket
};

// shared: one interval for each parameter that tensor does not cut, ascending; none when nothing is cut by
// tensor. layers: stretches, ascending, that no bucket in its place may leave; none: it may lie anywhere.
inline reduction_layout lay_out_reduction(isize size, std::span<const interval> shared, group_seat cut,
                                          group_seat shared_by, bucket_options options = {},
                                          std::span<const interval> layers = {}) {
  reduction_layout found;
  found.size = size;
  found.shards = options.shards;
  const interval whole{0, size};
  if (layers.empty()) layers = {&whole, 1};
  std::vector<interval> rest;
  for (const interval run : without(size, shared))
    for (const interval layer : layers)
      if (const interval both = intersection(run, layer); both.size() > 0) rest.push_back(both);
  std::vector<interval> owned;
  const auto fill = [&](reduction_layout::lane& lane, group_seat seat, std::span<const interval> runs) {
    lane.seat = seat;
    if (seat.alone()) {
      owned.insert(owned.end(), runs.begin(), runs.end());
      found.share.counted.insert(found.share.counted.end(), runs.begin(), runs.end());
      return;
    }
    lane.buckets = cut_buckets(runs, options);
    std::int32_t turn = 0;
    for (const gradient_bucket& each : lane.buckets) {
      found.largest = std::max(found.largest, each.size);
      if (each.packed()) {
        // These are small and scattered over memory, so all ranks update them, and find the same bits.
        found.packing += each.size;
        owned.insert(owned.end(), each.parts.begin(), each.parts.end());
        if (turn++ % seat.members == seat.member)
          found.share.counted.insert(found.share.counted.end(), each.parts.begin(), each.parts.end());
        continue;
      }
      const interval part = part_of_bucket(each.size, seat.members, seat.member);
      const interval own{each.whole().begin + part.begin, each.whole().begin + part.end};
      if (own.size() > 0) found.share.counted.push_back(own);
      owned.push_back(options.shards ? own : each.whole());
    }
  };
  fill(found.lanes[0], cut, rest);
  fill(found.lanes[1], shared_by, shared);

  const auto join = [](std::vector<interval>& all) {
    std::sort(all.begin(), all.end(), [](interval a, interval b) { return a.begin < b.begin; });
    std::size_t last = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].size() == 0) continue;
      if (last > 0 && all[last - 1].end == all[i].begin) all[last - 1].end = all[i].end;
      else all[last++] = all[i];
    }
    all.resize(last);
  };
  join(found.share.counted);
  join(owned);
  for (const interval each : owned) {
    found.share.owned.push_back({each, found.share.moments, found.share.moments});
    found.share.moments += round_up(each.size(), 16);
  }
  found.share.seconds = found.share.moments;
  return found;
}

}  // namespace motet
