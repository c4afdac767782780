// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/policies/bubbles.hpp>
#include <motet/jobs/policies/crius_fit.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace motet {

// Crius: jobs start in the order of their submission, and make room by halving others or changing their kind
// of device where all together then compute more. A job that finds no room waits; later ones may start all
// the same, but are pushed out when it finds room among theirs. When devices are free, whoever gains most is
// given more, or better ones.
class crius_policy {
 public:
  explicit crius_policy(const crius_rules& by = {}) : rules_(by) {}

  void on_events(job_world& world, const job_events& events) {
    if (!fitter_) fitter_.emplace(world, rules_);
    flags_.resize(world.jobs.size());
    world_ = &world;
    if (events.frees()) {
      remember();
      for (const std::int32_t job : events.ended) leave_line(job);
      for (const std::int32_t job : events.lost) line_up_again(job);
      gather();
      restart();
      if (events.arrived.empty()) grow();
      keep_nodes();
    }
    if (!events.arrived.empty()) {
      remember();
      std::int32_t moves = crius_fitter::moves_of_round;
      for (const std::int32_t job : events.arrived) arrive(job, moves);
      grow();
      keep_nodes();
    }
  }
  template <class With>
  void remembers(With& with) {
    with("line", line_);
    with("flags", flags_);
  }

 private:
  // Jobs in line are those that wait, and those that started while an older one waited.
  struct marks {
    bool blocks = false;  // younger ones started meanwhile
    bool passed = false;  // started before an older one
    template <class With>
    void remembers(With& with) {
      with("blocks", blocks);
      with("passed", passed);
    }
  };
  marks& flag(std::int32_t job) { return flags_[as_size(job)]; }
  std::ptrdiff_t place_in_line(std::int32_t job) const {
    const auto at = std::find(line_.begin(), line_.end(), job);
    return at == line_.end() ? -1 : at - line_.begin();
  }

  void arrive(std::int32_t job, std::int32_t& moves) {
    line_.push_back(job);
    if (!fitter_->fit(job, moves)) {
      world_->wait(job);
      return;
    }
    if (line_.size() == 1) {
      line_.pop_back();
    } else {
      flag(job).passed = true;
      for (std::size_t i = 0; i + 1 < line_.size(); ++i)
        if (!flag(line_[i]).passed) flag(line_[i]).blocks = true;
    }
    world_->start(job);
    world_->read_places();
  }

  // Returns true when a job behind this place in line passed others; where none did, those before it block
  // nobody.
  bool unblock(std::ptrdiff_t at) {
    for (std::size_t i = as_size(at) + 1; i < line_.size(); ++i)
      if (flag(line_[i]).passed) return true;
    for (std::ptrdiff_t i = at - 1; i >= 0 && !flag(line_[as_size(i)]).passed; --i)
      flag(line_[as_size(i)]).blocks = false;
    return false;
  }
  void leave_line(std::int32_t job) {
    const std::ptrdiff_t at = place_in_line(job);
    if (at < 0) return;
    if (flag(job).passed) unblock(at);
    line_.erase(line_.begin() + at);
  }
  // A job that lost its devices waits where it would stand if it had not started.
  void line_up_again(std::int32_t job) {
    std::ptrdiff_t at = place_in_line(job);
    if (at < 0) {
      at = std::lower_bound(line_.begin(), line_.end(), job) - line_.begin();
      line_.insert(line_.begin() + at, job);
    }
    flag(job).passed = false;
    flag(job).blocks = unblock(at);
  }
  void push_out(std::int32_t job) {
    flag(job).passed = false;
    if (const std::ptrdiff_t at = place_in_line(job); at >= 0) flag(job).blocks = unblock(at);
    world_->suspend(job);
  }

