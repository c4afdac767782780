// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/feed_exchange.hpp>

#include <algorithm>
#include <random>
#include <sites.hpp>
#include <string>
#include <vector>

// Rows over a feed and their gradients back, on any transport: each number says which sample, row and
// column it is of, and every rank looks whether it got exactly what it should.
namespace motet::laws {

struct feed_problem {
  feed_edge edge;
  std::vector<std::vector<index>> steps;  // rows of each sample
  index slots = 1;

  std::int32_t ranks() const {
    std::int32_t most = 0;
    for (const feed_module* each : {&edge.from, &edge.to})
      for (const std::int32_t rank : each->ranks.ranks()) most = std::max(most, rank);
    return most + 1;
  }
  // The tensor groups of both sides.
  std::vector<std::vector<std::int32_t>> groups() const {
    std::vector<std::vector<std::int32_t>> all;
    for (const feed_module* each : {&edge.from, &edge.to})
      each_group(*each, [&](const mesh_position& at) {
        all.emplace_back();
        for (const std::int32_t rank : each->ranks.group(axis::tensor, at)) all.back().push_back(rank);
      });
    return all;
  }
  // The number of a rank's tensor group at one side; -1 where it has none.
  std::int32_t group(bool sender, std::int32_t rank) const {
    std::int32_t number = 0, found = -1;
    for (const feed_module* each : {&edge.from, &edge.to})
      each_group(*each, [&](const mesh_position& at) {
        for (const std::int32_t member : each->ranks.group(axis::tensor, at))
          if (member == rank && (each == &edge.from) == sender) found = number;
        ++number;
      });
    return found;
  }
  // What must cross: every number once each way, less what has both ends on one rank. Counted by who holds
  // what, without the list of messages.
  struct traffic {
    index sent = 0, kept = 0;
  };
  traffic least(const std::vector<index>& lengths, index element) const {
    const feed_side from = edge.from.side(edge.samples), to = edge.to.side(edge.samples);
    const auto holder = [](const feed_module& module, const feed_side& side, index sample, index rows,
                           index row, index width, index column) {
      for (index g = 0; g < side.split.groups; ++g)
        for (index r = 0; r < side.split.replicas; ++r)
          for (index m = 0; m < side.split.microbatches; ++m)
            if (const interval own = side.split.of(g, r, m); sample >= own.begin && sample < own.end)
              return module.rank(
                  {g, r, m, owner(rows, side.context, row), owner(width, side.tensor, column)});
      return std::int32_t{-1};
    };
    traffic out;
    for (index s = 0; s < edge.samples; ++s) {
      const index rows = lengths[static_cast<std::size_t>(s)];
      for (index r = 0; r < rows; ++r)
        for (index c = 0; c < edge.width; ++c)
          (holder(edge.from, from, s, rows, r, edge.width, c) ==
                   holder(edge.to, to, s, rows, r, edge.width, c)
               ? out.kept
               : out.sent) += element;
    }
    return out;
  }
  // Whether a rank may do both ways in any order: there are slots for all, and no gather waits for a rank
  // that is in one of the other way.
  bool both_at_once() const {
    bool apart = true;
    for (const std::int32_t rank : edge.from.ranks.ranks()) apart = apart && edge.to.ranks.find(rank) < 0;
    const bool no_groups = edge.from.ranks.split().tensor == 1 && edge.to.ranks.split().tensor == 1;
    return (apart || no_groups) && slots >= std::max(edge.from.groups * edge.from.microbatches,
                                                     edge.to.groups * edge.to.microbatches);
  }

 private:
  template <class Visit>
  static void each_group(const feed_module& of, Visit visit) {
    for (std::int32_t r = 0; r < of.ranks.split().data; ++r)
      for (std::int32_t c = 0; c < of.ranks.split().context; ++c) visit(mesh_position{of.stage, r, c, 0});
  }
};

// A number for each (way, sample, row, column): exact in float, and as bits in bf16, which has room for less.
template <class T>
T feed_number(bool back, index sample, index row, index column) {
  if constexpr (sizeof(T) == 2) {
    T out;
    out.bits = static_cast<std::uint16_t>(1 + ((back * 32 + sample) * 16 + row) * 32 + column);
    return out;
  } else {
    return static_cast<T>(1 + ((back * 32 + sample) * 256 + row) * 512 + column);
  }
}
template <class T>
bool same_bits(T a, T b) {
  if constexpr (sizeof(T) == 2) return a.bits == b.bits;
  else return a == b;
}

// One rank of the problem.
template <class T, transport End, class Site = host_site>
class feed_rank {
 public:
  feed_rank(const feed_problem& problem, End& end, std::int32_t first_tag, any_group source_tensor,
            any_group target_tensor)
      : problem_(problem),
        from_(problem.edge.from.side(problem.edge.samples).split),
        to_(problem.edge.to.side(problem.edge.samples).split),
        end_(end),
        site(end),
        exchange(problem.edge, end, first_tag, source_tensor, target_tensor) {
    std::vector<index> largest(static_cast<std::size_t>(problem.edge.samples) + 1, 0);
    for (index s = 0; s < problem.edge.samples; ++s) {
      index most = 0;
      for (const auto& lengths : problem.steps) most = std::max(most, lengths[static_cast<std::size_t>(s)]);
      largest[static_cast<std::size_t>(s + 1)] = largest[static_cast<std::size_t>(s)] + most;
    }
    exchange.prepare(site.ctx, {problem.edge.samples, 1, largest.data()}, problem.slots);
    const sequences whole{problem.edge.samples, 1, largest.data()};
    for (const feed_seat* seat : {&exchange.source, &exchange.target})
      for (index m = 0; m < seat->microbatches(); ++m) {
        auto& side = seat == &exchange.source ? source_ : target_;
        side.emplace_back(site, static_cast<std::size_t>(seat->rows_of(m, whole) * (seat->width() + 1)) + 1);
      }
    offsets_.reserve(largest.size());
  }

