// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/disttrain/chain_plan.hpp>
#include <motet/plan/disttrain/joint_pipeline.hpp>
#include <motet/plan/order/deal.hpp>
#include <motet/plan/order/microbatch_order.hpp>
#include <motet/tensor/random.hpp>

#include <cmath>
#include <limits>
#include <optional>

namespace motet {

// Pictures of each sample of a step, as headers tell them: log-normal about the model's mean, so that some
// samples have several times as many as others.
struct header_draws {
  std::uint64_t seed = 1;
  double sigma = 0.6;
};
inline list<double> draw_pictures(const chain_model& of, isize samples, const header_draws& how = {}) {
  const random_stream draw(how.seed, "pictures");
  list<double> found;
  for (isize s = 0; s < samples; ++s) {
    const double each = of.pictures * std::exp(how.sigma * draw.normal(static_cast<std::uint64_t>(s)) -
                                               how.sigma * how.sigma / 2);
    found.push(std::max(1.0, std::round(each)));
  }
  return found;
}

// The order says which samples come together, and when.
enum class chain_order {
  as_they_come,
  published,  // largest first to replicas; then microbatches fill the intervals of the first stage
  even        // microbatches of all replicas at once are even
};

struct chain_forecast {
  struct part {
    double busy = 0;  // share of the step
    double mfu = 0;   // of the part's ranks, over the whole step
  };
  double step_seconds = 0, samples_per_second = 0, mfu = 0;
  part parts[chain_model::size];
};

namespace detail {

// Plays the step of a chain with the pictures that samples have.
class chain_player {
 public:
  chain_player(const chain_costs& costs, const chain_plan& of, const list<double>& pictures,
               chain_order order)
      : costs_(costs), of_(of), pictures_(pictures), order_(order) {
    groups_ = of.middle().data;
    for (const isize k : {isize{0}, chain_model::size - 1})
      if (!of.shares[k]) groups_ = std::gcd(groups_, of.parts[k].data);
    width_ = of.middle().data / groups_;
    waves_ = costs.waves(of);
  }

  chain_forecast play(std::int32_t tries, double limit) {
    deal();
    double longest = 0, columns = 0;
    const double sums = costs_.sum_seconds(of_);
    for (isize g = 0; g < groups_ && longest + columns + sums < limit; ++g) {
      microbatch_times times = times_of(g);
      microbatch_order order = in_turn(times.microbatches);
      columns = std::max(columns, columns_of(g));
      if (of_.multiplexed) longest = std::max(longest, busy_seconds(g, times));
      if (longest + columns + sums >= limit) break;
      const auto judge = [&](const microbatch_order& each) {
        return of_.multiplexed ? joint_seconds(g, times, each) : one_f_one_b_seconds(times, each);
      };
      if (order_ == chain_order::published) order = fill_intervals(times);
      double seconds = judge(order);
      if (order_ == chain_order::even && tries == 0) {
        seconds = std::min(seconds, judge(fill_intervals(times)));
      } else if (order_ == chain_order::even) {
        microbatch_order other = fill_intervals(times);
        if (judge(other) < seconds) order = std::move(other);
        seconds = judge(improve_by_swaps(std::move(order), judge, {.tries = tries, .seed = 1}));
      }
      longest = std::max(longest, seconds);
    }
    return tell(longest + columns + sums);
  }

 private:
  const chain_model& model() const { return costs_.model(); }
  isize slot(isize group, isize wave) const { return group * waves_ + wave; }

