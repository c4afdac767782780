// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/live.hpp>
#include <motet/schedule/core/offload.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/schedule/core/score.hpp>

namespace motet {

// Messages travel in these lanes. A channel is one kind of message from one rank to another; with a lane of
// its own at both ends, no message waits for another channel's partner. One lane for all, or the compute lane
// itself, is what a rank with a single queue does; check() says whether that can hang.
enum class messages : std::uint8_t { in_channels, in_one_lane, in_compute };

struct compile_config {
  messages carried = messages::in_channels;
  bool update = true;  // an optimizer step for each stage
  bool reduce = true;  // before that a sum of its gradients, where its module has replicas or shards
};

namespace detail {

struct transfer_ops {
  op send, receive;
};
inline constexpr transfer_ops transfers[] = {{op::send_forward, op::receive_forward},
                                             {op::send_replay, op::receive_replay},
                                             {op::send_backward, op::receive_backward}};

// Puts receives before their first use, in the order in which the other side sends, and sends behind what
// they send.
class message_writer {
  constexpr std::int32_t rank_of(const cell_seat& at) const {
    return from_.place(from_.voices()[at.voice], at.stage);
  }
  // visit(cell, part, their part): of those on other ranks that get what this cue makes. A stage that kept
  // its microbatch at once asks for no replay.
  template <class Visit>
  constexpr void each_sent(const cue& made, std::int32_t rank, Visit&& visit) const {
    const int kind = message_kind(made.what);
    if (kind < 0) return;
    links_.each_target(kind, made.voice, made.stage, made.microbatch,
                       [&](const cell_seat& at, int part, int theirs) {
                         if (rank_of(at) == rank || (kind == 1 && replays_[links_.cell(at)] == 0)) return;
                         visit(at, part, theirs);
                       });
  }

 public:
  constexpr message_writer(const score& from, program& to, messages how)
      : from_(from), to_(to), how_(how), links_(from.voices(), from.feeds()) {
    received_.resize(3 * links_.messages(from.cells()), 0);
    replays_.resize(from.cells(), 0);
    channels_of_.resize(from.ranks(), -1);
    for (const std::int64_t code : from.codes())
      if (const cue each(code); each.what == op::re_forward)
        replays_[from.voices()[each.voice].cell(each.stage, each.microbatch)] = 1;
    for (std::int32_t rank = 0; rank < from.ranks(); ++rank) {
      for (std::int32_t i = from.begin_of(rank); i < from.end_of(rank); ++i) {
        each_sent(from[i], rank, [&](const cell_seat& at, int, int part) {
          channel& way =
              between(rank, rank_of(at), message_kind(from[i].what), from.voices()[from[i].voice].lane);
          const auto number = static_cast<std::int32_t>(sent_.size());
          sent_.push({at, part, -1});
          (way.last < 0 ? way.next : sent_[way.last].next) = number;
          way.last = number;
        });
      }
    }
  }
  constexpr void begin_rank() { next_lane_ = lane::first_channel; }

  constexpr void before(const cue& use, std::int32_t rank) {
    const int kind = message_kind(use.what);
    if (kind < 0) return;
    const cell_seat here{use.voice, use.stage, use.microbatch};
    links_.each_source(
        kind, use.voice, use.stage, use.microbatch, [&](const cell_seat& source, int part, int) {
          if (rank_of(source) == rank) return;
          channel& way = between(rank_of(source), rank, kind, from_.voices()[source.voice].lane);
          while (way.next >= 0 && received_[message(kind, here, part)] == 0) {
            const sending& each = sent_[way.next];
            received_[message(kind, each.at, each.part)] = 1;
            put(transfers[kind].receive, way.receive_lane, each.at, each.part, way.from);
            way.next = each.next;
          }
        });
  }
  constexpr void after(const cue& made, std::int32_t rank) {
    each_sent(made, rank, [&](const cell_seat& at, int part, int) {
      channel& way = between(rank, rank_of(at), message_kind(made.what), from_.voices()[made.voice].lane);
      put(transfers[way.kind].send, way.send_lane, {made.voice, made.stage, made.microbatch}, part, way.to);
    });
  }

 private:
  struct channel {
    std::int32_t from, to;
    int kind;
    std::int32_t computed;  // in which of the sender's lanes, so that none waits for another's messages
    std::int32_t next = -1, last = -1;  // messages: the next to receive, the last to send
    std::uint8_t send_lane = 0, receive_lane = 0;
    std::int32_t next_channel = -1;  // of the same rank
  };
  // A message, by what is going to use it.
  struct sending {
    cell_seat at;
    std::int32_t part, next;
  };

  constexpr isize message(int kind, const cell_seat& at, int part) const {
    return isize{kind} * links_.messages(from_.cells()) +
           links_.message(from_.cells(), kind, at.voice, at.stage, at.microbatch, part);
  }
  constexpr channel& between(std::int32_t from, std::int32_t to, int kind, std::int32_t computed) {
    std::int32_t* link = &channels_of_[from];
    for (; *link >= 0; link = &channels_[*link].next_channel)
      if (const channel& each = channels_[*link];
          each.to == to && each.kind == kind && each.computed == computed)
        return channels_[*link];
    const auto number = static_cast<std::int32_t>(channels_.size());
    *link = number;
    channels_.push({from, to, kind, computed});
    return channels_[number];
  }
  constexpr void put(op what, std::uint8_t& own_lane, const cell_seat& at, std::int32_t part,
                     std::int32_t peer) {
    std::uint8_t in_lane = how_ == messages::in_compute ? lane::compute : lane::first_channel;
    if (how_ == messages::in_channels) {
      // A rank with dozens of neighbours has more channels than lanes; the last lane then takes several, and
      // check() says whether that can hang.
      if (own_lane == 0) own_lane = next_lane_ < lane::last_channel ? next_lane_++ : next_lane_;
      in_lane = own_lane;
    }
    to_.instructions.push(
        {what, in_lane, false, static_cast<std::uint8_t>(part), at.voice, at.stage, at.microbatch, peer});
  }

