// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/graph.hpp>
#include <motet/schedule/core/live.hpp>
#include <motet/schedule/core/rules.hpp>

namespace motet {

namespace detail {

// Reads the list of every rank as if the rank ran it alone, in that order: what each instruction needs must
// stand before it. What it then waits for in other lanes goes into the graph.
class list_reader {
 public:
  constexpr list_reader(const program& from, program_graph& to) : from_(from), to_(to), links_(from.voices) {}

  constexpr finding read() {
    to_.wait_starts.reserve(from_.instructions.size() + 1);
    to_.waits.reserve(from_.instructions.size());
    to_.meetings.resize(from_.instructions.size(), -1);
    cells_.resize(from_.cells(), {});
    stages_.resize(from_.places.size(), {});
    passed_.resize(from_.voices.size(), {});
    first_at_home_.resize(from_.ranks(), -1);
    next_at_home_.resize(from_.voices.size(), -1);
    std::int32_t groups = 0;
    for (const voice& of : from_.voices) {
      first_groups_.push(groups);
      groups += of.join >= 0 ? of.joins() : 0;
    }
    joined_.resize(groups, -1);
    links_ = cell_links(from_.voices, from_.feeds);
    sent_.resize(3, {});
    received_.resize(3, {});
    for (const int kind : {0, 2}) make_room(kind);
    for (auto v = static_cast<std::int32_t>(from_.voices.size()); v-- > 0;) {
      std::int32_t& first = first_at_home_[home(from_, from_.voices[v])];
      next_at_home_[v] = first;
      first = v;
    }
    reduced_.resize(to_.meeting_sizes.size(), 0);
    for (rank_ = 0; rank_ < from_.ranks(); ++rank_) {
      for (at_ = from_.starts[rank_]; at_ < from_.starts[rank_ + 1]; ++at_) {
        if (at_ == from_.starts[rank_] || !from_.instructions[at_ - 1].paired) {
          pair_first_ = at_;
          if (!leaving_.empty()) leave();
        }
        to_.wait_starts.push(static_cast<std::int32_t>(to_.waits.size()));
        one(from_.instructions[at_]);
        if (!found_.ok()) return found_;
      }
    }
    to_.wait_starts.push(static_cast<std::int32_t>(to_.waits.size()));
    return complete();
  }

 private:
  // Positions of what has happened to one microbatch at one stage.
  struct cell {
    std::int32_t ran = -1, kept = -1, gave_input = -1, gave_weight = -1;
    std::int32_t loaded = -1, offloaded = -1, fetched = -1;
  };
  struct stage_state {
    std::int32_t live = 0, weights = 0, last_weight = -1, last_end = -1, last_offload = -1;
    std::int32_t reduced = -1, updated = -1, gathered = -1, released = -1;
  };
  struct passage {
    std::int32_t groups = 0, last = -1;
  };

  constexpr void refuse(broken_rule why, std::int32_t other = -1, isize got = 0, isize wanted = 0) {
    found_ = {why, rank_, at_, other, got, wanted};
  }
  // The instruction needs what came from there; -1: it did not come.
  constexpr void need(std::int32_t source) {
    if (!found_.ok()) return;
    if (source < 0) return refuse(reason::needs_message);
    wait_for(source);
  }
  constexpr void make_room(int kind) {
    sent_[kind].resize(links_.messages(from_.cells()), -1);
    received_[kind].resize(links_.messages(from_.cells()), -1);
  }
  // The number of the message that brings an instruction's microbatch a part of its rows.
  constexpr isize message(int kind, const instruction& it, int part) const {
    return links_.message(from_.cells(), kind, it.voice, it.stage, it.microbatch, part);
  }
  constexpr void once(std::int32_t& slot) {
    if (slot >= 0) return refuse(reason::repeated, slot);
    slot = at_;
  }
  // Within a lane, order suffices; of several in another lane, the last.
  constexpr void wait_for(std::int32_t other) {
    if (other < 0) return;
    if (other >= pair_first_) return refuse(reason::bad_pair, other);
    const instruction* const all = from_.instructions.data();
    const std::uint8_t its_lane = all[other].lane;
    if (its_lane == all[at_].lane) return;
    for (isize w = to_.wait_starts[at_]; w < to_.waits.size(); ++w) {
      if (all[to_.waits[w]].lane != its_lane) continue;
      if (other > to_.waits[w]) to_.waits[w] = other;
      return;
    }
    to_.waits.push(other);
  }