  // Samples to groups and waves; those of a wave lie in the order of replicas.
  void deal() {
    const isize replicas = of_.middle().data;
    slots_.resize(groups_ * waves_, {});
    if (order_ == chain_order::even) {
      const hands of_groups = deal_largest_first(pictures_, static_cast<std::int32_t>(groups_));
      for (isize g = 0; g < groups_; ++g) {
        list<double> own;
        for (const std::int32_t sample : of_groups[g]) own.push(pictures_[sample]);
        const hands of_waves = deal_largest_first(own, static_cast<std::int32_t>(waves_));
        for (isize w = 0; w < waves_; ++w)
          for (const std::int32_t at : of_waves[w]) slots_[slot(g, w)].push(of_groups[g][at]);
      }
      return;
    }
    hands dealt(replicas);
    if (order_ == chain_order::published) {
      dealt = deal_largest_first(pictures_, static_cast<std::int32_t>(replicas));
      for (list<std::int32_t>& each : dealt) std::sort(each.begin(), each.end());
    } else {
      for (isize s = 0; s < waves_ * replicas; ++s) dealt[s % replicas].push(static_cast<std::int32_t>(s));
    }
    for (isize r = 0; r < replicas; ++r)
      for (isize w = 0; w < waves_; ++w) slots_[slot(r / width_, w)].push(dealt[r][w]);
  }
  double stage_seconds(isize part, double units) const {
    const part_place& own = of_.parts[part];
    return units * costs_.unit_seconds(part, own.tensor) / static_cast<double>(own.stages);
  }
  microbatch_times empty_times(std::int32_t microbatches) const {
    microbatch_times times;
    times.stages = static_cast<std::int32_t>(of_.stages());
    times.microbatches = microbatches;
    for (isize k = 0; k < chain_model::size; ++k)
      for (isize s = 0; !of_.shares[k] && s < of_.parts[k].stages; ++s)
        times.backward.push(model().backward(k));
    return times;
  }
  microbatch_times times_of(isize group) const {
    microbatch_times times = empty_times(static_cast<std::int32_t>(waves_));
    for (isize k = 0; k < chain_model::size; ++k)
      for (isize s = 0; !of_.shares[k] && s < of_.parts[k].stages; ++s)
        for (isize w = 0; w < waves_; ++w)
          times.forward.push(
              stage_seconds(k, k == chain_model::middle ? 1 : most_of_lanes(k, slots_[slot(group, w)])));
    return times;
  }
  // Pictures of the lane that has most: they are dealt one by one, as rows change ranks by themselves.
  double most_of_lanes(isize part, const list<std::int32_t>& samples) const {
    double all = 0;
    for (const std::int32_t each : samples) all += pictures_[each];
    return std::ceil(all / static_cast<double>(of_.parts[part].data / groups_));
  }
  // Forward, of a rank's part of each microbatch of a multiplexed encoder.
  list<double> parts_of(isize group) const {
    const part_place& talk = of_.middle();
    list<double> parts;
    for (isize w = 0; w < waves_; ++w) {
      double most = 0;
      for (const std::int32_t sample : slots_[slot(group, w)]) most = std::max(most, pictures_[sample]);
      parts.push(std::ceil(most / static_cast<double>(talk.stages * talk.tensor)) *
                 costs_.unit_seconds(0, 1));
    }
    return parts;
  }
  // All that a rank of the language model does with its parts of the encoder; no order is shorter.
  double busy_seconds(isize group, const microbatch_times& times) const {
    double sum = 0;
    for (const double each : parts_of(group)) sum += each * (1 + model().backward(0));
    for (std::int32_t m = 0; m < times.microbatches; ++m)
      sum += times.forward_of(0, m) * (1 + times.backward[0]);
    return sum;
  }
  double joint_seconds(isize group, const microbatch_times& times, const microbatch_order& order) {
    const double backward = model().backward(0);
    if (!joint_)
      joint_.emplace(times.stages, static_cast<std::int32_t>(of_.middle().stages), times.microbatches,
                     backward > 0);
    return joint_->seconds(times, order, parts_of(group), backward);
  }
  // The time of parts that share the language model's ranks: P microbatches at a time, one of each rank's
  // tensor group.
  double columns_of(isize group) const {
    const isize at_once = of_.middle().stages;
    double seconds = 0;
    for (isize k = 0; k < chain_model::size; ++k) {
      if (!of_.shares[k] || (k == 0 && of_.multiplexed)) continue;
      for (isize w = 0; w < waves_; w += at_once) {
        double longest = 0;
        for (isize r = 0; r < width_; ++r) {
          double all = 0, most = 0;
          for (isize next = w; next < std::min(w + at_once, waves_); ++next) {
            const double own = pictures_[slots_[slot(group, next)][r]];
            all += own;
            most = std::max(most, own);
          }
          const auto lanes = static_cast<double>(of_.middle().tensor);
          longest = std::max(
              longest, std::ceil(order_ == chain_order::even ? all / (lanes * static_cast<double>(at_once))
                                                             : most / lanes));
        }
        seconds += longest * costs_.unit_seconds(k, 1) * (1 + model().backward(k));
      }
    }
    return seconds;
  }
  chain_forecast tell(double seconds) const {
    chain_forecast out;
    double flops = 0, all_pictures = 0;
    const isize played = waves_ * of_.middle().data;
    for (const auto& each : slots_)
      for (const std::int32_t sample : each) all_pictures += pictures_[sample];
    for (isize k = 0; k < chain_model::size; ++k) {
      const double units = k == chain_model::middle ? static_cast<double>(played) : all_pictures,
                   own = units * model().parts[k].flops * (1 + model().backward(k)),
                   ranks = static_cast<double>(of_.shares[k] ? of_.ranks() : of_.parts[k].ranks()),
                   tensor = static_cast<double>(of_.shares[k] ? 1 : of_.parts[k].tensor);
      flops += own;
      out.parts[k].mfu = own / (ranks * costs_.cluster().device.half_flops * seconds);
      out.parts[k].busy = units * costs_.unit_seconds(k, static_cast<isize>(tensor)) * tensor *
                          (1 + model().backward(k)) / (ranks * seconds);
    }
    out.step_seconds = seconds;
    out.samples_per_second = static_cast<double>(played) / seconds;
    out.mfu = flops / (static_cast<double>(of_.ranks()) * costs_.cluster().device.half_flops * seconds);
    return out;
  }

  const chain_costs& costs_;
  const chain_plan& of_;
  const list<double>& pictures_;
  chain_order order_;
  isize groups_ = 1, width_ = 1,
        waves_ = 1;  // groups of replicas that wait for each other, and their replicas
  list<list<std::int32_t>> slots_;
  std::optional<joint_pipeline> joint_;
};

}  // namespace detail

// A step with these pictures. tries: swaps of two microbatches that are tried, where order is even. limit: a
// step of so many seconds is not played to its end.
inline chain_forecast forecast_chain(const chain_costs& costs, const chain_plan& of,
                                     const list<double>& pictures, chain_order order, std::int32_t tries = 0,
                                     double limit = std::numeric_limits<double>::infinity()) {
  return detail::chain_player(costs, of, pictures, order).play(tries, limit);
}

}  // namespace motet
