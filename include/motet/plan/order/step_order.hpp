// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/deal.hpp>
#include <motet/plan/order/interleaved_order.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace motet {

// The times say what the samples of a step take forward on each stage of a pipeline, in any one unit of time;
// the backward of a stage is `backward` times as long.
struct sample_times {
  std::int32_t stages = 0, samples = 0;
  list<double> forward;  // of each (stage, sample), all samples of stage 0 first
  list<double> backward;
  double forward_of(std::int32_t stage, std::int32_t sample) const {
    return forward[isize{stage} * samples + sample];
  }
  // A sample takes this on all stages, forward and back.
  double all_of(std::int32_t sample) const {
    double sum = 0;
    for (std::int32_t s = 0; s < stages; ++s) sum += forward_of(s, sample) * (1 + backward[s]);
    return sum;
  }
};

// These samples alone, in this order.
inline sample_times times_of_samples(const sample_times& of, const list<std::int32_t>& which) {
  sample_times out{of.stages, static_cast<std::int32_t>(which.size()), {}, of.backward};
  for (std::int32_t s = 0; s < of.stages; ++s)
    for (const std::int32_t each : which) out.forward.push(of.forward_of(s, each));
  return out;
}

// Each replica has its microbatches in the order in which they run, and each of those its samples.
using step_order = list<hands>;

// A step's samples go to so many replicas, each with so many microbatches; chunks are the stages of each
// rank.
struct step_shape {
  std::int32_t replicas = 1, microbatches = 1, chunks = 1;
};

// A replica's microbatches take these times.
inline microbatch_times times_of(const sample_times& of, const hands& microbatches) {
  microbatch_times out;
  out.stages = of.stages;
  out.microbatches = static_cast<std::int32_t>(microbatches.size());
  out.backward = of.backward;
  for (std::int32_t s = 0; s < of.stages; ++s)
    for (const list<std::int32_t>& each : microbatches) {
      double sum = 0;
      for (const std::int32_t sample : each) sum += of.forward_of(s, sample);
      out.forward.push(sum);
    }
  return out;
}

// The longest of all replicas. judge: from microbatch_times and an order of them to seconds.
template <class Judge>
double seconds_of_step(const sample_times& of, const step_order& order, const Judge& judge) {
  double longest = 0;
  for (const hands& each : order) {
    const microbatch_times times = times_of(of, each);
    longest = std::max(longest, judge(times, in_turn(times.microbatches)));
  }
  return longest;
}

// Samples come one after the other: first the first microbatch of each replica, then the second.
inline step_order order_as_listed(const list<std::int32_t>& samples, const step_shape& shape) {
  const isize each = samples.size() / (isize{shape.replicas} * shape.microbatches);
  step_order out(shape.replicas);
  isize next = 0;
  for (hands& own : out) own.resize(shape.microbatches, {});
  for (std::int32_t m = 0; m < shape.microbatches; ++m)
    for (hands& own : out)
      for (isize k = 0; k < each; ++k) own[m].push(samples[next++]);
  return out;
}
// Chance decides, the same for equal seeds.
inline step_order order_by_chance(std::int32_t samples, const step_shape& shape, std::uint64_t seed) {
  list<std::int32_t> drawn = in_turn(samples);
  std::uint64_t state = seed;
  for (isize k = drawn.size(); k > 1; --k) {
    state += golden_step;
    std::swap(drawn[k - 1], drawn[static_cast<isize>(mixed_bits(state) % static_cast<std::uint64_t>(k))]);
  }
  return order_as_listed(drawn, shape);
}

// An order answers some of three questions; the others stay as the samples are listed.
struct step_questions {
  bool ranks = true;   // which replica gets which sample, and which of them share a microbatch
  bool slots = true;   // in which turn microbatches run
  isize together = 0;  // ranks that follow each other, out of whose group no sample goes; 0: all
};

// Samples are dealt to hands of equal size, the most costly first, each to the hand whose busiest stage has
// least to do with it. Where samples are dealt by the sum of their costs, one hand may have what is heavy on
// one stage.
inline hands deal_by_stages(const sample_times& of, const list<std::int32_t>& samples, std::int32_t count) {
  list<std::int32_t> order = samples;
  list<double> costs(of.samples, 0.0);
  for (const std::int32_t each : samples) costs[each] = of.all_of(each);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return costs[a] > costs[b]; });
  hands dealt(count);
  list<double> loads(isize{count} * of.stages, 0.0);
  const isize room = samples.size() / count;
  isize one_more = samples.size() - room * count;  // so many hands have one sample more
  for (const std::int32_t sample : order) {
    std::int32_t best = -1;
    double least = 0;
    for (std::int32_t h = 0; h < count; ++h) {
      if (dealt[h].size() > room || (dealt[h].size() == room && one_more == 0)) continue;
      double most = 0;
      for (std::int32_t s = 0; s < of.stages; ++s)
        most =
            std::max(most, loads[isize{h} * of.stages + s] + of.forward_of(s, sample) * (1 + of.backward[s]));
      if (best < 0 || most < least) best = h, least = most;
    }
    if (dealt[best].size() == room) --one_more;
    dealt[best].push(sample);
    for (std::int32_t s = 0; s < of.stages; ++s)
      loads[isize{best} * of.stages + s] += of.forward_of(s, sample) * (1 + of.backward[s]);
  }
  // As they were listed: a deal leaves the largest first.
  for (list<std::int32_t>& each : dealt) std::sort(each.begin(), each.end());
  return dealt;
}