  // Tries those who wait, in line, until none of them finds room.
  void restart() {
    std::size_t first = 0;
    for (std::int32_t trial = 0; trial < most_trials && !world_->waiting.empty(); ++trial) {
      hopeless_.assign(world_->speeds.shapes().size(), 0);
      bool found = false;
      for (std::size_t i = first; i < line_.size() && !found; ++i) {
        const std::int32_t job = line_[i];
        std::uint8_t& hopeless = hopeless_[as_size(world_->of(job).shape)];
        if (hopeless != 0 || flag(job).passed) continue;
        found = restart_one(i);
        if (found) first = i;
        else hopeless = rules_.deadlines ? 0 : 1;  // its like may have more time
      }
      if (!found) return;
    }
  }
  bool restart_one(std::size_t at) {
    const std::int32_t job = line_[at];
    occupancy& places = world_->places;
    const std::size_t mark = places.mark();
    offered_.clear();
    if (flag(job).blocks) offer_younger(at);
    passed_.clear();
    for (const std::int32_t each : line_)
      if (flag(each).passed) passed_.push_back({each, places.devices_of(each), first_device_of(each)});
    std::int32_t moves = crius_fitter::moves_of_round;
    if (!fitter_->fit(job, moves)) {
      places.undo(mark);
      return false;
    }
    for (const std::int32_t each : offered_) take_back(each);
    // Jobs are taken in the order of the devices that they had.
    std::sort(passed_.begin(), passed_.end(), [](const held& a, const held& b) { return a.first < b.first; });
    std::vector<std::int32_t> out;
    for (const held& each : passed_)
      if (places.devices_of(each.job) != each.devices) out.push_back(each.job);
    for (const std::int32_t each : out) places.release(each);
    line_.erase(line_.begin() + static_cast<std::ptrdiff_t>(at));
    flag(job).blocks = false;
    world_->start(job);
    for (const std::int32_t each : out) push_out(each);
    // Those who passed, and have nobody before them any more, passed nobody.
    while (!line_.empty() && flag(line_[0]).passed) {
      flag(line_[0]).passed = false;
      line_.erase(line_.begin());
    }
    world_->read_places();
    return true;
  }
  std::int32_t first_device_of(std::int32_t job) const {
    const occupancy& places = world_->places;
    if (places.pieces(job).empty()) return -1;
    std::int32_t device = places.first_device(places.pieces(job)[0].node);
    while (places.owner_of(device) != job) ++device;
    return device;
  }
  // The devices of younger jobs that passed this one are free for it.
  void offer_younger(std::size_t at) {
    for (std::size_t i = at + 1; i < line_.size(); ++i) {
      const std::int32_t job = line_[i];
      if (!flag(job).blocks && !flag(job).passed) return;
      if (!flag(job).passed) continue;
      for_devices(job, [&](std::int32_t device) { world_->places.set(device, job, true); });
      offered_.push_back(job);
    }
  }
  void take_back(std::int32_t job) {
    for_devices(job, [&](std::int32_t device) { world_->places.set(device, job, false); });
  }
  template <class What>
  void for_devices(std::int32_t job, What what) {
    const occupancy& places = world_->places;
    for (const occupancy::piece& each : places.pieces(job)) {
      const std::int32_t first = places.first_device(each.node),
                         size = places.per_node(places.kind_of(each.node));
      for (std::int32_t d = first; d < first + size; ++d)
        if (places.owner_of(d) == job) what(d);
    }
  }

  auto runner(std::int32_t job) const {
    return [this, job](const allotment& as) { return fitter_->runs(job, as); };
  }

  // Gives more or better devices, one job after the other, to whom it helps most.
  void grow() {
    for (std::int32_t step = 0; step < rules_.steps; ++step) {
      growth best;
      outlooks_.clear();
      outlooks_.resize(as_size(world_->places.kinds()) * outlook_sizes);
      for (const std::int32_t job : world_->running) {
        if (rules_.types) other_kinds(job, best);
        if (rules_.scaling) twice(job, best);
      }
      if (best.job < 0) return;
      const std::int32_t job = best.job;
      std::int32_t moves = moves_;
      world_->places.release(job);
      const bubble_answer got = fitter_->placer().place(job, best.kind, best.devices, moves, runner(job));
      moves_ = got.moves_left;
      world_->read_places();
    }
  }
  struct growth {
    std::int32_t job = -1, kind = 0, devices = 0;
    double gain = 0;
  };
  double now_of(std::int32_t job) const {
    const job_speed& now = fitter_->speed(world_->of(job).shape, world_->of(job).has);
    return now.runs ? now.samples : crius_fitter::none;
  }
  void consider(std::int32_t job, const bubble_answer& got, growth& best) const {
    const job_state& state = world_->of(job);
    const double gain = fitter_->gain(job, got.as, state.has);
    if (gain > best.gain) best = {job, got.as.kind, got.as.devices, gain};
  }
  void other_kinds(std::int32_t job, growth& best) {
    const job_state& state = world_->of(job);
    const std::int32_t devices = state.has.devices;
    for (std::int32_t kind = 0; kind < world_->places.kinds(); ++kind) {
      if (kind == state.has.kind || world_->places.free_of(kind) < devices) continue;
      if (world_->speeds.bound(state.shape, kind, devices) - now_of(job) <= best.gain) continue;
      bubble_placer::outlook& seen =
          outlooks_[as_size(kind) * outlook_sizes +
                    static_cast<std::size_t>(std::bit_width(as_size(devices)) - 1)];
      if (!seen.known) seen = fitter_->placer().look(kind, devices, moves_);
      const bubble_answer got = fitter_->placer().answer(seen, kind, devices, moves_, runner(job));
      if (got.fits) consider(job, got, best);
    }
  }
  void twice(std::int32_t job, growth& best) {
    const job_state& state = world_->of(job);
    const std::int32_t devices = 2 * state.has.devices, kind = state.has.kind;
    if (devices > rules_.largest || world_->places.free_of(kind) + state.has.devices < devices) return;
    if (world_->speeds.bound(state.shape, kind, devices) - now_of(job) <= best.gain) return;
    const std::size_t mark = world_->places.mark();
    world_->places.release(job);
    const bubble_answer got = fitter_->placer().place(job, kind, devices, moves_, runner(job));
    world_->places.undo(mark);
    if (got.fits) consider(job, got, best);
  }

