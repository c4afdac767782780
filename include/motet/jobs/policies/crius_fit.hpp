// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/policies/bubbles.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace motet {

// Each part of Crius can be left out, as its evaluation does.
struct crius_rules {
  bool types = true;          // jobs may change their kind of device
  bool scaling = true;        // jobs may be halved and doubled
  bool deadlines = false;     // jobs run only where they end in time, by what is known when that is chosen
  bool planner = true;        // decisions by the best plans' times; else where data parallelism fits
  std::int32_t depth = 0;     // steps of scaling down for one job; 0: 3, and 2 where more than 150 jobs run
  std::int32_t largest = 16;  // devices of a job
  std::int32_t steps = 10;    // of scaling up for each round
};

// Finds room for one job: as it is asked for, or after others, or itself, were halved or changed to another
// kind, step by step. It takes what gives the most samples a second, summed over all jobs.
class crius_fitter {
 public:
  crius_fitter(job_world& world, const crius_rules& rules) : world_(world), rules_(rules), placer_(world) {}

  static constexpr std::int32_t moves_of_round = 4096;

  // Gives the job devices, and takes or moves those of others; false, and nothing changed, where there is no
  // room. `moves` is what is left of the rounds of moving.
  bool fit(std::int32_t job, std::int32_t& moves) {
    occupancy& places = world_.places;
    const std::size_t mark = places.mark();
    target_ = job;
    std::int32_t left = moves;
    const placed_target plain = place_target(target_wish(job), left);
    if (plain.fits && !plain.relaxed) {
      moves = left;
      return true;
    }
    found_.clear();
    if (plain.fits) found_.push_back({changes_since(mark), plain.gain, left});
    places.undo(mark);
    search(mark, moves);
    const found_plan* best = nullptr;
    for (const found_plan& each : found_)
      if (each.gain > (best ? best->gain : none)) best = &each;
    if (best == nullptr) return false;
    apply(best->after);
    moves = best->moves;
    return true;
  }

  // Samples a second as decisions see them.
  const job_speed& speed(isize shape, const allotment& as) const {
    return rules_.planner ? world_.speeds.best(shape, as) : world_.speeds.data_parallel(shape, as);
  }
  // Says whether a job may be run so.
  bool runs(std::int32_t job, const allotment& as) const {
    const job_state& of = world_.of(job);
    if (!speed(of.shape, as).runs) return false;
    return !rules_.deadlines || world_.ends_in_time(of, as);
  }
  // A job gains so many samples a second by another allotment; `none` where it may not run so.
  double gain(std::int32_t job, const allotment& to, const allotment& from) const {
    const isize shape = world_.of(job).shape;
    const job_speed &then = speed(shape, to), &now = speed(shape, from);
    if (!runs(job, to)) return none;
    return then.samples - (now.runs ? now.samples : none);
  }
  bubble_placer& placer() { return placer_; }

  static constexpr double none = -1e9;

 private:
  struct device_change {
    std::int32_t device;
    occupancy::owner who;
    bool free;
  };
  using change_list = std::vector<device_change>;
  struct step {
    std::int32_t job;
    allotment as;
  };
  struct found_plan {
    change_list after;
    double gain;
    std::int32_t moves;
  };
  struct sketch {
    change_list after;  // than before the search
    allotment wish;     // of the target: kind and devices
    double gain = 0;
    std::int32_t moves = 0;
    std::vector<step> steps;
  };
  struct placed_target {
    bool fits, relaxed;
    double gain;
  };

  allotment target_wish(std::int32_t job) const { return world_.of(job).has; }

  change_list changes_since(std::size_t mark) {
    change_list out;
    for (const occupancy::change& each : world_.places.changes(mark))
      out.push_back({each.device, world_.places.owner_of(each.device), world_.places.is_free(each.device)});
    return out;
  }
  void apply(const change_list& all) {
    for (const device_change& each : all) world_.places.set(each.device, each.who, each.free);
  }