namespace detail {

// Microbatches of a step in a turn that is good for each replica; the result is what the step takes by it. A
// step ends with its slowest replica. So the slowest one is swapped first, and another only until it is no
// slower than those before it: the step takes what it would if all had been swapped to the end. A step that
// cannot be shorter than `than` is left as it is on the way.
template <class Judge>
double order_slots(const sample_times& of, step_order& order, std::int32_t chunks, const Judge& judge,
                   const swap_limits& until, double than) {
  struct turns {
    double seconds = 0;
    std::int32_t replica = 0;
    microbatch_order best;
  };
  std::vector<turns> all;
  for (std::int32_t r = 0; r < order.size(); ++r) {
    const microbatch_times times = times_of(of, order[r]);
    turns own{0, r, in_turn(times.microbatches)};
    own.seconds = judge(times, own.best);
    microbatch_order filled = fill_intervals(times, chunks);
    if (const double seconds = judge(times, filled); seconds < own.seconds)
      own.seconds = seconds, own.best = std::move(filled);
    all.push_back(std::move(own));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const turns& a, const turns& b) { return a.seconds > b.seconds; });
  double longest = 0;
  for (turns& own : all) {
    if (longest >= than) return longest;
    if (own.seconds > longest) {
      const microbatch_times times = times_of(of, order[own.replica]);
      const auto takes = [&](const microbatch_order& each) { return judge(times, each); };
      swap_limits enough = until;
      enough.enough = std::max(until.enough, longest);
      own.best = improve_by_swaps(std::move(own.best), takes, enough);
      longest = std::max(longest, takes(own.best));
    }
    hands ordered;
    for (const std::int32_t m : own.best) ordered.push(order[own.replica][m]);
    order[own.replica] = std::move(ordered);
  }
  return longest;
}

}  // namespace detail

// Samples are dealt to replicas, and by each of them to its microbatches; these fill the intervals of the
// first stage, or stay in turn where that is shorter, and are then swapped. The same is done with samples as
// they are listed, so that the order is never longer than theirs. All replicas have as many samples as any
// other: shape.replicas * shape.microbatches divides them.
template <class Judge>
step_order order_step(const sample_times& of, const step_shape& shape, const Judge& judge,
                      const swap_limits& until = {}, const step_questions& asked = {}) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto seconds = [&](step_order& order, double than) {
    return asked.slots ? detail::order_slots(of, order, shape.chunks, judge, until, than)
                       : seconds_of_step(of, order, judge);
  };
  step_order listed = order_as_listed(in_turn(of.samples), shape);
  if (!asked.ranks) {
    seconds(listed, never);
    return listed;
  }
  step_order dealt(shape.replicas);
  const hands of_replicas = deal_by_stages(of, in_turn(of.samples), shape.replicas);
  for (std::int32_t r = 0; r < shape.replicas; ++r) {
    dealt[r] = hands(shape.microbatches);
    if (of_replicas[r].size() > shape.microbatches)
      dealt[r] = deal_by_stages(of, of_replicas[r], shape.microbatches);
    else
      for (std::int32_t m = 0; m < shape.microbatches; ++m) dealt[r][m].push(of_replicas[r][m]);
  }
  const double least = seconds(dealt, never);
  return seconds(listed, least) < least ? listed : dealt;
}

// Less than this no deal and no order takes: some replica has the mean of a stage's work at least, after a
// sample has come to it and before one has gone back; and each sample goes all the way.
inline double least_step_seconds(const sample_times& of, std::int32_t replicas) {
  double least = 0;
  list<double> comes(of.samples, 0.0), leaves(of.samples, 0.0);
  for (std::int32_t s = 0; s < of.stages && of.samples > 0; ++s) {
    double work = 0;
    for (std::int32_t k = 0; k < of.samples; ++k) work += of.forward_of(s, k) * (1 + of.backward[s]);
    least = std::max(least, work / replicas + *std::min_element(comes.begin(), comes.end()) +
                                *std::min_element(leaves.begin(), leaves.end()));
    for (std::int32_t k = 0; k < of.samples; ++k) {
      comes[k] += of.forward_of(s, k);
      leaves[k] += of.forward_of(s, k) * of.backward[s];
    }
  }
  for (std::int32_t k = 0; k < of.samples; ++k) least = std::max(least, of.all_of(k));
  return least;
}

}  // namespace motet
