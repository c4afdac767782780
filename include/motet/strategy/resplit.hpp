// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/strategy/sample_split.hpp>

namespace motet {

// The options say when and how far samples move from replicas that are slow to those that are fast.
struct resplit_options {
  isize every = 0;  // steps between two moves; 0: none moves by itself
  // samples of a replica, times its even share: for so many memory is planned, and none ever has more
  double most = 1;
  // what a replica wins or loses in one move, times its even share; always one sample
  double step = 0.125;
  double smoothing = 0.5;  // the weight of what was measured before the last move
  double worth = 0.02;     // a move must promise to take that part off the time of the slowest
};

// A replica may have so few and so many of a group of so many samples.
constexpr share_bounds bounds_of(const resplit_options& how, isize samples, isize replicas,
                                 isize microbatches) {
  const isize even = (samples + replicas - 1) / replicas;
  const isize least = microbatches < samples / replicas ? microbatches : samples / replicas;
  const auto allowed =
      static_cast<isize>(how.most * static_cast<double>(samples) / static_cast<double>(replicas) + 1e-9);
  const isize most = allowed > even ? allowed : even, left = samples - (replicas - 1) * least;
  return {least, most < left ? most : left};
}

// One stage of one replica, and the rank that has it.
struct share_place {
  isize module = 0, replica = 0, rank = 0;
};

// Gives each replica of each module as many samples as it has time for. The seconds of a sample at every
// place follow from those that it computed in a step; from these, module after module, the shares with which
// the busiest of its ranks would be through first, where a rank's other work counts too. Moves and shares are
// bounded. Everything follows from the options and the seconds alone, so that ranks that know the same do the
// same.
// Asks for: the seconds of every place after each step, the same on all ranks.
// Memory: some numbers for each place.
// Errors: none of its own.
// Example:
//   bool moved(share_balancer& shares, const double* seconds) {
//     shares.note(seconds);
//     return shares.move();
//   }
class share_balancer {
 public:
  share_balancer() = default;
  // split: of each module, as it is. All groups of a step are of one size.
  share_balancer(list<share_place> places, list<sample_split> splits, const resplit_options& how)
      : how_(how),
        places_(static_cast<list<share_place>&&>(places)),
        splits_(static_cast<list<sample_split>&&>(splits)) {
    for (const sample_split& each : splits_) {
      bounds_.push(bounds_of(how, each.samples / each.groups, each.replicas, each.microbatches));
      shares_.push(list<isize>{});
      for (isize r = 0; r < each.replicas; ++r) shares_.back().push(each.replica_part(0, r).size());
    }
    isize ranks = 0;
    for (const share_place& each : places_) ranks = each.rank >= ranks ? each.rank + 1 : ranks;
    rates_.resize(places_.size(), 0.0);
    busy_.resize(ranks, 0.0);
  }

  // Samples that each replica has of a group.
  const list<isize>& shares(isize module) const { return shares_[module]; }
  const share_bounds& bounds(isize module) const { return bounds_[module]; }
  const list<sample_split>& splits() const { return splits_; }
  // Shares are set by hand; the result is false where they are not within the bounds, or not all samples.
  bool set(isize module, const list<isize>& shares) {
    const share_bounds& within = bounds_[module];
    isize sum = 0;
    for (const isize each : shares) {
      if (each < within.least || each > within.most) return false;
      sum += each;
    }
    if (shares.size() != splits_[module].replicas || sum != splits_[module].samples / splits_[module].groups)
      return false;
    shares_[module] = shares;
    splits_[module] = splits_[module].weighted(shares, within.most);
    return true;
  }

  // Seconds of a step that each place computed, with the shares as they are.
  void note(const double* seconds) {
    for (isize p = 0; p < places_.size(); ++p) {
      const double now = seconds[p] / static_cast<double>(share_of(p));
      rates_[p] = noted_ ? how_.smoothing * rates_[p] + (1 - how_.smoothing) * now : now;
    }
    noted_ = true;
  }
  // The result says whether shares changed.
  bool move() {
    if (!noted_) return false;
    for (double& each : busy_) each = 0;
    for (isize p = 0; p < places_.size(); ++p)
      busy_[places_[p].rank] += rates_[p] * static_cast<double>(share_of(p));
    bool moved = false;
    for (isize k = 0; k < splits_.size(); ++k) moved = move(k) || moved;
    return moved;
  }

