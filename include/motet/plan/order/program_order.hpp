// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/deal_by_modules.hpp>
#include <motet/plan/order/step_order.hpp>

#include <set>
#include <utility>

namespace motet {

// A step as it would run with its samples in some order.
struct ordered_step {
  sample_order order{};
  double seconds = 0;  // by simulate()
  double uneven = 1;   // what the busiest rank computes, over the mean of all that compute
};

namespace detail {

// Samples as they lie in the blocks of a program.
using filled_blocks = hands;

// A part of a step that samples are dealt to: it has room for so many, and each of them brings to these
// loads its work for a module.
struct dealt_part {
  struct load {
    std::int32_t at = 0, module = 0;
    double weight = 0;
  };
  isize room = 0;
  list<load> loads{};
};

// The most costly sample goes first, each to the part with room where the largest load that it touches stays
// smallest; where that is the same, to where all of these loads together are least.
inline hands deal_to_parts(const step_headers& of, const sample_order& largest_first,
                           const list<dealt_part>& parts, list<double>& loads) {
  hands dealt(parts.size());
  for (const std::int32_t sample : largest_first) {
    isize best = -1;
    std::pair<double, double> least;
    for (isize p = 0; p < parts.size(); ++p) {
      if (dealt[p].size() >= parts[p].room) continue;
      std::pair<double, double> now{0, 0};
      for (const dealt_part::load& each : parts[p].loads) {
        const double load = loads[each.at] + each.weight * of.work_of(each.module, sample);
        now.first = std::max(now.first, load);
        now.second += load;
      }
      if (best < 0 || now < least) best = p, least = now;
    }
    dealt[best].push(sample);
    for (const dealt_part::load& each : parts[best].loads)
      loads[each.at] += each.weight * of.work_of(each.module, sample);
  }
  return dealt;
}

}  // namespace detail

// Finds an order of a step's samples in which a program takes them in less time. Samples are dealt to
// replicas, so that the busiest rank has least to do; each replica deals them to its microbatches, so that
// none is heavy for any module; where rows cross between replicas, they are also dealt for one module after
// the other; microbatches fill the intervals of a pipeline's first stage. Then microbatches, and
// samples, change places by chance, as long as simulate() finds the step shorter. The order as listed is
// taken where none is shorter. Everything follows from the headers and the clock, so ranks that know the same
// find the same. Groups of ranks (plan/order/rank_groups.hpp) look one after the other, each by the headers
// of its own samples alone, and share the swaps evenly: what one finds does not depend on others.
// Asks for: samples that are as many as the program takes.
// Memory: some numbers for each sample and each instruction.
// Errors: none of its own.
// Example:
//   double gained(const program_samples& samples, const place_clock& clock, const step_headers& of) {
//     const program_order orders(samples, clock);
//     return orders.as_listed(of).seconds - orders.find(of).seconds;
//   }
class program_order {
 public:
  program_order(const program_samples& samples, const place_clock& clock)
      : samples_(samples), clock_(clock) {}

  ordered_step as_listed(const step_headers& of) const;
  // Finds what a step takes in this order.
  ordered_step judged(const step_headers& of, sample_order order) const;
  ordered_step find(const step_headers& of, const step_questions& asked = {},
                    const swap_limits& until = {.tries = 100}) const;

 private:
  using part = detail::dealt_part;

  detail::filled_blocks listed() const {
    detail::filled_blocks out(samples_.blocks().size());
    for (isize b = 0; b < out.size(); ++b)
      for (isize p = samples_.blocks()[b].places.begin; p < samples_.blocks()[b].places.end; ++p)
        out[b].push(static_cast<std::int32_t>(p));
    return out;
  }
  sample_order flat(const detail::filled_blocks& of) const {
    sample_order order;
    for (const list<std::int32_t>& each : of) order.append(each.data(), each.size());
    return order;
  }
  // All places take this for a sample.
  double cost_of(const step_headers& of, const list<double>& slopes, std::int32_t sample) const {
    double sum = 0;
    for (isize k = 0; k < slopes.size(); ++k)
      sum += slopes[k] * of.work_of(static_cast<std::int32_t>(k), sample);
    return sum;
  }
  // The stages of each module take this for a unit of work, together or the longest of them.
  list<double> slopes(bool longest) const {
    list<double> out(samples_.modules(), 0.0), of_voice(samples_.modules(), 0.0);
    for (const voice& sings : samples_.of().voices) {
      double sum = 0;
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const double own = clock_.slope(sings.first_place + s);
        sum = longest ? std::max(sum, own) : sum + own;
      }
      out[sings.module] = std::max(out[sings.module], sum);
    }
    return out;
  }
  void sort_largest_first(const step_headers& of, list<std::int32_t>& all) const {
    const list<double> whole = slopes(false);
    list<double> costs;
    for (std::int32_t s = 0; s < of.samples; ++s) costs.push(cost_of(of, whole, s));
    std::stable_sort(all.begin(), all.end(),
                     [&](std::int32_t a, std::int32_t b) { return costs[a] > costs[b]; });
  }