  constexpr void one(const instruction& it) {
    if (it.what > op::fetch)
      return refuse(reason::bad_structure, -1, static_cast<isize>(it.what), op_count - 1);
    if (it.paired || pair_first_ < at_) pair(it);
    if (!found_.ok()) return;
    if (it.what == op::join) return join(it);
    if (it.voice < 0 || it.voice >= from_.voices.size())
      return refuse(reason::not_its_stage, -1, it.voice, from_.voices.size());
    const voice& of = from_.voices[it.voice];
    if (it.stage < 0 || it.stage >= of.stages || from_.place(of, it.stage) != rank_)
      return refuse(reason::not_its_stage, -1, it.stage, of.stages);
    stage_state& stage = stages_[of.first_place + it.stage];
    if (it.what >= op::reduce_gradient && it.what <= op::optimizer_step) return about(it, of, stage);
    if (it.microbatch < 0 || it.microbatch >= of.microbatches)
      return refuse(reason::not_its_stage, -1, it.microbatch, of.microbatches);
    cell& own = cells_[of.cell(it.stage, it.microbatch)];
    // Few programs run anything forward again.
    if (message_kind(it.what) == 1 && sent_[1].empty()) make_room(1);
    if (is_transfer(it.what)) return transfer(it, of, own);
    if (is_forward(it.what)) forward(it, own);
    else if (it.what <= op::backward_weight) backward(it, of, own, stage);
    else move(it, own, stage);
    if (!found_.ok()) return;
    if (is_compute(it.what)) {
      if (stage.released >= 0) return refuse(reason::not_gathered, stage.released);
      wait_for(stage.gathered);
      const bool sums = meets_replicas(of, it.what) && to_.sums[of.module] >= 0;
      if (of.shards > 1 || sums) {
        in_order_with_others(it);
        if (it.paired || pair_first_ < at_) return refuse(reason::bad_pair);
        const int part = it.what == op::backward_weight ? 3 : message_kind(it.what);
        to_.meetings[at_] = (sums ? to_.sums[of.module] : to_.together[it.voice]) +
                            ((sums && !of.meets_each ? 0 : part) * of.stages + it.stage) * of.microbatches +
                            it.microbatch;
      }
    }
    if (of.learns) count(it, of, stage);
  }
  // Only computations of one lane may overlap; wait_for() looks whether they need each other.
  constexpr void pair(const instruction& it) {
    const bool last = at_ + 1 == from_.starts[rank_ + 1];
    if (!is_compute(it.what) || it.what == op::join ||
        (it.paired && (last || from_.instructions[at_ + 1].lane != it.lane)))
      refuse(reason::bad_pair);
  }