 private:
  // A rank works for a replica, sample by sample, and for all else.
  struct load {
    isize replica = 0, rank = 0;
    double rate = 0, other = 0;
    double seconds(double samples) const { return other + rate * samples; }
  };

  isize share_of(isize place) const { return shares_[places_[place].module][places_[place].replica]; }

  list<load> loads_of(isize module) const {
    list<load> found;
    for (isize p = 0; p < places_.size(); ++p) {
      const share_place& at = places_[p];
      if (at.module != module) continue;
      isize which = 0;
      while (which < found.size() && (found[which].replica != at.replica || found[which].rank != at.rank))
        ++which;
      if (which == found.size()) found.push({at.replica, at.rank, 0, busy_[at.rank]});
      found[which].rate += rates_[p];
      found[which].other -= rates_[p] * static_cast<double>(share_of(p));
    }
    return found;
  }
  // The time of the busiest rank.
  static double slowest(const list<load>& loads, const list<isize>& shares) {
    double most = 0;
    for (const load& each : loads) {
      const double seconds = each.seconds(static_cast<double>(shares[each.replica]));
      most = seconds > most ? seconds : most;
    }
    return most;
  }
  bool move(isize module) {
    const list<isize>& now = shares_[module];
    const list<load> loads = loads_of(module);
    const isize replicas = now.size(), samples = splits_[module].samples / splits_[module].groups;
    if (replicas < 2) return false;
    list<double> low(replicas, 0.0), high(replicas, 0.0), wanted(replicas, 0.0);
    const auto allowed =
        static_cast<isize>(how_.step * static_cast<double>(samples) / static_cast<double>(replicas));
    const auto step = static_cast<double>(allowed > 1 ? allowed : 1);
    const share_bounds& within = bounds_[module];
    for (isize r = 0; r < replicas; ++r) {
      const auto at = static_cast<double>(now[r]), least = static_cast<double>(within.least),
                 most = static_cast<double>(within.most);
      low[r] = at - step > least ? at - step : least;
      high[r] = at + step < most ? at + step : most;
    }
    for (const load& each : loads)
      if (each.rate <= 0) return false;

    // Each gets as many samples as it can do in a time, and more of them in a longer one.
    const auto fill = [&](double seconds) {
      double sum = 0;
      for (isize r = 0; r < replicas; ++r) wanted[r] = high[r];
      for (const load& each : loads) {
        const double can = (seconds - each.other) / each.rate;
        wanted[each.replica] = can < wanted[each.replica] ? can : wanted[each.replica];
      }
      for (isize r = 0; r < replicas; ++r) {
        wanted[r] = wanted[r] > low[r] ? wanted[r] : low[r];
        sum += wanted[r];
      }
      return sum;
    };
    double below = 0, above = 0;
    for (const load& each : loads) {
      const double all = each.seconds(high[each.replica]);
      above = all > above ? all : above;
    }
    for (int turn = 0; turn < 64; ++turn) {
      const double middle = (below + above) / 2;
      (fill(middle) < static_cast<double>(samples) ? below : above) = middle;
    }
    fill(above);
    list<isize> weights;
    for (const double each : wanted) weights.push(static_cast<isize>(each * 65536 + 0.5));
    const list<isize> next = weighted_shares(samples, weights, within);
    if (slowest(loads, next) >= (1 - how_.worth) * slowest(loads, now)) return false;

    for (const load& each : loads)
      busy_[each.rank] += each.rate * static_cast<double>(next[each.replica] - now[each.replica]);
    return set(module, next);
  }

  resplit_options how_;
  list<share_place> places_;
  list<sample_split> splits_;  // of each module
  list<share_bounds> bounds_;  // the same
  list<list<isize>> shares_;   // the same, of each replica
  list<double> rates_;         // seconds of a sample of a group at each place
  list<double> busy_;          // seconds of each rank in a step
  bool noted_ = false;
};

}  // namespace motet
