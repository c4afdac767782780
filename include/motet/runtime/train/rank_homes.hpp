// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>
#include <motet/backend/groups/stream_lanes.hpp>
#include <motet/runtime/ranks/lane_shares.hpp>
#include <motet/runtime/stage/rank_state.hpp>
#include <motet/runtime/state/rank_memory.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace motet {

struct rank_options {
  int threads = 1;  // where threads of the host compute
  // Where operations do not reach the host's memory, there is room for the inputs of a second step.
  bool ahead = false;
  bool fp8 = false;  // linear layers in fp8 where they would be in bf16, on GPUs that have it
  // Each lane that computes has this share of the threads while others do as well; none: even ones.
  std::vector<double> shares{};
  // Where lanes are streams: whether each lane begins only what the others leave; none: all are alike.
  std::vector<bool> yields{};
  room_options rooms{};
  // Where ranks of processors put what backward needs, by a plan that offloads: a folder, or the process's
  // own memory.
  std::string offload_folder{};
};

// These are the bytes of an instruction's temporaries: work, and scratch of each thread.
struct temporaries {
  isize work = 0, scratch = 0;
  template <class Needs>
  void cover(const Needs& needs) {
    work = std::max(work, needs.work);
    scratch = std::max(scratch, needs.scratch);
  }
};

// The lanes of the ranks that live here: each has threads, a context and temporaries of its own. In the first
// one a rank meets others for losses and updates.
template <class Home>
class rank_homes {
 public:
  // Every lane of every rank has temporaries.
  using room = std::vector<std::vector<temporaries>>;

  template <class End>
  rank_homes(const score_sheet& sheet, std::span<const std::int32_t> ranks, End&& end,
             const rank_options& how)
      : sheet_(sheet), threads_(how.threads), all_(as_size(sheet.of.ranks())) {
    require_lanes<std::remove_reference_t<decltype(end(0))>>(sheet.of);
    const lane_shares shares(sheet.of, how.shares);
    for (const std::int32_t r : ranks)
      for (std::int32_t lane = 0; lane < shares.lanes(r); ++lane) {
        auto& own = all_[as_size(r)].emplace_back(std::make_unique<Home>());
        own->rank = r;
        own->lane = lane;
        own->threads = shares.threads(r, lane, how.threads);
        own->fp8 = how.fp8;
        own->end = &end(r);
        own->offload_folder = how.offload_folder;
        own->sheet = &sheet;
      }
    if constexpr (requires { end(0).yield_lanes(std::vector<bool>{}); })
      for (const std::int32_t r : ranks)
        if (!how.yields.empty() && shares.computing(r) > 1) end(r).yield_lanes(how.yields);
    // Where lanes are streams of a GPU, its multiprocessors are divided as threads are elsewhere.
    if constexpr (requires { end(0).share_lanes(std::vector<double>{}); })
      for (const std::int32_t r : ranks)
        if (!how.shares.empty() && shares.computing(r) > 1) end(r).share_lanes(shares.shares_on(r));
  }

  std::size_t ranks() const { return all_.size(); }
  bool live(std::int32_t rank) const { return !all_[as_size(rank)].empty(); }
  Home& of(std::int32_t rank, std::int32_t lane = 0) const { return *all_[as_size(rank)][as_size(lane)]; }
  // visit(home), of all lanes that live here, or of a rank's.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t r = 0; r < all_.size(); ++r) each(static_cast<std::int32_t>(r), visit);
  }
  template <class Visit>
  void each(std::int32_t rank, Visit&& visit) const {
    for (const auto& lane : all_[as_size(rank)]) visit(*lane);
  }

  // Others read and write between steps in the first lane of each rank.
  void meet_lanes() const {
    each([](const Home& own) {
      if (own.lane == 0 && own.end != nullptr) motet::meet_lanes(*own.end);
    });
  }
  // What was counted in all of them.
  step_costs costs() const {
    step_costs counted;
    each([&](const Home& own) { counted.add(own.costs); });
    return counted;
  }

  room no_room() const {
    room made;
    for (const auto& each : all_) made.emplace_back(each.size());
    return made;
  }
  // Takes memory for temporaries, and makes threads.
  void prepare(const room& needs) {
    for (std::size_t r = 0; r < all_.size(); ++r)
      for (std::size_t lane = 0; lane < all_[r].size(); ++lane)
        all_[r][lane]->prepare(needs[r][lane].work, needs[r][lane].scratch);
  }
  // Says of each rank that lives here what temporaries it has.
  void tell(const room& needs, std::vector<rank_memory>& of) const {
    for (std::size_t r = 0; r < all_.size(); ++r)
      for (std::size_t lane = 0; lane < all_[r].size(); ++lane) {
        const auto [work, scratch] = needs[r][lane];
        const isize threads = all_[r][lane]->threads;
        if (lane > 0) of[r].beside += work + scratch * threads;
        else of[r].work = work, of[r].scratch = scratch, of[r].threads = threads;
      }
  }
  // Lanes are to have these shares; MT-R63 where there is not one above zero for each, MT-R65 where they
  // stay, MT-B15 where multiprocessors are too few for them.
  void share(const std::vector<double>& to) {
    using end_type = std::remove_pointer_t<decltype(Home::end)>;
    constexpr bool moves = requires(end_type& end) { end.move_lanes(); };
    if constexpr (stream_lanes<end_type> && !moves)
      fail(lane_shares_stay, sentence({to.size(), " shares were given"}));
    std::int32_t lanes = 1;
    for (const voice& each : sheet_.of.voices) lanes = std::max(lanes, each.lane + 1);
    bool fit = static_cast<std::int32_t>(to.size()) == lanes;
    for (const double each : to) fit = fit && each > 0 && std::isfinite(each);
    if (!fit) fail(bad_lane_shares, sentence({to.size(), " shares for ", lanes, " lanes, each above 0"}));
    const lane_shares shares(sheet_.of, to);
    for (std::size_t r = 0; r < all_.size(); ++r)
      for (std::size_t lane = 0; lane < all_[r].size(); ++lane)
        all_[r][lane]->threads =
            shares.threads(static_cast<std::int32_t>(r), static_cast<std::int32_t>(lane), threads_);
    // All ranks' shares are said before any rank divides its multiprocessors.
    if constexpr (moves) {
      const auto each_end = [&](auto&& visit) {
        for (std::size_t r = 0; r < all_.size(); ++r)
          if (!all_[r].empty() && shares.computing(static_cast<std::int32_t>(r)) > 1)
            visit(*all_[r][0]->end, static_cast<std::int32_t>(r));
      };
      each_end([&](end_type& end, std::int32_t r) { end.share_lanes(shares.shares_on(r)); });
      each_end([](end_type& end, std::int32_t) { end.move_lanes(); });
    }
  }

 private:
  const score_sheet& sheet_;
  int threads_;                                          // of a rank
  std::vector<std::vector<std::unique_ptr<Home>>> all_;  // of each rank that lives here, each lane
};

}  // namespace motet
