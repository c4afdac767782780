// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/ranks/blocked.hpp>
#include <motet/runtime/ranks/roll_call.hpp>
#include <motet/runtime/ranks/run_identity.hpp>

#include <cstdio>
#include <ctime>
#include <optional>

namespace motet {

// Watches the waits of the one rank that lives in this process. When nothing came for long, it asks around,
// and gives up with one sentence: where this rank waits, for whom and since when, who does not answer, and
// the last checkpoint. The rank calls it on its own thread.
template <class World, class Player>
class rank_watch {
 public:
  // Seconds for a step (0: any time); and in which all ranks end when one is dead or stopped.
  rank_watch(const score_sheet& sheet, World& world, const Player& player, double deadline, double bound)
      : sheet_(&sheet),
        world_(world),
        player_(&player),
        deadline_(deadline),
        bound_(bound),
        roll_(world.rank(), bound) {}

  // Called between steps: the rank plays another score.
  void follow(const score_sheet& sheet, const Player& player) {
    sheet_ = &sheet;
    player_ = &player;
  }
  roll_call& roll() { return roll_; }
  double bound() const { return bound_; }
  void set_bound(double seconds) {
    bound_ = seconds;
    roll_.set_bound(seconds);
  }
  void note_checkpoint(std::string which) { checkpoint_ = std::move(which); }
  void begin_step() {
    begin_ = clock::now();
    ++step_;
  }
  void end_step() { begin_ = {}; }

  // The rank waits for so many seconds; 0: no more.
  void look(double seconds) {
    if (seconds == 0) return roll_.goes_on();
    const bool late = deadline_ > 0 && is_in_step() &&
                      std::chrono::duration<double>(clock::now() - begin_).count() > deadline_;
    if (verdict_ || (!late && seconds < bound_ / 10)) return;
    const ranks_type lacking = world_.lacking();
    if (late)
      return give_up(
          error(ranks_too_late, sentence({"step ", step_, " takes more than ", deadline_, " s; ",
                                          where(lacking, {}), "; all that this rank waits for:", report()})));
    if (world_.ranks() == 1) return;
    if (const auto found = roll_.look(seconds, lacking); found.hopeless)
      give_up(error(rank_waits_in_vain, describe_wait(seconds, lacking, found)));
  }
  // It gave up for this reason, or has not.
  const std::optional<error>& verdict() const { return verdict_; }
  // Says what this rank waits for, a line for each lane that is not through.
  std::string report() const {
    return who_waits(*sheet_, [this](auto visit) { player_->each_lane(visit); });
  }

 private:
  using clock = std::chrono::steady_clock;
  using ranks_type = std::vector<std::int32_t>;

  bool is_in_step() const { return begin_ != clock::time_point{}; }
  void give_up(error why) {
    verdict_ = std::move(why);
    world_.stop(verdict_->what());
  }
  static std::string list(const ranks_type& which) {
    return run_identity::list_ranks({which.begin(), which.end()});
  }

  std::string describe_wait(double seconds, const ranks_type& lacking,
                            const roll_call::verdict& found) const {
    const std::time_t since = std::time(nullptr) - static_cast<std::time_t>(seconds);
    std::tm parts{};
    ::localtime_r(&since, &parts);
    char words[128];
    std::snprintf(words, sizeof words, " for %.1f s, since %02d:%02d:%02d", seconds, parts.tm_hour,
                  parts.tm_min, parts.tm_sec);
    std::string text = where(lacking, found.silent) + words;
    text += sentence({", in step ", step_, "; "});
    if (found.silent.empty()) text += "all that it waits for wait as well";
    else if (roll_.can_ask())
      text += list(found.silent) + (found.silent.size() == 1 ? " does not answer" : " do not answer");
    else text += "nothing came from " + list(found.silent);
    return text + "; last checkpoint: " + (checkpoint_.empty() ? "none" : checkpoint_);
  }
  // Says where it waits for the silent ones, or else for anybody.
  std::string where(const ranks_type& lacking, const ranks_type& silent) const {
    for (const ranks_type* each : {&silent, &lacking})
      if (std::string text = lane_that_waits(*each); !text.empty()) return text;
    const std::int32_t at = player_->current();
    return (at < 0 ? sentence({"rank ", world_.rank(), ", outside of instructions,"})
                   : locate(sheet_->of, at)) +
           (lacking.empty() ? " waits, though nothing is to come," : " waits for " + list(lacking));
  }
  // The first lane that waits for some of these ranks; empty: there is none.
  std::string lane_that_waits(const ranks_type& for_whom) const {
    if (!is_in_step()) return {};
    for (blocked_lane& each : blocked_lanes(*sheet_, [this](auto visit) { player_->each_lane(visit); })) {
      std::erase_if(each.on, [&](std::int32_t i) {
        return std::find(for_whom.begin(), for_whom.end(), sheet_->of.rank_of(i)) == for_whom.end();
      });
      if (!each.on.empty()) return describe(sheet_->of, each);
    }
    return {};
  }

  const score_sheet* sheet_;
  World& world_;
  const Player* player_;
  double deadline_, bound_;
  roll_call roll_;
  std::optional<error> verdict_;
  std::string checkpoint_;
  std::int64_t step_ = 0;
  clock::time_point begin_;  // of the step
};

}  // namespace motet