  // Both ways; the end's step has begun. What is wrong, in words. Allocates nothing of its own.
  std::string step(std::size_t number) {
    offsets_.assign(1, 0);
    for (const index rows : problem_.steps[number]) offsets_.push_back(offsets_.back() + rows);
    const sequences all{problem_.edge.samples, 1, offsets_.data()};
    exchange.begin_step(all);
    wrong_.clear();
    const index pad = static_cast<index>(number % 2);  // rows that do not follow each other at once
    for (auto* side : {&source_, &target_}) {
      const feed_seat& seat = side == &source_ ? exchange.source : exchange.target;
      for (std::size_t m = 0; m < side->size(); ++m) {
        const index rows = seat.rows_of(static_cast<index>(m), all), stride = seat.width() + pad;
        held& own = (*side)[m];
        std::fill(own.memory.seen().begin(), own.memory.seen().end(), T(-1.0f));
        own.memory.put();
        own.rows = {own.memory.data(), rows, seat.width(), stride};
        own.seen = {own.memory.seen().data(), rows, seat.width(), stride};
      }
    }
    for (std::size_t m = 0; m < source_.size(); ++m) fill(exchange.source, source_, m, all, false);
    if (number % 2 == 1 && problem_.both_at_once()) {
      carry_both(all);
    } else {
      carry(exchange.forward, source_, target_);
      for (std::size_t m = 0; m < target_.size(); ++m) {
        compare(exchange.target, target_, m, all, false);
        fill(exchange.target, target_, m, all, true);
      }
      carry(exchange.backward, target_, source_);
      for (std::size_t m = 0; m < source_.size(); ++m) compare(exchange.source, source_, m, all, true);
    }
    return wrong_;
  }

 private:
  const feed_problem& problem_;
  sample_split from_, to_;
  End& end_;

 public:
  Site site;
  feed_exchange<T, End, typename Site::context> exchange;

 private:
  struct held {
    held(Site& site, std::size_t count) : memory(site, count) {}
    typename Site::template numbers<T> memory;
    matrix<T> rows, seen;
  };