  // Places a job that may have devices, which it gives up before; the gain over what it had.
  placed_target place_anew(std::int32_t job, std::int32_t kind, std::int32_t devices, std::int32_t& moves) {
    const isize shape = world_.of(job).shape;
    double before = 0;
    if (!world_.places.pieces(job).empty()) {
      const job_speed& had = speed(shape, world_.placed(job));
      before = had.runs ? had.samples : none;
    }
    world_.places.release(job);
    const bubble_answer got =
        placer_.place(job, kind, devices, moves, [&](const allotment& as) { return runs(job, as); });
    moves = got.moves_left;
    return {got.fits, got.relaxed, (got.fits ? speed(shape, got.as).samples : none) - before};
  }
  placed_target place_target(const allotment& wish, std::int32_t& moves) {
    return place_anew(target_, wish.kind, wish.devices, moves);
  }

  void search(std::size_t base, std::int32_t moves) {
    const std::int32_t depth = rules_.depth > 0 ? rules_.depth : world_.running.size() <= 150 ? 3 : 2;
    std::vector<sketch> now(1), next;
    now[0].wish = target_wish(target_);
    now[0].moves = moves;
    for (std::int32_t level = 0; level < depth && !now.empty(); ++level) {
      next.clear();
      while (!now.empty()) {
        const sketch from = std::move(now.back());
        now.pop_back();
        for (std::int32_t kind = 0; rules_.scaling && kind < world_.places.kinds(); ++kind)
          try_halving(base, from, kind, next);
        if (rules_.types) try_other_kind(base, from, next);
        world_.places.undo(base);
      }
      std::swap(now, next);
    }
  }