  constexpr void forward(const instruction& it, cell& own) {
    const bool again = it.what == op::re_forward;
    if (again && own.ran < 0) return refuse(reason::needs_message);
    if (again && own.kept >= 0) return refuse(reason::repeated, own.kept);
    wait_for(own.loaded);
    links_.each_previous(it.voice, it.stage, it.microbatch, [&](const cell_seat& at, int part, int) {
      const cell& before = cells_[links_.cell(at)];
      const bool replayed = before.kept >= 0 && before.kept != before.ran;
      const std::int32_t here = !again ? before.ran : replayed ? before.kept : -1;
      need(rank_of(at) == rank_ ? here : received_[again ? 1 : 0][message(again ? 1 : 0, it, part)]);
    });
    if (!found_.ok()) return;
    if (again) wait_for(own.ran);
    else once(own.ran);
    if (keeps(it.what)) own.kept = at_;
  }
  constexpr void backward(const instruction& it, const voice& of, cell& own, stage_state& stage) {
    if (it.what != op::backward_weight) {
      if (own.kept < 0) return refuse(reason::backward_first);
      wait_for(own.kept);
      links_.each_source(2, it.voice, it.stage, it.microbatch, [&](const cell_seat& at, int part, int) {
        need(rank_of(at) == rank_ ? cells_[links_.cell(at)].gave_input : received_[2][message(2, it, part)]);
      });
      if (!found_.ok()) return;
      if (it.stage + 1 == of.stages && of.join >= 0) {
        const std::int32_t met = joined_[first_groups_[it.voice] + it.microbatch / of.group];
        if (met < 0) return refuse(reason::before_join);
        wait_for(met);
      }
      if (own.offloaded >= 0 && own.fetched < 0) return refuse(reason::not_fetched, own.offloaded);
      wait_for(own.fetched);
      once(own.gave_input);
    } else {
      if (own.gave_input < 0) return refuse(reason::weight_first);
      wait_for(own.gave_input);
    }
    if (it.what == op::backward_input || !found_.ok()) return;
    if (stage.updated >= 0) return refuse(reason::update_first, stage.updated);
    // Both add to one gradient.
    wait_for(stage.last_weight);
    once(own.gave_weight);
    ++stage.weights;
    stage.last_weight = at_;
  }
  constexpr void move(const instruction& it, cell& own, const stage_state& stage) {
    if (it.what == op::load) {
      if (it.stage != 0) return refuse(reason::not_its_stage, -1, it.stage, 0);
      if (own.ran >= 0) return refuse(reason::needs_message, own.ran);
      return once(own.loaded);
    }
    if (it.what == op::offload) {
      if (own.kept < 0 || own.gave_input >= 0) return refuse(reason::nothing_to_send, own.gave_input);
      wait_for(own.kept);
      wait_for(stage.last_offload);
      return once(own.offloaded);
    }
    if (own.offloaded < 0) return refuse(reason::not_fetched);
    wait_for(own.offloaded);
    once(own.fetched);
  }
  // Counts the microbatches that the stage keeps. An instruction that takes a slot waits for one that left
  // it; a pair that overlaps takes its slots before it leaves any.
  constexpr void count(const instruction& it, const voice& of, stage_state& stage) {
    const std::int32_t slots = from_.slots[of.first_place + it.stage];
    if (live_change(it.what) > 0) {
      if (++stage.live > slots && slots > 0) return refuse(reason::too_many_kept, -1, stage.live, slots);
      if (slots == 0) return;
      wait_for(stage.last_end);
      wait_for(stage.last_offload);
    } else if (live_change(it.what) < 0) {
      leaving_.push(at_);
    }
  }
  constexpr void leave() {
    for (const std::int32_t i : leaving_) {
      const instruction& it = from_.instructions[i];
      stage_state& stage = stages_[from_.voices[it.voice].first_place + it.stage];
      --stage.live;
      (it.what == op::offload ? stage.last_offload : stage.last_end) = i;
    }
    leaving_.clear();
  }

  constexpr void join(const instruction& it) {
    const bool known = it.voice >= 0 && it.voice < from_.joins;
    if (!known || it.microbatch < 0 ||
        it.microbatch >= to_.first_meetings[it.voice + 1] - to_.first_meetings[it.voice])
      return refuse(reason::not_its_stage, -1, it.microbatch, it.voice);
    bool member = false;
    for (std::int32_t v = first_at_home_[rank_]; v >= 0; v = next_at_home_[v]) {
      const voice& of = from_.voices[v];
      if (of.join != it.voice) continue;
      member = true;
      passage& passed = passed_[v];
      if (passed.groups != it.microbatch)
        return refuse(passed.groups > it.microbatch ? reason::repeated : reason::join_order, passed.last,
                      it.microbatch, passed.groups);
      for (std::int32_t m = it.microbatch * of.group; m < (it.microbatch + 1) * of.group; ++m) {
        const cell& own = cells_[of.cell(of.stages - 1, m)];
        if (own.ran < 0) return refuse(reason::join_first, -1, m, of.microbatches);
        wait_for(own.ran);
      }
      passed = {it.microbatch + 1, at_};
      joined_[first_groups_[v] + it.microbatch] = at_;
    }
    if (!member) return refuse(reason::not_its_stage, -1, it.microbatch, it.voice);
    in_order_with_others(it);
    to_.meetings[at_] = to_.first_meetings[it.voice] + it.microbatch;
  }
  // Ranks that meet others in several lanes which compute do it in the order of their lists. Each by itself,
  // two lanes would come to two ranks' common groups in different orders.
  constexpr void in_order_with_others(const instruction& it) {
    if (!lane::computes(it.lane)) return;
    if (last_met_ >= from_.starts[rank_]) wait_for(last_met_);
    last_met_ = at_;
  }