  detail::filled_blocks dealt(const step_headers& of) const {
    const list<part> parts = parts_of_ranks();
    list<double> ranks(samples_.of().ranks(), 0.0), cells(samples_.cells(), 0.0);
    detail::filled_blocks out(samples_.blocks().size());
    const list<double> longest = slopes(true);
    // Samples stay in their circle.
    std::map<std::int32_t, std::pair<list<std::int32_t>, list<std::int32_t>>> circles;
    for (std::int32_t h = 0; h < samples_.hands().size(); ++h) {
      auto& [own, all] = circles[samples_.circle(samples_.hands()[h].blocks[0])];
      own.push(h);
      for (const std::int32_t b : samples_.hands()[h].blocks)
        for (isize p = samples_.blocks()[b].places.begin; p < samples_.blocks()[b].places.end; ++p)
          all.push(static_cast<std::int32_t>(p));
    }
    for (auto& [circle, members] : circles) {
      auto& [own, all] = members;
      std::sort(all.begin(), all.end());
      sort_largest_first(of, all);
      list<part> of_circle;
      for (const std::int32_t h : own) of_circle.push(parts[h]);
      const hands of_hands = detail::deal_to_parts(of, all, of_circle, ranks);
      for (isize k = 0; k < own.size(); ++k) {
        const program_samples::hand& hand = samples_.hands()[own[k]];
        list<part> of_blocks;
        for (const std::int32_t b : hand.blocks) {
          part& made = (of_blocks.push({samples_.blocks()[b].places.size(), {}}), of_blocks.back());
          for (isize m = 0; m < samples_.modules(); ++m)
            made.loads.push({samples_.blocks()[b].cells[m], static_cast<std::int32_t>(m), longest[m]});
        }
        const hands within = detail::deal_to_parts(of, of_hands[k], of_blocks, cells);
        for (isize b = 0; b < hand.blocks.size(); ++b) {
          out[hand.blocks[b]] = within[b];
          std::sort(out[hand.blocks[b]].begin(), out[hand.blocks[b]].end());
        }
      }
    }
    return out;
  }
  // Each hand has its room, and ranks that work for it.
  list<part> parts_of_ranks() const {
    const program& of = samples_.of();
    list<part> out;
    for (const program_samples::hand& each : samples_.hands()) {
      part made{each.places, {}};
      for (const voice& sings : of.voices)
        if (each.replicas[sings.module] == sings.replica)
          for (std::int32_t s = 0; s < sings.stages; ++s)
            made.loads.push({of.place(sings, s), sings.module, clock_.slope(sings.first_place + s)});
      // Loads of one rank for one module are one.
      std::sort(made.loads.begin(), made.loads.end(), [](const part::load& a, const part::load& b) {
        return std::pair(a.at, a.module) < std::pair(b.at, b.module);
      });
      list<part::load> merged;
      for (const part::load& load : made.loads)
        if (!merged.empty() && merged.back().at == load.at && merged.back().module == load.module)
          merged.back().weight += load.weight;
        else merged.push(load);
      made.loads = std::move(merged);
      out.push(made);
    }
    return out;
  }

