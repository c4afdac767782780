// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/engine.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace motet::cuda {

// The engines of a rank on a GPU, one for each lane in which it computes. One thread begins the work of all
// of them, and enters a lane before; what it begins there goes to that lane's stream. Lanes wait for each
// other by events, so the host waits for none.
class lane_engines {
 public:
  // make(lane) is called when a lane is first asked for, after those before it.
  explicit lane_engines(std::function<std::unique_ptr<engine>(std::int32_t)> make) : make_(std::move(make)) {}
  lane_engines(const lane_engines&) = delete;
  lane_engines& operator=(const lane_engines&) = delete;
  ~lane_engines() { clear(); }

  // Where some lanes yield, the GPU begins blocks of the others first while both have some. This is called
  // before any lane is asked for.
  void yield(std::vector<bool> lanes) { yields_ = std::move(lanes); }
  // The priority of a lane's stream. Streams that do not yield stand one step above the least, so that
  // messages, which have the greatest, stay before what is computed. GPUs without priorities have one for
  // all.
  int priority(std::int32_t lane) const {
    if (std::find(yields_.begin(), yields_.end(), true) == yields_.end()) return 0;
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    const bool yields = as_size(lane) < yields_.size() && yields_[as_size(lane)];
    return yields ? least : std::max(greatest, least - 1);
  }
  // The engine of the lane which was entered, the first by default.
  engine& on() { return of(now_); }
  engine& of(std::int32_t lane) {
    while (engines_.size() <= as_size(lane)) {
      engines_.push_back(make_(static_cast<std::int32_t>(engines_.size())));
      points_.emplace_back();
      if (engines_.size() > 1) engines_.back()->join(*engines_.front());
    }
    return *engines_[as_size(lane)];
  }
  // Returns the lane that was left.
  std::int32_t enter(std::int32_t lane) { return std::exchange(now_, lane); }
  // visit(engine), of those that are there.
  template <class Visit>
  void each(Visit&& visit) {
    for (const auto& each : engines_) visit(*each);
  }

  // Lanes go on in other streams, the caller's, once all that they have begun is done: to(lane) gives each
  // its stream and its multiprocessors.
  template <class To>
  void move(To&& to) {
    meet();
    for (std::size_t l = 0; l < engines_.size(); ++l) {
      engines_[l]->finish();
      const auto [stream, processors] = to(static_cast<std::int32_t>(l));
      engines_[l]->move_to(stream, processors);
    }
  }
  std::int32_t count() const { return static_cast<std::int32_t>(engines_.size()); }

  // All that any lane begins from now on comes behind all that any of them has begun.
  void meet() {
    if (engines_.size() < 2) return;
    for (std::size_t l = 1; l < engines_.size(); ++l) {
      points_[l].mark(engines_[l]->stream());
      points_[l].hold(engines_.front()->stream());
    }
    points_.front().mark(engines_.front()->stream());
    for (std::size_t l = 1; l < engines_.size(); ++l) points_.front().hold(engines_[l]->stream());
  }
  // What this lane has begun ends a piece of work of the caller's number, which another lane waits for.
  void tell(std::int32_t number) {
    while (told_.size() <= as_size(number)) told_.emplace_back();
    told_[as_size(number)].mark(on().stream());
  }
  // What this lane begins from now on comes behind that piece of work.
  void follow(std::int32_t number) { told_[as_size(number)].hold(on().stream()); }

  // The later ones have parts of the first one.
  void clear() {
    while (!engines_.empty()) engines_.pop_back();
  }

 private:
  std::function<std::unique_ptr<engine>(std::int32_t)> make_;
  std::vector<bool> yields_;
  std::vector<std::unique_ptr<engine>> engines_;
  std::vector<event> points_;  // of each lane, where it met the others
  std::vector<event> told_;    // of each piece of work that somebody waits for
  std::int32_t now_ = 0;
};

// An end of a transport offers this to whoever begins the work of several lanes of a rank. The end has
// lanes().
template <class End>
class laned_end {
 public:
  static constexpr bool lanes_are_streams = true;

  // Before anything is computed: of each lane, whether it yields to the others.
  void yield_lanes(std::vector<bool> lanes) { engines().yield(std::move(lanes)); }
  std::int32_t enter(std::int32_t lane) { return engines().enter(lane); }
  void meet_lanes() { engines().meet(); }
  void tell(std::int32_t number) { engines().tell(number); }
  void follow(std::int32_t number) { engines().follow(number); }

 private:
  lane_engines& engines() { return static_cast<End&>(*this).lanes(); }
};

}  // namespace motet::cuda