  constexpr void transfer(const instruction& it, const voice& of, cell& own) {
    const bool sends = is_send(it.what);
    const int kind = message_kind(it.what);
    const linked_cell other = links_.other_end(sends, kind, it.voice, it.stage, it.microbatch, it.part);
    if (!other.there()) {
      const std::int32_t stage = it.stage + (sends != (kind == 2) ? 1 : -1);
      return refuse(reason::unmatched, -1, stage, of.stages);
    }
    const std::int32_t peer = rank_of(other.at);
    if (peer == rank_ || peer != it.peer) return refuse(reason::unmatched, -1, it.peer, peer);
    if (!sends) {
      to_.waits.push(-1);  // for the send, which may not be known yet
      // Rows that came after their use would be lost.
      std::int32_t& received = received_[kind][message(kind, it, it.part)];
      if (kind == 2 ? own.gave_input >= 0 : kind == 1 ? own.kept >= 0 : own.ran >= 0)
        return refuse(received >= 0 ? reason::repeated : reason::needs_message, received);
      return once(received);
    }
    const std::int32_t source = kind == 2 ? own.gave_input : kind == 1 ? own.kept : own.ran;
    if (source < 0 || (kind == 1 && own.kept == own.ran)) return refuse(reason::nothing_to_send);
    wait_for(source);
    once(sent_[kind][links_.message(from_.cells(), kind, other.at.voice, other.at.stage, other.at.microbatch,
                                    other.part)]);
  }

  constexpr std::int32_t rank_of(const cell_seat& at) const {
    return from_.place(from_.voices[at.voice], at.stage);
  }
  constexpr void about(const instruction& it, const voice& of, stage_state& stage) {
    if (it.what == op::gather_parameters) {
      if (stage.gathered >= 0) return refuse(reason::repeated, stage.gathered);
      wait_for(stage.released);
      stage.gathered = at_;
      stage.released = -1;
      return;
    }
    if (it.what == op::release_parameters) {
      if (stage.released >= 0) return refuse(reason::repeated, stage.released);
      // It waits for all that used them.
      for (std::int32_t i = at_ - 1; i >= from_.starts[rank_] && i != stage.gathered; --i) {
        const instruction& used = from_.instructions[i];
        if (is_compute(used.what) && used.what != op::join && used.voice == it.voice &&
            used.stage == it.stage)
          wait_for(i);
      }
      wait_for(stage.gathered);
      stage.released = at_;
      stage.gathered = -1;
      return;
    }
    if (stage.weights != of.microbatches)
      return refuse(reason::update_first, -1, stage.weights, of.microbatches);
    wait_for(stage.last_weight);
    const std::int32_t meeting = to_.reductions[of.module];
    if (it.what == op::reduce_gradient) {
      if (stage.updated >= 0) return refuse(reason::update_first, stage.updated);
      if (meeting >= 0) {
        to_.meetings[at_] = meeting + it.stage;
        ++reduced_[meeting + it.stage];
      }
      return once(stage.reduced);
    }
    if (meeting >= 0 && stage.reduced < 0) return refuse(reason::update_first, -1, 0, 1);
    wait_for(stage.reduced);
    once(stage.updated);
  }

