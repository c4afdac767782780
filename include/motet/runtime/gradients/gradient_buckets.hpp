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

// Parameters of a stage that is_in(cut_by) holds for: each with the gap behind it.
template <class In>
std::vector<interval> runs_of(std::span<const parameter> parameters, In&& is_in) {
  std::vector<interval> runs;
  for (const parameter& each : parameters)
    if (is_in(each.by)) runs.push_back({each.offset, each.offset + parameter_space(each.held())});
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

// Elements of a stage that this rank sums with the same others: one interval for each parameter, ascending.
struct summed_runs {
  group_seat seat{};
  std::vector<interval> runs{};
};

// These calls sum the gradients of a stage on one rank, in a lane for each set of ranks that hold the same:
// what nothing cuts is on all that have the stage, what tensor cuts on those with this shard of it, experts
// on those with the same ones. Ranks of a lane find the same buckets in the same order, though the rest of
// their buffers may differ.
struct reduction_layout {
  struct lane {
    group_seat seat;
    std::vector<gradient_bucket> buckets;  // in the order of their calls
  };
  isize size = 0;
  std::vector<lane> lanes;
  update_share share;
  bool shards = false;
  isize packing = 0;  // elements of the memory in which buckets are packed
  isize largest = 0;  // elements of the largest bucket
};

// Lane 0 is for the ranks whose buffers are alike in all, and has what `others` leave, whose order is that of
// the lanes behind it. layers: stretches, ascending, that no bucket in its place may leave; none: it may lie
// anywhere.
inline reduction_layout lay_out_reduction(isize size, group_seat alike,
                                          const std::vector<summed_runs>& others, bucket_options options = {},
                                          std::span<const interval> layers = {}) {
  reduction_layout found;
  found.size = size;
  found.shards = options.shards;
  const interval whole{0, size};
  if (layers.empty()) layers = {&whole, 1};
  std::vector<interval> apart;
  for (const summed_runs& each : others) apart.insert(apart.end(), each.runs.begin(), each.runs.end());
  const auto ascends = [](interval a, interval b) { return a.begin < b.begin; };
  std::sort(apart.begin(), apart.end(), ascends);
  std::vector<interval> rest;
  for (const interval run : without(size, apart))
    for (const interval layer : layers)
      if (const interval both = intersection(run, layer); both.size() > 0) rest.push_back(both);
  std::vector<interval> owned;
  const auto fill = [&](group_seat seat, std::span<const interval> runs) {
    reduction_layout::lane& lane = found.lanes.emplace_back();
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
  fill(alike, rest);
  for (const summed_runs& each : others) fill(each.seat, each.runs);

  const auto join = [&](std::vector<interval>& all) {
    std::sort(all.begin(), all.end(), ascends);
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