  const score& from_;
  program& to_;
  messages how_;
  cell_links links_;
  list<sending> sent_;  // channel after channel linked in the order of the sender
  list<channel> channels_;
  list<std::int32_t> channels_of_;  // of each rank the first one that it sends on
  list<std::uint8_t> received_;     // of each message
  list<std::uint8_t> replays_;      // of each cell: it runs forward again
  std::uint8_t next_lane_ = lane::first_channel;
};

}  // namespace detail

// Puts the updates of stages behind all else that their ranks do, a rank's in the order of voices and stages.
class update_writer {
 public:
  // The voices and places of `to` must be there.
  constexpr update_writer(program& to, const compile_config& config)
      : to_(to), config_(config), replicas_(replicas_of_modules(to.voices)) {
    list<held> all;
    for (isize v = 0; v < to.voices.size(); ++v)
      for (std::int32_t s = 0; to.voices[v].updates() && s < to.voices[v].stages; ++s)
        all.push({to.place(to.voices[v], s), static_cast<std::int32_t>(v), s});
    for (const held& each : all) {
      if (each.rank + 1 >= ends_.size()) ends_.resize(each.rank + 2, 0);
      ++ends_[each.rank + 1];
    }
    for (isize r = 1; r < ends_.size(); ++r) ends_[r] += ends_[r - 1];
    list<std::int32_t> next = ends_;
    stages_.resize(all.size(), {});
    for (const held& each : all) stages_[next[each.rank]++] = each;
  }
  constexpr void put(std::int32_t rank) const {
    if (rank + 1 >= ends_.size()) return;
    for (std::int32_t i = ends_[rank]; i < ends_[rank + 1]; ++i) {
      const held& each = stages_[i];
      if (config_.reduce && replicas_[to_.voices[each.voice].module] > 1)
        to_.instructions.push({op::reduce_gradient, lane::reduce, false, 0, each.voice, each.stage, -1, -1});
      if (config_.update)
        to_.instructions.push({op::optimizer_step, lane::compute, false, 0, each.voice, each.stage, -1, -1});
    }
  }

 private:
  struct held {
    std::int32_t rank = 0, voice = 0, stage = 0;
  };

  program& to_;
  compile_config config_;
  list<std::int32_t> replicas_;
  list<std::int32_t> ends_;  // of each rank the end of its stages, behind a zero
  list<held> stages_;        // those that learn, rank after rank
};

// A score that prove() passes, with its messages, its updates, what leaves the device's memory and comes
// back, and the slots that it needs.
// Asks for: a score that prove() passes.
// Memory: the program: an instruction for each computation, message and update.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   const program steps = compile(one_f_one_b::write({.stages = 4, .microbatches = 8}));
constexpr program compile(const score& from, compile_config config = {}) {
  program made;
  made.voices = from.voices();
  made.places = from.places();
  made.joins = from.joins();
  made.feeds = from.feeds();
  made.instructions.reserve(3 * from.codes().size() + 2 * from.places().size());
  made.starts.reserve(from.ranks() + 1);
  detail::message_writer carrier(from, made, config.carried);
  const update_writer updates(made, config);
  for (std::int32_t rank = 0; rank < from.ranks(); ++rank) {
    carrier.begin_rank();
    const list<kept_move> moves = moves_of_rank(from, rank);
    const std::int32_t end = from.end_of(rank);
    for (std::int32_t i = from.begin_of(rank), next = 0; i < end;) {
      for (; next < moves.size() && moves[next].before == i; ++next)
        made.instructions.push({moves[next].what, lane::copy, false, 0, moves[next].voice, moves[next].stage,
                                moves[next].microbatch, -1});
      // Cues that overlap run as one: all receives before, all sends behind.
      std::int32_t last = i;
      while (last + 1 < end && from[last].paired) ++last;
      for (std::int32_t c = i; c <= last; ++c) carrier.before(from[c], rank);
      for (std::int32_t c = i; c <= last; ++c) {
        const cue each = from[c];
        const bool joins = each.what == op::join;
        const std::uint8_t in_lane = each.aside ? lane::aside
                                     : joins    ? lane::compute
                                                : lane::of_computing(made.voices[each.voice].lane);
        made.instructions.push(
            {each.what, in_lane, each.paired, 0, each.voice, joins ? -1 : each.stage, each.microbatch, -1});
      }
      for (std::int32_t c = i; c <= last; ++c) carrier.after(from[c], rank);
      i = last + 1;
    }
    updates.put(rank);
    made.starts.push(static_cast<std::int32_t>(made.instructions.size()));
  }
  made.slots = live_of_stages(made);
  return made;
}

// The computations of a program alone: what compile() started from.
constexpr score score_of(const program& from) {
  score out;
  for (const voice& each : from.voices) out.add(each, [&](int stage) { return from.place(each, stage); });
  for (const fed_cell& each : from.feeds) out.feed(each);
  for (std::int32_t rank = 0; rank < from.ranks(); ++rank) {
    out.rank();
    for (const instruction& each : from.role(rank)) {
      if (!is_compute(each.what)) continue;
      if (each.what == op::join) out.join(each.voice, each.microbatch, each.lane != lane::compute);
      else out.play(each.what, each.voice, each.stage, each.microbatch);
      if (each.paired) out.pair_with_next();
    }
  }
  return out;
}

}  // namespace motet