  // visit(element, number) for all that a seat has of a microbatch, by definition.
  template <class Visit>
  void each_element(const feed_seat& seat, held& of, index m, const sequences& all, bool back, Visit visit) {
    const bool sender = &seat == &exchange.source;
    const feed_module& module = sender ? problem_.edge.from : problem_.edge.to;
    const mesh_position at = module.ranks.position(module.ranks.find(end_.rank()));
    const interval samples =
        (sender ? from_ : to_).of(m / module.microbatches, at.replica, m % module.microbatches);
    index row = 0;
    for (index s = samples.begin; s < samples.end; ++s) {
      const interval part = share(all.rows_of(s), module.ranks.split().context, at.context);
      for (index r = part.begin; r < part.end; ++r, ++row)
        for (index c = 0; c < problem_.edge.width; ++c)
          visit(of.seen.row(row)[c], feed_number<T>(back, s, r, c));
    }
    if (row != of.rows.rows) wrong_ = "a microbatch has other rows than its samples";
  }
  void fill(const feed_seat& seat, std::vector<held>& side, std::size_t m, const sequences& all, bool back) {
    each_element(seat, side[m], static_cast<index>(m), all, back,
                 [](T& element, T number) { element = number; });
    side[m].memory.put();
  }
  void compare(const feed_seat& seat, std::vector<held>& side, std::size_t m, const sequences& all,
               bool back) {
    side[m].memory.get();
    each_element(seat, side[m], static_cast<index>(m), all, back, [&](T& element, T number) {
      if (!same_bits(element, number))
        wrong_ = back ? "a gradient is not that of its row and column"
                      : "a number is not that of its row and column";
    });
    const matrix<T>& rows = side[m].seen;
    for (index r = 0; r < rows.rows; ++r)
      for (index c = rows.width; c < rows.stride; ++c)
        if (!same_bits(rows.row(r)[c], T(-1.0f))) wrong_ = "something was written between rows";
    if (!same_bits(side[m].memory.seen()[static_cast<std::size_t>(rows.rows * rows.stride)], T(-1.0f)))
      wrong_ = "something was written behind the rows";
  }
  // As a player does: whatever can go on goes on, asleep where nothing can.
  void carry(feed_way<T, End, typename Site::context>& way, std::vector<held>& from, std::vector<held>& to) {
    std::size_t sends = 0, receives = 0;
    while (sends < from.size() || receives < to.size()) {
      const std::uint32_t seen = end_.observe();
      bool went = false;
      while (sends < from.size() && way.send(static_cast<index>(sends), matrix<const T>(from[sends].rows))) {
        ++sends;
        went = true;
      }
      if (receives < to.size() && way.receive(static_cast<index>(receives), to[receives].rows)) {
        way.gather(static_cast<index>(receives), to[receives].rows);
        ++receives;
        went = true;
      }
      if (!went) end_.pause(seen);
    }
    wait_sent(way, from.size());
  }
  // Gradients go back while rows still come.
  void carry_both(const sequences& all) {
    std::size_t sends = 0, receives = 0, sends_back = 0, receives_back = 0;
    while (receives_back < source_.size() || sends_back < target_.size()) {
      const std::uint32_t seen = end_.observe();
      bool went = false;
      const auto count = [&](std::size_t& of) {
        ++of;
        went = true;
      };
      while (sends < source_.size() &&
             exchange.forward.send(static_cast<index>(sends), matrix<const T>(source_[sends].rows)))
        count(sends);
      if (receives < target_.size() &&
          exchange.forward.receive(static_cast<index>(receives), target_[receives].rows)) {
        exchange.forward.gather(static_cast<index>(receives), target_[receives].rows);
        compare(exchange.target, target_, receives, all, false);
        fill(exchange.target, target_, receives, all, true);
        count(receives);
      }
      if (sends_back < receives &&
          exchange.backward.send(static_cast<index>(sends_back), matrix<const T>(target_[sends_back].rows)))
        count(sends_back);
      // The rows make room for their gradients.
      if (receives_back < sends && exchange.forward.sent(static_cast<index>(receives_back)) &&
          exchange.backward.receive(static_cast<index>(receives_back), source_[receives_back].rows)) {
        exchange.backward.gather(static_cast<index>(receives_back), source_[receives_back].rows);
        compare(exchange.source, source_, receives_back, all, true);
        count(receives_back);
      }
      if (!went) end_.pause(seen);
    }
    wait_sent(exchange.backward, target_.size());
  }
  void wait_sent(feed_way<T, End, typename Site::context>& way, std::size_t microbatches) {
    for (std::size_t m = 0; m < microbatches; ++m)
      for (;;) {
        const std::uint32_t seen = end_.observe();
        if (way.sent(static_cast<index>(m))) break;
        end_.pause(seen);
      }
  }

  std::vector<held> source_, target_;
  std::vector<index> offsets_;
  std::string wrong_;
};

inline feed_module module_on(std::vector<std::int32_t> ranks, degrees by, index groups, index microbatches,
                             std::int32_t stage = 0) {
  list<std::int32_t> members;
  for (const std::int32_t each : ranks) members.push(each);
  return {mesh(by, members), stage, groups, microbatches};
}
inline std::vector<std::int32_t> from_to(std::int32_t first, std::int32_t end) {
  std::vector<std::int32_t> all;
  for (; first < end; ++first) all.push_back(first);
  return all;
}
inline std::vector<std::vector<index>> drawn_steps(index samples, int steps, unsigned seed,
                                                   index longest = 15) {
  std::mt19937 draw(seed);
  std::vector<std::vector<index>> all(static_cast<std::size_t>(steps));
  for (auto& lengths : all)
    for (index s = 0; s < samples; ++s)
      // Many without rows, and many with few.
      lengths.push_back(draw() % 4 == 0 ? 0
                                        : static_cast<index>(draw() % static_cast<unsigned>(longest + 1)));
  return all;
}

// Any degrees on any of up to `ranks` ranks; both modules may share all, some or none, and some have replicas
// of uneven shares.
inline feed_problem drawn_feed(unsigned seed, std::int32_t ranks, int steps = 2) {
  std::mt19937 draw(seed);
  const auto below = [&](std::int32_t n) {
    return static_cast<std::int32_t>(draw() % static_cast<unsigned>(n));
  };
  const auto module = [&] {
    degrees by;
    do by = {1 + below(2), 1 + below(4), 1 + below(4), 1 + below(4)};
    while (by.size() > ranks);
    std::vector<std::int32_t> members = from_to(0, ranks);
    std::shuffle(members.begin(), members.end(), draw);
    members.resize(static_cast<std::size_t>(by.size()));
    feed_module made = module_on(members, by, 1 + below(3), 1 + below(3), below(by.stages));
    for (std::int32_t r = 0; seed % 3 == 0 && r < by.data; ++r) made.weights.push(below(7));
    return made;
  };
  const index samples = below(14), width = 1 + below(9);
  feed_module from = module(), to = module();
  const index slots = std::max(from.groups * from.microbatches, to.groups * to.microbatches);
  return {{std::move(from), std::move(to), samples, width}, drawn_steps(samples, steps, seed), slots};
}

}  // namespace motet::laws
