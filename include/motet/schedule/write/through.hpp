// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/shape.hpp>

namespace motet {

// A module in a pipeline that leads through several: its stages, and who feeds it.
struct through_module {
  list<std::int32_t> ranks;   // of each stage
  list<std::int32_t> from{};  // modules whose rows enter its first stage
  bool learns = true;         // backward goes through it
  bool fixed = false;         // and its weights stay as they are
  bool meets = false;         // its last stage ends in the loss
};

struct through_shape {
  list<through_module> modules;
  std::int32_t microbatches = 1;
  bool all_first = false;  // all forwards before all backwards, as gpipe has it; else as 1F1B
};

namespace detail {

class through_writer {
 public:
  constexpr explicit through_writer(const through_shape& of) : of_(of) {
    to_.resize(of.modules.size(), {});
    for (index k = 0; k < of.modules.size(); ++k)
      for (const std::int32_t source : of.modules[k].from) to_[source].push(static_cast<std::int32_t>(k));
    sort_modules();
    if (sorted()) seat_all();
  }
  // False: modules feed each other in a circle.
  constexpr bool sorted() const { return order_.size() == of_.modules.size(); }

  constexpr score write() {
    score out;
    for (const through_module& each : of_.modules) {
      voice made;
      made.module = static_cast<std::int32_t>(out.voices().size());
      made.stages = static_cast<std::int32_t>(each.ranks.size());
      made.microbatches = of_.microbatches;
      made.join = each.meets ? 0 : -1;
      made.learns = each.learns;
      made.fixed = each.learns && each.fixed;
      out.add(made, [&](int stage) { return seats_[made.module][stage]; });
    }
    for (index k = 0; k < of_.modules.size(); ++k)
      for (const std::int32_t source : of_.modules[k].from) out.feed(source, static_cast<int>(k));
    find_distances();
    for (std::int32_t seat = 0; seat < seats_of_all_; ++seat) {
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
  // Stages one behind the other on one rank are one seat. A rank to which rows come back has several.
  constexpr void seat_all() {
    seats_.resize(of_.modules.size(), {});
    for (const std::int32_t k : order_) {
      const through_module& own = of_.modules[k];
      for (index s = 0; s < own.ranks.size(); ++s) {
        std::int32_t seat = -1;
        if (s > 0 && own.ranks[s] == own.ranks[s - 1]) seat = seats_[k][s - 1];
        if (s == 0)
          for (const std::int32_t source : own.from)
            if (of_.modules[source].ranks.back() == own.ranks[0]) seat = seats_[source].back();
        seats_[k].push(seat >= 0 ? seat : seats_of_all_++);
      }
    }
  }
  // Of each stage how often rows still change the device behind it, on the longest way: so many microbatches
  // come to it before the first gradient does.
  constexpr void find_distances() {
    distances_.resize(of_.modules.size(), {});
    for (index i = order_.size(); i-- > 0;) {
      const std::int32_t k = order_[i];
      const list<std::int32_t>& seats = seats_[k];
      list<std::int32_t>& own = distances_[k];
      own.resize(seats.size(), 0);
      const auto reach = [&](index s, std::int32_t seat, std::int32_t further) {
        const std::int32_t found = further + (seat == seats[s] ? 0 : 1);
        if (found > own[s]) own[s] = found;
      };
      for (index s = seats.size(); s-- > 0;) {
        if (s + 1 < seats.size()) reach(s, seats[s + 1], own[s + 1]);
        else
          for (const std::int32_t target : to_[k]) reach(s, seats_[target][0], distances_[target][0]);
      }
    }
  }
  constexpr std::int32_t distance_of(std::int32_t seat) const {
    std::int32_t most = 0;
    for (index k = 0; k < of_.modules.size(); ++k)
      for (index s = 0; s < seats_[k].size(); ++s)
        if (seats_[k][s] == seat && distances_[k][s] > most) most = distances_[k][s];
    return most;
  }
  constexpr void forward(score& out, std::int32_t seat, std::int32_t m) const {
    for (const std::int32_t k : order_) {
      const through_module& each = of_.modules[k];
      for (std::int32_t s = 0; s < each.ranks.size(); ++s) {
        if (seats_[k][s] != seat) continue;
        out.play(op::forward, k, s, m);
        if (each.meets && s + 1 == each.ranks.size()) out.join(0, m);
      }
    }
  }
  constexpr void backward(score& out, std::int32_t seat, std::int32_t m) const {
    for (index i = order_.size(); i-- > 0;) {
      const through_module& each = of_.modules[order_[i]];
      for (auto s = static_cast<std::int32_t>(each.ranks.size()); each.learns && s-- > 0;)
        if (seats_[order_[i]][s] == seat) out.play(op::backward, order_[i], s, m);
    }
  }

  const through_shape& of_;
  list<list<std::int32_t>> to_;     // of each module those that it feeds
  list<std::int32_t> order_;        // of modules
  list<list<std::int32_t>> seats_;  // of each stage: the devices of the score
  std::int32_t seats_of_all_ = 0;
  list<list<std::int32_t>> distances_;  // of each stage
};

}  // namespace detail

// Modules that feed one another as one pipeline: each microbatch goes through all of them and its gradient
// back, and a device is as many microbatches ahead as rows still change ranks behind it. Of stages one
// behind the other on one rank, which are one device of the score, each microbatch passes all before the next. Each microbatch has a loss of its own.
constexpr verdict check_through(const through_shape& of) {
  if (of.microbatches < 1) return {reason::no_stages, 0, of.microbatches, 1};
  for (index k = 0; k < of.modules.size(); ++k)
    if (of.modules[k].ranks.empty()) return {reason::no_stages, k, 0, 1};
  if (!detail::through_writer(of).sorted()) return {reason::edges_in_a_circle, 0, of.modules.size(), 0};
  return {};
}
constexpr score write_through(const through_shape& of) { return detail::through_writer(of).write(); }

}  // namespace motet
