// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/core/fingerprint.hpp>

namespace motet {

// A plan in which ranks that do the same at the same time are one: a rank for each kind of rank, a replica
// for each kind of replica, and one shard for all where they are alike. A simulation of it has the times of
// the whole plan, and takes as long for 4096 ranks as for 4.
struct folded_plan {
  plan small;
  list<std::int32_t> kinds;           // of each rank of the plan, its rank in `small`; -1: it holds nothing
  list<std::int32_t> members;         // of each rank of `small`, how many it stands for
  list<std::int32_t> first;           // and the first of them
  list<list<std::int32_t>> replicas;  // of each module, the first replica of each kind
  list<std::uint8_t> sums;            // of each module, whether several ranks have a part in its gradients
  bool together = false;              // several ranks compute some stage together
  // false: messages of two modules share a way here that go to different ranks of one kind
  bool exact = true;
};

namespace detail {

constexpr std::uint64_t mixed(std::uint64_t one, std::uint64_t other) {
  fingerprint_maker out;
  out.add(one, other);
  return out.value();
}

// Returns how many different ones there are; `number` is then of each among them, in the order in which they
// come.
constexpr std::int32_t number_kinds(const list<std::uint64_t>& colours, list<std::int32_t>& number) {
  number.resize(colours.size(), 0);
  list<std::int32_t> table(16, -1);  // numbers, at or behind the place that a colour has
  list<std::uint64_t> kinds;
  const auto place_of = [&](std::uint64_t colour) {
    isize at = static_cast<isize>(colour & static_cast<std::uint64_t>(table.size() - 1));
    while (table[at] >= 0 && kinds[table[at]] != colour) at = (at + 1) & (table.size() - 1);
    return at;
  };
  for (isize i = 0; i < colours.size(); ++i) {
    std::int32_t& known = table[place_of(colours[i])];
    if (known >= 0) {
      number[i] = known;
      continue;
    }
    number[i] = known = static_cast<std::int32_t>(kinds.size());
    kinds.push(colours[i]);
    if (2 * kinds.size() <= table.size()) continue;
    table = list<std::int32_t>(2 * table.size(), -1);
    for (isize k = 0; k < kinds.size(); ++k) table[place_of(kinds[k])] = static_cast<std::int32_t>(k);
  }
  return static_cast<std::int32_t>(kinds.size());
}

// Colours ranks and replicas until those of one colour have met the same colours everywhere.
class plan_folder {
 public:
  template <class Key>
  constexpr plan_folder(const plan& of, Key key) : of_(of), keeps_shards_(of.modules.size(), 0) {
    for (isize k = 0; k < of.modules.size(); ++k) {
      list<std::uint64_t> own;
      for (std::int32_t r = 0; r < of.modules[k].on.split().data; ++r) own.push(key(k, r));
      replicas_.push(own);
    }
  }

  constexpr folded_plan fold() {
    for (isize before = -1, now = colour(); now != before; before = now, now = colour()) {
    }
    return build();
  }

