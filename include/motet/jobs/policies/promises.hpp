// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace motet {

// A job that waited `patience` seconds in all is promised the least that it runs on, and no younger one
// before an older one that waits. What is promised is set aside for it until it ends: it runs from that event
// on and is not suspended again. Only what was promised before stands in the way of a promise: the promises
// on a kind have a share of its devices together, or one job has them that needs more. So where nothing is
// promised on any kind, the oldest job that waits is promised devices. While it waits no younger one is, and
// who was before runs to its end: of n jobs, one at least is promised devices in the time of the longest run,
// and the n-th oldest starts at the latest when n times that has passed behind its patience. While nodes
// fail, promises are kept in the order in which they were made, as far as the devices that are left suffice.
class device_promises {
 public:
  // At most so large a share of a kind's devices is set aside for more than one job.
  device_promises(double patience, double share) : patience_(patience), share_(share) {}

  // Devices are set aside for jobs, in the order in which they were promised.
  struct pledge {
    std::int32_t job = 0;
    allotment least;
    template <class With>
    void remembers(With& with) {
      with("job", job);
      with("least", least);
    }
  };
  const std::vector<pledge>& pledges() const { return pledges_; }

  // Returns true when a job has waited long enough of which this was not known.
  bool patience_ends(const job_world& world) {
    bool out = false;
    late_.resize(world.jobs.size());
    for (const std::int32_t job : world.waiting)
      if (late_[as_size(job)] == 0 && world.of(job).waited >= patience_) late_[as_size(job)] = 1, out = true;
    return out;
  }
  // The next patience ends then, if nobody starts before.
  double wakes(const job_world& world) const {
    double out = std::numeric_limits<double>::infinity();
    for (const std::int32_t job : world.waiting)
      if (static_cast<std::size_t>(job) >= late_.size() || late_[as_size(job)] == 0)
        out = std::min(out, world.now + std::max(0.0, patience_ - world.of(job).waited));
    return out;
  }

  // Keeps what was promised, and promises more: `wishes` are what each of `who` runs on, `limits` the devices
  // of each kind. Returns for each which of its wishes is the least that is set aside for it; -1: none is.
  const std::vector<std::int32_t>& promise(const job_world& world, const std::vector<std::int32_t>& who,
                                           const std::vector<std::vector<allotment>>& wishes,
                                           const std::vector<double>& limits) {
    wishes_ = &wishes;
    limits_ = &limits;
    least_.assign(who.size(), -1);
    place_.resize(world.jobs.size());
    for (std::size_t i = 0; i < who.size(); ++i) place_[as_size(who[i])] = i;
    std::erase_if(pledges_,
                  [&](const pledge& each) { return world.of(each.job).status == job_status::finished; });
    room_ = limits;
    bool kept = true;
    for (pledge& each : pledges_)
      if (!set_aside(each) && !find_least(each, room_)) kept = false;
    if (!kept) return least_;
    for (const std::int32_t job : old_ones(world, who)) {
      pledge made{job, {}};
      if (find_least(made, promisable())) pledges_.push_back(made);
      else if (world.of(job).status == job_status::waiting) break;  // the younger ones wait for it
    }
    return least_;
  }

  template <class With>
  void remembers(With& with) {
    with("pledges", pledges_);
    with("late", late_);
  }

 private:
  // These waited long enough and were promised nothing, the oldest first.
  std::vector<std::int32_t> old_ones(const job_world& world, const std::vector<std::int32_t>& who) const {
    std::vector<std::int32_t> out;
    for (const std::int32_t job : who)
      if (world.of(job).waited >= patience_ &&
          std::none_of(pledges_.begin(), pledges_.end(), [&](const pledge& each) { return each.job == job; }))
        out.push_back(job);
    std::sort(out.begin(), out.end());
    return out;
  }
  const std::vector<allotment>& wishes_of(const pledge& of) const {
    return (*wishes_)[place_[as_size(of.job)]];
  }
  bool set_aside(const pledge& of) {
    double& room = room_[as_size(of.least.kind)];
    if (of.least.devices > room) return false;
    room -= of.least.devices;
    const std::vector<allotment>& all = wishes_of(of);
    least_[place_[as_size(of.job)]] =
        static_cast<std::int32_t>(std::find(all.begin(), all.end(), of.least) - all.begin());
    return true;
  }
  // So many devices of each kind may be promised to one job more.
  std::vector<double> promisable() const {
    std::vector<double> out = room_;
    for (std::size_t kind = 0; kind < out.size(); ++kind)
      if (const double all = (*limits_)[kind]; room_[kind] < all)
        out[kind] = share_ * all - (all - room_[kind]);
    return out;
  }
  bool find_least(pledge& of, const std::vector<double>& room) {
    const allotment* best = nullptr;
    for (const allotment& wish : wishes_of(of))
      if (wish.devices <= room[as_size(wish.kind)] && (best == nullptr || wish.devices < best->devices))
        best = &wish;
    if (best == nullptr) return false;
    of.least = *best;
    return set_aside(of);
  }

  double patience_, share_;
  std::vector<pledge> pledges_;
  std::vector<std::uint8_t> late_;  // who waited long enough, as far as it was noticed
  // These belong to the call that runs.
  const std::vector<std::vector<allotment>>* wishes_ = nullptr;
  const std::vector<double>* limits_ = nullptr;
  std::vector<double> room_;         // of each kind, what is not set aside
  std::vector<std::size_t> place_;   // of a job, in what was given
  std::vector<std::int32_t> least_;  // of each, its wish that is set aside
};

}  // namespace motet