  // The target in the places as they are: a plan where it fits, and a sketch to go on from where it does not,
  // or only spread out.
  void close(std::size_t base, sketch made, bool whole, const step& last, std::int32_t left,
             std::vector<sketch>& next) {
    made.after = changes_since(base);
    placed_target got{false, false, none};
    step done = last;
    if (whole) {
      got = place_target(made.wish, left);
      done.as = last.job == target_ ? world_.placed(target_, made.wish) : world_.placed(last.job);
    }
    made.steps.push_back(done);
    if (got.fits && all_run(made.steps)) found_.push_back({changes_since(base), made.gain + got.gain, left});
    if (!got.fits || got.relaxed) next.push_back(std::move(made));
  }
  bool all_run(const std::vector<step>& steps) const {
    // Only the allotment that a job has in the end counts.
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool last = std::none_of(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, steps.end(),
                                     [&](const step& later) { return later.job == steps[i].job; });
      if (last && !runs(steps[i].job, steps[i].as)) return false;
    }
    return true;
  }

  // Finds the jobs that run on a kind, by their first device.
  void find_holders(std::int32_t kind) {
    const occupancy& places = world_.places;
    holders_.clear();
    seen_.resize(world_.jobs.size());
    ++round_;
    const std::int32_t last = places.last_node(kind) - 1,
                       end = places.first_device(last) + places.per_node(kind);
    for (std::int32_t d = places.first_device(places.first_node(kind)); d < end; ++d) {
      if (places.is_free(d)) continue;
      const occupancy::owner job = places.owner_of(d);
      if (!job_world::is_job(job)) continue;
      if (seen_[as_size(job)] == round_) continue;
      seen_[as_size(job)] = round_;
      holders_.push_back(job);
    }
  }

  void try_halving(std::size_t base, const sketch& from, std::int32_t kind, std::vector<sketch>& next) {
    world_.places.undo(base);
    apply(from.after);
    find_holders(kind);
    if (from.wish.kind == kind) holders_.push_back(target_);
    const auto layout = [&](std::int32_t job) {
      return job == target_ ? world_.placed(job, from.wish) : world_.placed(job);
    };
    std::int32_t most = -1;
    for (const std::int32_t job : holders_) most = std::max(most, layout(job).devices);
    double best = none - 1;
    std::int32_t chosen = -1;
    allotment to, had;
    for (const std::int32_t job : holders_) {
      const allotment as = layout(job);
      if (as.devices < most / 2 || as.devices == 1) continue;
      const allotment half{as.kind, as.devices / 2, as.nodes() > 2 ? as.per_node : as.devices / 2};
      const double gained = gain(job, half, as);
      if (gained > best) best = gained, chosen = job, to = half, had = as;
    }
    if (chosen < 0) return;
    sketch made{{}, from.wish, from.gain + best, from.moves, from.steps};
    if (chosen == target_) made.wish.devices = to.devices;
    else halve(chosen, had, to);
    close(base, std::move(made), kind == from.wish.kind, {chosen, to}, from.moves, next);
  }
  // On one node the last devices go; of several nodes the half that are fullest goes.
  void halve(std::int32_t job, const allotment& had, const allotment& to) {
    occupancy& places = world_.places;
    if (had.nodes() == 1) {
      const std::int32_t node = places.pieces(job)[0].node, first = places.first_device(node);
      std::int32_t kept = 0;
      for (std::int32_t d = first; d < first + places.per_node(to.kind); ++d)
        if (places.owner_of(d) == job && ++kept > to.devices) places.set(d, occupancy::nobody, true);
      return;
    }
    std::vector<std::int32_t> nodes;
    for (const occupancy::piece& each : places.pieces(job)) nodes.push_back(each.node);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::int32_t a, std::int32_t b) { return places.free_in(a) < places.free_in(b); });
    for (std::size_t n = 0; n < nodes.size() / 2; ++n) places.release(job, nodes[n]);
  }

  void try_other_kind(std::size_t base, const sketch& from, std::vector<sketch>& next) {
    occupancy& places = world_.places;
    places.undo(base);
    apply(from.after);
    find_holders(from.wish.kind);
    outlooks_.assign(as_size(places.kinds()) * outlook_sizes, {});
    // The target stands for itself as it was asked for, whatever the sketch made of it.
    const allotment asked = world_.of(target_).has;
    if (asked.kind == from.wish.kind) holders_.push_back(target_);
    double best = none, best_target = none;
    std::int32_t chosen = -1, chosen_kind = -1, chosen_devices = 0, left = from.moves;
    for (const std::int32_t job : holders_) {
      const isize shape = world_.of(job).shape;
      const allotment as = job == target_ ? world_.placed(job, asked) : world_.placed(job);
      for (std::int32_t kind = 0; kind < places.kinds(); ++kind) {
        if (kind == from.wish.kind || places.free_of(kind) < as.devices) continue;
        const double gained = gain(job, world_.speeds.packed(kind, as.devices), as);
        if (gained <= none) continue;
        const job_speed& had = speed(shape, as);
        const double before = job == target_ ? 0 : had.runs ? had.samples : none;
        const double most = gained + world_.speeds.bound(shape, kind, as.devices) - before;
        if (job == target_ ? gained <= best_target : most <= best) continue;
        const bubble_answer got =
            placer_.answer(seen(kind, as.devices, from.moves), kind, as.devices, from.moves,
                           [&](const allotment& to) { return runs(job, to); });
        if (!got.fits) continue;
        const double with = gained + speed(shape, got.as).samples - before;
        if (job == target_ ? gained <= best_target : with <= best) continue;
        (job == target_ ? best_target : best) = job == target_ ? gained : with;
        chosen = job, chosen_kind = kind, chosen_devices = as.devices, left = got.moves_left;
      }
    }
    if (chosen < 0) return;
    sketch made{{}, from.wish, from.gain, from.moves, from.steps};
    if (chosen == target_) {
      made.wish = world_.speeds.packed(chosen_kind, chosen_devices);
      made.gain += best_target;
    } else {
      std::int32_t moves = from.moves;
      if (!place_anew(chosen, chosen_kind, chosen_devices, moves).fits) return;
      made.gain += best;
      made.moves = left;
    }
    const std::int32_t after = made.moves;
    close(base, std::move(made), true, {chosen, {}}, after, next);
  }
  const bubble_placer::outlook& seen(std::int32_t kind, std::int32_t devices, std::int32_t moves) {
    bubble_placer::outlook& at = outlooks_[as_size(kind) * outlook_sizes +
                                           static_cast<std::size_t>(std::bit_width(as_size(devices)) - 1)];
    if (!at.known) at = placer_.look(kind, devices, moves);
    return at;
  }

  static constexpr std::size_t outlook_sizes = std::bit_width(as_size(most_devices_of_job));
  job_world& world_;
  crius_rules rules_;
  bubble_placer placer_;
  std::int32_t target_ = -1;
  std::vector<found_plan> found_;
  std::vector<std::int32_t> holders_;
  std::vector<bubble_placer::outlook> outlooks_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t round_ = 0;
};

}  // namespace motet