 private:
  // One round. Returns a number that grows as long as anything changes.
  constexpr isize colour() {
    ranks_.clear();
    ranks_.resize(of_.cluster.ranks, 0);
    for (isize k = 0; k < of_.modules.size(); ++k) {
      const mesh& on = of_.modules[k].on;
      const std::int32_t shards = of_.modules[k].shards(), replicas = on.split().data;
      for (isize i = 0; i < on.ranks().size(); i += shards) {
        const isize stage = i / shards / replicas, replica = i / shards % replicas;
        const std::uint64_t all = mixed(
            mixed(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(stage)), replicas_[k][replica]);
        for (std::int32_t shard = 0; shard < shards; ++shard) {
          std::uint64_t& own = ranks_[on.ranks()[i + shard]];
          own = mixed(own, all);
          if (keeps_shards_[k] != 0) own = mixed(own, static_cast<std::uint64_t>(shard));
        }
      }
    }
    isize kinds = number_kinds(ranks_, kinds_);
    list<std::int32_t> ignored;
    for (isize k = 0; k < of_.modules.size(); ++k) {
      const mesh& on = of_.modules[k].on;
      const std::int32_t shards = of_.modules[k].shards(), replicas = on.split().data;
      for (isize i = 0; i < on.ranks().size(); i += shards) {
        std::uint64_t& own = replicas_[k][i / shards % replicas];
        const std::uint64_t head = ranks_[on.ranks()[i]];
        own = mixed(own, head);
        for (std::int32_t shard = 1; shard < shards; ++shard) {
          const std::uint64_t other = ranks_[on.ranks()[i + shard]];
          if (keeps_shards_[k] != 0) own = mixed(own, other);
          else if (other != head) split_ = true, splits_ = k;
        }
      }
      kinds += number_kinds(replicas_[k], ignored);
      if (split_) {
        keeps_shards_[splits_] = 1;
        split_ = false;
      }
      kinds += keeps_shards_[k];
    }
    return kinds;
  }
  constexpr folded_plan build() const {
    folded_plan out;
    out.kinds.resize(of_.cluster.ranks, -1);
    list<std::int32_t> seat_of;  // of each colour's number, its rank in `small`
    for (isize k = 0; k < of_.modules.size(); ++k) {
      for (const std::int32_t rank : of_.modules[k].on.ranks()) {
        if (out.kinds[rank] >= 0) continue;
        if (seat_of.size() <= kinds_[rank]) seat_of.resize(kinds_[rank] + 1, -1);
        std::int32_t& seat = seat_of[kinds_[rank]];
        if (seat < 0) {
          seat = static_cast<std::int32_t>(out.members.size());
          out.members.push(0);
          out.first.push(rank);
        }
        ++out.members[seat];
        out.kinds[rank] = seat;
      }
    }
    out.small.cluster.ranks = static_cast<std::int32_t>(out.members.size());
    out.small.schedule = of_.schedule;
    for (isize k = 0; k < of_.modules.size(); ++k) {
      const module_plan& own = of_.modules[k];
      const degrees& split = own.on.split();
      out.sums.push(split.data * own.shards() > 1 ? 1 : 0);
      out.together = out.together || own.shards() > 1 || (own.zero > 1 && split.data > 1) || own.experts > 1;
      list<std::int32_t> number, firsts;
      number_kinds(replicas_[k], number);
      for (std::int32_t r = 0; r < split.data; ++r)
        if (number[r] == firsts.size()) firsts.push(r);
      const bool keeps = keeps_shards_[k] != 0;
      const degrees few{split.stages, static_cast<std::int32_t>(firsts.size()), keeps ? split.context : 1,
                        keeps ? split.tensor : 1};
      list<std::int32_t> seats;
      for (std::int32_t s = 0; s < few.stages; ++s)
        for (const std::int32_t r : firsts)
          for (std::int32_t c = 0; c < few.context; ++c)
            for (std::int32_t t = 0; t < few.tensor; ++t) seats.push(out.kinds[own.on.rank({s, r, c, t})]);
      module_plan made = own;
      made.on = mesh(few, seats);
      out.small.modules.push(made);
      out.replicas.push(firsts);
    }
    out.exact = exact(out);
    return out;
  }
  // Neighbours of a rank in two modules may be one rank wherever they are of one kind. In one module
  // they hold other stages, and are of other kinds.
  constexpr bool exact(const folded_plan& made) const {
    list<isize> chains;
    for (isize k = 0; k < of_.modules.size(); ++k)
      if (of_.modules[k].on.split().stages > 1) chains.push(k);
    if (chains.size() < 2) return true;
    const isize each = 2 * chains.size();
    list<std::int32_t> neighbours(of_.cluster.ranks * each, -1);
    for (isize c = 0; c < chains.size(); ++c) {
      const mesh& on = of_.modules[chains[c]].on;
      const isize all = on.ranks().size(), of_stage = all / on.split().stages;
      for (isize i = 0; i < all; ++i) {
        std::int32_t* const own = neighbours.data() + on.ranks()[i] * each + 2 * c;
        own[0] = on.ranks()[i + of_stage < all ? i + of_stage : i + of_stage - all];
        own[1] = on.ranks()[i >= of_stage ? i - of_stage : i - of_stage + all];
      }
    }
    for (isize r = 0; r < of_.cluster.ranks; ++r) {
      const std::int32_t* const all = neighbours.data() + r * each;
      for (isize i = 0; i < each; ++i)
        for (isize j = 0; all[i] >= 0 && j < i; ++j)
          if (all[j] >= 0 && all[i] != all[j] && made.kinds[all[i]] == made.kinds[all[j]]) return false;
    }
    return true;
  }

  const plan& of_;
  list<std::uint64_t> ranks_;
  list<std::int32_t> kinds_;
  list<list<std::uint64_t>> replicas_;
  list<std::uint8_t> keeps_shards_;
  bool split_ = false;
  isize splits_ = 0;
};

}  // namespace detail

// key(module, replica): equal for replicas that differ in nothing but the ranks that they are on. The plan
// must pass check_plan().
template <class Key>
constexpr folded_plan fold_plan(const plan& of, Key key) {
  return detail::plan_folder(of, key).fold();
}

// Nothing is folded here.
constexpr folded_plan unfolded_plan(const plan& of) {
  folded_plan out;
  out.small = of;
  out.members.resize(of.cluster.ranks, 0);
  out.kinds.resize(of.cluster.ranks, -1);
  for (std::int32_t r = 0; r < of.cluster.ranks; ++r) out.first.push(r);
  for (const module_plan& own : of.modules) {
    for (const std::int32_t rank : own.on.ranks()) {
      out.members[rank] = 1;
      out.kinds[rank] = rank;
    }
    list<std::int32_t> all;
    for (std::int32_t r = 0; r < own.on.split().data; ++r) all.push(r);
    out.replicas.push(all);
    out.sums.push(all.size() * own.shards() > 1 ? 1 : 0);
  }
  return out;
}

// The program of a folded plan. Gradients of a module are summed before its update also where one voice is
// left to stand for all: beside the computation, or in its lane, when all backwards of a rank are through.
constexpr verdict write_program(const folded_plan& from, const list<module_facts>& facts, program& out,
                                std::uint8_t summing = lane::reduce) {
  score order;
  if (const verdict found = write_plan(from.small, facts, order, 0, from.together); !found.ok()) return found;
  out = compile(order, {.reduce = false});
  program summed;
  summed.instructions.reserve(out.instructions.size() + out.places.size());
  for (std::int32_t rank = 0; rank < out.ranks(); ++rank) {
    for (const instruction& each : out.role(rank)) {
      if (each.what == op::optimizer_step && from.sums[out.voices[each.voice].module] != 0)
        summed.instructions.push({op::reduce_gradient, summing, false, 0, each.voice, each.stage, -1, -1});
      summed.instructions.push(each);
    }
    summed.starts.push(static_cast<std::int32_t>(summed.instructions.size()));
  }
  out.instructions = static_cast<list<instruction>&&>(summed.instructions);
  out.starts = static_cast<list<std::int32_t>&&>(summed.starts);
  return {};
}

}  // namespace motet
