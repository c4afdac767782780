// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/shape.hpp>

namespace motet {

// A module in a pipeline that leads through several: its stages, and who feeds it.
struct through_module {
  list<std::int32_t> seats;   // the device of each stage
  list<std::int32_t> from{};  // modules whose rows enter its first stage
  bool learns = true;         // backward goes through it
  bool fixed = false;         // and its weights stay as they are
  bool meets = false;         // its last stage ends in the loss
};

struct through_shape {
  list<through_module> modules;
  std::int32_t microbatches = 1;
  bool all_first = false;  // all forwards before all backwards, as gpipe has it; else as 1F1B

  constexpr std::int32_t seats() const {
    std::int32_t most = -1;
    for (const through_module& each : modules)
      for (const std::int32_t seat : each.seats) most = seat > most ? seat : most;
    return most + 1;
  }
};

namespace detail {

class through_writer {
 public:
  constexpr explicit through_writer(const through_shape& of) : of_(of) {
    to_.resize(of.modules.size(), {});
    for (index k = 0; k < of.modules.size(); ++k)
      for (const std::int32_t source : of.modules[k].from) to_[source].push(static_cast<std::int32_t>(k));
    sort_modules();
  }
  // False: modules feed each other in a circle.
  constexpr bool sorted() const { return order_.size() == of_.modules.size(); }

  constexpr score write() {
    score out;
    for (const through_module& each : of_.modules) {
      voice made;
      made.module = static_cast<std::int32_t>(out.voices().size());
      made.stages = static_cast<std::int32_t>(each.seats.size());
      made.microbatches = of_.microbatches;
      made.join = each.meets ? 0 : -1;
      made.learns = each.learns;
      made.fixed = each.learns && each.fixed;
      out.add(made, [&](int stage) { return each.seats[stage]; });
    }
    for (index k = 0; k < of_.modules.size(); ++k)
      for (const std::int32_t source : of_.modules[k].from) out.feed(source, static_cast<int>(k));
    find_distances();
    for (std::int32_t seat = 0; seat < of_.seats(); ++seat) {
      out.rank();
      const std::int32_t all = of_.microbatches, ahead = of_.all_first ? all : least(all, distance_of(seat));
      for (std::int32_t m = 0; m < ahead; ++m) forward(out, seat, m);
      for (std::int32_t m = 0; m < all; ++m) {
        if (ahead + m < all) forward(out, seat, ahead + m);
        backward(out, seat, m);
      }
    }
    return out;
  }

 private:
  // Those that feed others before these.
  constexpr void sort_modules() {
    list<std::uint8_t> there(of_.modules.size(), 0);
    for (bool more = true; more;) {
      more = false;
      for (index k = 0; k < of_.modules.size(); ++k) {
        bool ready = there[k] == 0;
        for (const std::int32_t source : of_.modules[k].from) ready = ready && there[source] != 0;
        if (!ready) continue;
        there[k] = 1;
        order_.push(static_cast<std::int32_t>(k));
        more = true;
      }
    }
  }
  // Of each stage how often rows still change the device behind it, on the longest way: so many microbatches
  // come to it before the first gradient does.
  constexpr void find_distances() {
    distances_.resize(of_.modules.size(), {});
    for (index i = order_.size(); i-- > 0;) {
      const std::int32_t k = order_[i];
      const list<std::int32_t>& seats = of_.modules[k].seats;
      list<std::int32_t>& own = distances_[k];
      own.resize(seats.size(), 0);
      const auto reach = [&](index s, std::int32_t seat, std::int32_t further) {
        const std::int32_t found = further + (seat == seats[s] ? 0 : 1);
        if (found > own[s]) own[s] = found;
      };
      for (index s = seats.size(); s-- > 0;) {
        if (s + 1 < seats.size()) reach(s, seats[s + 1], own[s + 1]);
        else
          for (const std::int32_t target : to_[k])
            reach(s, of_.modules[target].seats[0], distances_[target][0]);
      }
    }
  }
  constexpr std::int32_t distance_of(std::int32_t seat) const {
    std::int32_t most = 0;
    for (index k = 0; k < of_.modules.size(); ++k)
      for (index s = 0; s < of_.modules[k].seats.size(); ++s)
        if (of_.modules[k].seats[s] == seat && distances_[k][s] > most) most = distances_[k][s];
    return most;
  }
  constexpr void forward(score& out, std::int32_t seat, std::int32_t m) const {
    for (const std::int32_t k : order_) {
      const through_module& each = of_.modules[k];
      for (std::int32_t s = 0; s < each.seats.size(); ++s) {
        if (each.seats[s] != seat) continue;
        out.play(op::forward, k, s, m);
        if (each.meets && s + 1 == each.seats.size()) out.join(0, m);
      }
    }
  }
  constexpr void backward(score& out, std::int32_t seat, std::int32_t m) const {
    for (index i = order_.size(); i-- > 0;) {
      const through_module& each = of_.modules[order_[i]];
      for (auto s = static_cast<std::int32_t>(each.seats.size()); each.learns && s-- > 0;)
        if (each.seats[s] == seat) out.play(op::backward, order_[i], s, m);
    }
  }

  const through_shape& of_;
  list<list<std::int32_t>> to_;         // of each module those that it feeds
  list<std::int32_t> order_;            // of modules
  list<list<std::int32_t>> distances_;  // of each stage
};

}  // namespace detail

// Modules that feed one another as one pipeline: each microbatch goes through all of them and its gradient
// back, and a device is as many microbatches ahead as rows still change devices behind it. Of a device that
// holds several stages each microbatch passes all before the next. Each microbatch has a loss of its own.
constexpr verdict check_through(const through_shape& of) {
  if (of.microbatches < 1) return {reason::no_stages, 0, of.microbatches, 1};
  for (index k = 0; k < of.modules.size(); ++k)
    if (of.modules[k].seats.empty()) return {reason::no_stages, k, 0, 1};
  if (!detail::through_writer(of).sorted()) return {reason::edges_in_a_circle, 0, of.modules.size(), 0};
  return {};
}
constexpr score write_through(const through_shape& of) { return detail::through_writer(of).write(); }

}  // namespace motet