  // Moves jobs that are spread over parts of nodes onto fewer, where gaps allow it without anybody gaining or
  // losing devices.
  void gather() {
    std::vector<std::int32_t> spread;
    for (const std::int32_t job : world_->running) {
      const allotment& has = world_->of(job).has;
      if (has.nodes() > 1 && has.per_node < world_->places.per_node(has.kind)) spread.push_back(job);
    }
    occupancy& places = world_->places;
    std::int32_t moves = crius_fitter::moves_of_round;
    while (!spread.empty()) {
      double most = 0;
      std::int32_t chosen = -1, left = moves;
      for (const std::int32_t job : spread) {
        const std::size_t mark = places.mark();
        std::int32_t own = moves;
        const double gained = gather_one(job, own);
        places.undo(mark);
        if (gained > most) most = gained, chosen = job, left = own;
      }
      if (chosen < 0) return;
      gather_one(chosen, moves);
      moves = left;
      world_->read_places();
      spread.erase(std::find(spread.begin(), spread.end(), chosen));
    }
  }
  double gather_one(std::int32_t job, std::int32_t& moves) {
    occupancy& places = world_->places;
    const job_state& state = world_->of(job);
    const std::int32_t kind = state.has.kind, holder = occupancy::holder_of(kind);
    if (state.has == world_->speeds.packed(kind, state.has.devices)) return 0;
    const std::int32_t last = places.last_node(kind) - 1,
                       first = places.first_device(places.first_node(kind)),
                       end = places.first_device(last) + places.per_node(kind);
    // Gaps of others are moved like jobs, so that the job finds only what it had.
    for (std::int32_t d = first; d < end; ++d)
      if (places.is_free(d)) places.set(d, holder, false);
    places.release(job);
    const bubble_answer got = fitter_->placer().place(job, kind, state.has.devices, moves, runner(job));
    moves = got.moves_left;
    const bool whole = places.free_of(kind) == 0;
    for (std::int32_t d = first; d < end; ++d)
      if (places.owner_of(d) == holder) places.set(d, occupancy::nobody, true);
    return got.fits && whole ? fitter_->gain(job, got.as, state.has) : 0;
  }

  void remember() {
    moves_ = crius_fitter::moves_of_round;
    before_.clear();
    for (const std::int32_t job : world_->running) before_.emplace_back(job, world_->places.pieces(job));
  }
  // A job that has as many whole nodes of a kind as before gets back those that it had: others take the new
  // ones, and nothing is suspended for nothing.
  void keep_nodes() {
    occupancy& places = world_->places;
    for (const auto& [job, had] : before_) {
      const std::vector<occupancy::piece> has = places.pieces(job);
      if (world_->of(job).status != job_status::running || had.size() != has.size()) continue;
      if (places.kind_of(had[0].node) != places.kind_of(has[0].node)) continue;
      const std::int32_t size = places.per_node(places.kind_of(has[0].node));
      if (had[0].devices != size || has[0].devices != size) continue;
      const auto among = [](const std::vector<occupancy::piece>& all, std::int32_t node) {
        return std::any_of(all.begin(), all.end(),
                           [&](const occupancy::piece& each) { return each.node == node; });
      };
      std::size_t next = 0;
      for (const occupancy::piece& now : has) {
        if (among(had, now.node)) continue;
        while (among(has, had[next].node)) ++next;
        swap_nodes(now.node, had[next++].node, size);
      }
    }
    world_->read_places();
  }
  void swap_nodes(std::int32_t a, std::int32_t b, std::int32_t size) {
    occupancy& places = world_->places;
    for (std::int32_t i = 0; i < size; ++i) {
      const std::int32_t x = places.first_device(a) + i, y = places.first_device(b) + i;
      const occupancy::owner of_x = places.owner_of(x), of_y = places.owner_of(y);
      const bool free_x = places.is_free(x), free_y = places.is_free(y);
      places.set(x, of_y, free_y);
      places.set(y, of_x, free_x);
    }
  }

  struct held {
    std::int32_t job, devices, first;
  };
  static constexpr std::int32_t most_trials = 100;
  static constexpr std::size_t outlook_sizes = std::bit_width(as_size(most_devices_of_job));
  crius_rules rules_;
  std::optional<crius_fitter> fitter_;
  job_world* world_ = nullptr;
  std::vector<marks> flags_;
  std::vector<std::int32_t> line_, offered_;
  std::vector<held> passed_;
  std::vector<std::uint8_t> hopeless_;
  std::vector<bubble_placer::outlook> outlooks_;
  std::vector<std::pair<std::int32_t, std::vector<occupancy::piece>>> before_;
  std::int32_t moves_ = crius_fitter::moves_of_round;
};

}  // namespace motet
