// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/strategy/resplit.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace motet {

// The shares that the replicas of a program have, from step to step. What each place of the program computes
// is clocked; every so many steps all ranks tell each other what they found, and come to the same new shares.
class step_shares {
 public:
  // names: of the modules, for errors.
  step_shares(const program& of, const list<sample_split>& splits, std::span<const std::string_view> names,
              const resplit_options& how)
      : how_(checked(how)),
        names_(names),
        balancer_(places_of(of), splits, how),
        seconds_(how.every > 0 ? static_cast<std::size_t>(of.places.size()) : 0, 0.0) {}

  // Players add the seconds of each place here; null: shares do not move by themselves.
  double* clock() { return how_.every > 0 ? seconds_.data() : nullptr; }
  const list<sample_split>& splits() const { return balancer_.splits(); }
  // Samples that each replica has of a group.
  const list<isize>& of(isize module) const {
    demand(module >= 0 && module < splits().size(), "module", std::to_string(module),
           "one of " + std::to_string(splits().size()));
    return balancer_.shares(module);
  }

  // This is called after each step. The result says whether shares are others from now on: the same on all
  // ranks.
  template <class Ranks>
  bool end_step(Ranks& ranks) {
    if (how_.every == 0 || ++clocked_ < how_.every) return false;
    ranks.sum(seconds_.data(), static_cast<isize>(seconds_.size()));
    for (double& each : seconds_) each /= static_cast<double>(clocked_);
    balancer_.note(seconds_.data());
    forget();
    return balancer_.move();
  }
  // A user sets shares by hand, on all ranks alike.
  void set(isize module, const list<isize>& to) {
    of(module);
    forget();
    if (balancer_.set(module, to)) return;
    std::string text;
    for (const isize each : to) text += (text.empty() ? "" : ", ") + std::to_string(each);
    const sample_split& split = splits()[module];
    const share_bounds& within = balancer_.bounds(module);
    fail(bad_training_option, "shares of " + std::string(names_[static_cast<std::size_t>(module)]) + " are " +
                                  (text.empty() ? "none" : text) + "; its " + std::to_string(split.replicas) +
                                  " replicas share " + std::to_string(split.samples / split.groups) +
                                  " samples of a group, each has " + std::to_string(within.least) + " to " +
                                  std::to_string(within.most) + " of them (by resplit.most)");
  }
  // Drops the seconds of steps that are not measured to their end.
  void forget() {
    std::fill(seconds_.begin(), seconds_.end(), 0.0);
    clocked_ = 0;
  }

  // Ranks with other options would cut the samples in other ways.
  static run_identity identity_of(const resplit_options& how) {
    run_identity same;
    same.add("resplit", "every " + std::to_string(how.every) + ", most " + std::to_string(how.most) +
                            ", step " + std::to_string(how.step) + ", smoothing " +
                            std::to_string(how.smoothing) + ", worth " + std::to_string(how.worth));
    return same;
  }
  // fed: modules feed one another.
  static const resplit_options& checked(const resplit_options& how, bool fed = false) {
    if (fed && how.most > 1)
      fail(bad_training_option,
           "samples cannot move between replicas of modules that feed one another: both "
           "ends of an edge have the same ones");
    demand(how.every >= 0, "every", std::to_string(how.every), "a number of steps, or 0 for never");
    demand(how.most >= 1 && how.most <= 1e6, "most", std::to_string(how.most),
           "1 or more, times the even share");
    demand(how.every == 0 || how.most > 1, "most", std::to_string(how.most),
           "above 1 where shares move, say 1.25: memory is planned for that");
    demand(how.step > 0 && how.step <= 1e6, "step", std::to_string(how.step),
           "above 0, times the even share");
    demand(how.smoothing >= 0 && how.smoothing < 1, "smoothing", std::to_string(how.smoothing),
           "0 or more, and below 1");
    demand(how.worth >= 0 && how.worth < 1, "worth", std::to_string(how.worth), "0 or more, and below 1");
    return how;
  }

 private:
  static void demand(bool holds, const char* what, const std::string& got, const std::string& wanted) {
    if (!holds)
      fail(bad_training_option, std::string("resplit: ") + what + " is " + got + ", must be " + wanted);
  }
  static list<share_place> places_of(const program& of) {
    list<share_place> all;
    for (const voice& each : of.voices)
      for (std::int32_t s = 0; s < each.stages; ++s) all.push({each.module, each.replica, of.place(each, s)});
    return all;
  }

  resplit_options how_;
  std::span<const std::string_view> names_;
  share_balancer balancer_;
  std::vector<double> seconds_;  // of each place, in the steps since shares were looked at
  isize clocked_ = 0;            // these steps
};

}  // namespace motet