  // Nothing is left out, and messages match.
  constexpr finding complete() {
    bool updates = false;
    for (const stage_state& each : stages_) updates = updates || each.updated >= 0;
    for (const voice& of : from_.voices) {
      for (std::int32_t s = 0; s < of.stages; ++s) {
        const std::int32_t rank = from_.place(of, s);
        const auto missing = [&](std::int32_t m) { return finding{reason::left_out, rank, -1, -1, s, m}; };
        const stage_state& stage = stages_[of.first_place + s];
        if (updates && of.updates() && stage.updated < 0) return missing(-1);
        const std::int32_t meeting = to_.reductions[of.module];
        if (meeting >= 0 && stage.reduced < 0 && reduced_[meeting + s] > 0) return missing(-1);
        for (std::int32_t m = 0; m < of.microbatches; ++m) {
          const cell& own = cells_[of.cell(s, m)];
          if (own.ran < 0 || (of.learns && (own.kept < 0 || own.gave_input < 0 || own.gave_weight < 0)))
            return missing(m);
          if (own.offloaded >= 0 && own.fetched < 0)
            return {reason::not_fetched, rank, own.offloaded, -1, s, m};
          const auto v = static_cast<std::int32_t>(&of - from_.voices.data());
          finding found;
          links_.each_next(v, s, m, [&](const cell_seat& at, int part, int theirs) {
            for (int kind = 0; kind < 3 && found.ok(); ++kind) {
              if (sent_[kind].empty()) continue;
              const isize number =
                  kind == 2 ? links_.message(from_.cells(), 2, v, s, m, part)
                            : links_.message(from_.cells(), kind, at.voice, at.stage, at.microbatch, theirs);
              found = match(sent_[kind][number], received_[kind][number], rank);
            }
          });
          if (!found.ok()) return found;
        }
      }
      if (of.join < 0) continue;
      const passage& passed = passed_[&of - from_.voices.data()];
      if (passed.groups != of.joins())
        return {reason::left_out, home(from_, of), passed.last, -1, passed.groups, of.joins()};
    }
    return {};
  }
  constexpr finding match(std::int32_t send, std::int32_t receive, std::int32_t rank) {
    if (send < 0 && receive < 0) return {};
    if (send < 0 || receive < 0) return {reason::unmatched, rank, send < 0 ? receive : send, -1, 0, 1};
    to_.waits[to_.wait_starts[receive]] = send;
    return {};
  }

  const program& from_;
  program_graph& to_;
  list<cell> cells_;
  list<stage_state> stages_;
  list<passage> passed_;  // of each voice, the joins that it has passed
  // of each rank a voice whose last stage it holds, and of each voice another one
  list<std::int32_t> first_at_home_, next_at_home_;
  list<std::int32_t> first_groups_, joined_;  // of each voice, among the joins of each voice's groups
  cell_links links_;
  // messages: forwards, replays, backwards. nvcc would destroy the first of an array alone, where it proves
  list<list<std::int32_t>> sent_, received_;
  list<std::int32_t> reduced_;  // of each meeting, how many replicas come
  list<std::int32_t> leaving_;  // what leaves a slot when the pair is over
  std::int32_t rank_ = 0, at_ = 0, pair_first_ = 0;
  std::int32_t last_met_ = -1;  // of what meets others in lanes that compute
  finding found_;
};

// The graph of buffered messages, without lanes.
constexpr finding read_program(const program& from, program_graph& out) {
  out = {};
  if (const finding found = check_structure(from); !found.ok()) return found;
  if (const finding found = put_meetings(from, out); !found.ok()) return found;
  return list_reader(from, out).read();
}

}  // namespace detail

// Checks the tables and every list of a program, and finds who waits for whom. Whether all of it can then run
// is for play.hpp to say.
constexpr finding build_graph(const program& from, delivery how, program_graph& out) {
  if (const finding found = detail::read_program(from, out); !found.ok()) return found;
  if (how == delivery::rendezvous) detail::meet_in_messages(from, out);
  detail::put_lanes(from, out);
  return {};
}

}  // namespace motet