  // The turns of a replica are those of a pipeline where they are of one size.
  void fill(const step_headers& of, detail::filled_blocks& made) const {
    for (const program_samples::turns& turns : samples_.turns_of_replicas()) {
      if (!are_alike(turns, made)) continue;
      list<std::int32_t> ranks;
      const microbatch_times times = times_of(of, turns, made, ranks);
      const std::int32_t chunks = chunks_of(ranks, times.microbatches);
      const microbatch_order order = fill_intervals(times, chunks);
      const auto seconds = [&](const microbatch_order& each) {
        return chunks > 1 ? interleaved_seconds(times, chunks, each) : one_f_one_b_seconds(times, each);
      };
      if (seconds(order) >= seconds(in_turn(times.microbatches))) continue;
      const detail::filled_blocks before = made;
      for (isize m = 0; m < order.size(); ++m)
        for (isize i = 0; i < turns[m].size(); ++i) made[turns[m][i]] = before[turns[order[m]][i]];
    }
  }
  static bool are_alike(const program_samples::turns& turns, const detail::filled_blocks& made) {
    return std::all_of(turns.begin(), turns.end(), [&](const list<std::int32_t>& each) {
      if (each.size() != turns[0].size()) return false;
      for (isize i = 0; i < each.size(); ++i)
        if (made[each[i]].size() != made[turns[0][i]].size()) return false;
      return true;
    });
  }
  // Stages go round the same ranks so often, each time in the same order; 1: as 1F1B has them.
  static std::int32_t chunks_of(const list<std::int32_t>& ranks, std::int32_t microbatches) {
    isize round = 1;
    while (round < ranks.size() && ranks[round] != ranks[0]) ++round;
    for (isize s = round; s < ranks.size(); ++s)
      if (ranks[s] != ranks[s - round]) return 1;
    return round > 1 && ranks.size() % round == 0 && microbatches % round == 0
               ? static_cast<std::int32_t>(ranks.size() / round)
               : 1;
  }
  // The times of the places that these turns go through, in the model's order; those of one rank that follow
  // each other are one stage, and `ranks` gets the rank of each stage. Replicas that share a turn have even
  // parts of it.
  microbatch_times times_of(const step_headers& of, const program_samples::turns& turns,
                            const detail::filled_blocks& made, list<std::int32_t>& ranks) const {
    microbatch_times times;
    times.microbatches = static_cast<std::int32_t>(turns.size());
    const program& plays = samples_.of();
    list<std::int32_t> first(samples_.modules(), 0), count(samples_.modules(), 0);
    for (isize k = 0; k < samples_.modules(); ++k) {
      std::set<std::int32_t> replicas;
      for (const std::int32_t b : turns[0])
        replicas.insert(samples_.hands()[samples_.blocks()[b].hand].replicas[k]);
      first[k] = *replicas.begin();
      count[k] = static_cast<std::int32_t>(replicas.size());
    }
    for (const voice& sings : plays.voices) {
      if (sings.replica != first[sings.module] || sings.shard != 0) continue;
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const isize place = sings.first_place + s;
        const std::int32_t rank = plays.place(sings, s);
        if (ranks.empty() || ranks.back() != rank) {
          ranks.push(rank);
          ++times.stages;
          times.forward.resize(isize{times.stages} * times.microbatches, 0.0);
          times.backward.push(2);
        }
        for (std::int32_t m = 0; m < times.microbatches; ++m) {
          double work = 0;
          for (const std::int32_t b : turns[m])
            for (const std::int32_t sample : made[b]) work += of.work_of(sings.module, sample);
          times.forward[isize{times.stages - 1} * times.microbatches + m] +=
              clock_.seconds(place, work / count[sings.module]) / 3;
        }
      }
    }
    return times;
  }

  // Samples of other groups bring nothing.
  step_headers headers_of_group(const step_headers& of, std::int32_t group) const {
    step_headers own = of;
    for (isize b = 0; b < samples_.blocks().size(); ++b) {
      if (samples_.group_of(b) == group) continue;
      const interval& places = samples_.blocks()[b].places;
      for (isize k = 0; k < of.modules.size(); ++k)
        for (isize s = places.begin; s < places.end; ++s)
          own.rows[k * of.samples + s] = own.work[k * of.samples + s] = 0;
    }
    return own;
  }
  // Looks at the samples of one group alone.
  ordered_step find_within(const step_headers& of, std::int32_t group, const step_questions& asked,
                           const swap_limits& until) const {
    const list<std::int32_t> movable = samples_.blocks_of(group);
    ordered_step best = as_listed(of);
    const auto look = [&](detail::filled_blocks made) {
      if (asked.slots) fill(of, made);
      ordered_step found = improved(of, std::move(made), movable, asked, until);
      if (found.seconds < best.seconds) best = std::move(found);
    };
    look(listed());
    if (asked.ranks) look(dealt(of));
    if (asked.ranks && samples_.rows_cross()) look(deal_by_modules(samples_, clock_, of));
    return best;
  }
  ordered_step improved(const step_headers& of, detail::filled_blocks made, const list<std::int32_t>& movable,
                        const step_questions& asked, const swap_limits& until) const {
    ordered_step best = judged(of, flat(made));
    std::uint64_t drawn = until.seed;
    const auto draw = [&](isize below) {
      drawn += golden_step;
      return static_cast<isize>(mixed_bits(drawn) % static_cast<std::uint64_t>(below));
    };
    const auto began = std::chrono::steady_clock::now();
    for (std::int32_t i = 0; i < until.tries; ++i) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > until.seconds)
        break;
      const isize a = movable[draw(movable.size())], b = movable[draw(movable.size())];
      if (a == b) continue;
      const bool together = samples_.blocks()[a].hand == samples_.blocks()[b].hand;
      const bool turns =
          asked.slots && together && made[a].size() == made[b].size() && (!asked.ranks || draw(2) == 0);
      if (!turns && (!asked.ranks || samples_.circle(a) != samples_.circle(b))) continue;
      const isize from = turns ? 0 : draw(made[a].size()), to = turns ? 0 : draw(made[b].size());
      const auto swap = [&] {
        if (turns) std::swap(made[a], made[b]);
        else std::swap(made[a][from], made[b][to]);
      };
      swap();
      ordered_step found = judged(of, flat(made));
      if (found.seconds < best.seconds) best = std::move(found);
      else swap();
    }
    return best;
  }

  // This is about the work that judged() left.
  double uneven() const {
    const program& of = samples_.of();
    list<double> busy(of.ranks(), 0.0);
    for (const voice& sings : of.voices)
      for (std::int32_t s = 0; s < sings.stages; ++s)
        for (std::int32_t m = 0; m < sings.microbatches; ++m)
          busy[of.place(sings, s)] +=
              clock_.seconds(sings.first_place + s, work_[samples_.cell_of(sings, m)]);
    double most = 0, sum = 0;
    isize count = 0;
    for (const double each : busy) {
      most = std::max(most, each);
      sum += each;
      count += each > 0 ? 1 : 0;
    }
    return sum > 0 ? most * static_cast<double>(count) / sum : 1;
  }

  const program_samples& samples_;
  const place_clock& clock_;
  mutable list<double> work_;  // of each cell, as judged() left it
};

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY ordered_step program_order::as_listed(const step_headers& of) const {
  return judged(of, in_turn(of.samples));
}
MOTET_BODY ordered_step program_order::judged(const step_headers& of, sample_order order) const {
  ordered_step out{std::move(order), 0, 1};
  samples_.add_work(of, out.order, work_);
  timeline when;
  out.seconds = simulate(samples_.of(), clock_.costs(samples_, work_), when).ok()
                    ? when.makespan
                    : std::numeric_limits<double>::infinity();
  out.uneven = uneven();
  return out;
}
MOTET_BODY ordered_step program_order::find(const step_headers& of, const step_questions& asked,
                                            const swap_limits& until) const {
  if (!asked.ranks && !asked.slots) return as_listed(of);
  const std::int32_t groups = samples_.groups();
  if (groups == 1) return find_within(of, 0, asked, until);
  swap_limits of_group = until;
  of_group.tries = (until.tries + groups - 1) / groups;
  of_group.seconds = until.seconds / groups;
  sample_order all = in_turn(of.samples);
  for (std::int32_t g = 0; g < groups; ++g) {
    const ordered_step own = find_within(headers_of_group(of, g), g, asked, of_group);
    for (const std::int32_t b : samples_.blocks_of(g))
      for (isize p = samples_.blocks()[b].places.begin; p < samples_.blocks()[b].places.end; ++p)
        all[p] = own.order[p];
  }
  return judged(of, std::move(all));
}
#endif

}  // namespace motet
