// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule_laws.hpp"

namespace motet::laws {

enum class damage {
  dropped,
  duplicated,
  swapped,
  peer,
  microbatch,
  stage,
  voice,
  lane,
  operation,
  pair,
  moved,
  part
};
inline constexpr int damage_count = static_cast<int>(damage::part) + 1;

inline void insert(program& into, int rank, int at, const instruction& what) {
  list<instruction> all;
  all.append(into.instructions.data(), at);
  all.push(what);
  all.append(into.instructions.data() + at, into.instructions.size() - at);
  into.instructions = all;
  for (int r = rank + 1; r <= into.ranks(); ++r) ++into.starts[r];
}
inline void remove(program& from, int at) {
  const int rank = from.rank_of(at);
  for (isize i = at; i + 1 < from.instructions.size(); ++i) from.instructions[i] = from.instructions[i + 1];
  from.instructions.pop();
  for (int r = rank + 1; r <= from.ranks(); ++r) --from.starts[r];
}

// One thing wrong, somewhere.
inline program break_program(program of, damage how, dice& draw) {
  const int at = draw.below(of.instructions.size()), rank = of.rank_of(at);
  const auto position_of = [&](int r) { return draw.between(of.starts[r], of.starts[r + 1]); };
  instruction& it = of.instructions[at];
  const instruction kept = it;
  switch (how) {
    case damage::dropped: remove(of, at); break;
    case damage::duplicated: insert(of, rank, position_of(rank), kept); break;
    case damage::swapped:
      std::swap(it, of.instructions[draw.between(of.starts[rank], of.starts[rank + 1] - 1)]);
      break;
    case damage::peer: it.peer = draw.between(-1, of.ranks()); break;
    case damage::microbatch: it.microbatch = draw.between(-1, of.voices[0].microbatches); break;
    case damage::stage: it.stage = draw.between(-1, of.voices[0].stages); break;
    case damage::voice: it.voice = draw.between(-1, static_cast<int>(of.voices.size())); break;
    case damage::lane: it.lane = static_cast<std::uint8_t>(draw.below(9)); break;
    case damage::operation: it.what = static_cast<op>(draw.below(op_count + 1)); break;
    case damage::pair: it.paired = !it.paired; break;
    case damage::part: it.part = static_cast<std::uint8_t>(draw.below(4)); break;
    case damage::moved: {
      const int to = draw.below(of.ranks());
      remove(of, at);
      insert(of, to, position_of(to), kept);
      break;
    }
  }
  return of;
}

// A message between modules can be wrong in these ways.
enum class feed_damage { late, early, dropped, doubled, swapped, exchanged };
inline constexpr int feed_damage_count = static_cast<int>(feed_damage::exchanged) + 1;

inline bool crosses_modules(const program& of, const instruction& it) {
  if (!is_transfer(it.what) || of.feeds.empty()) return false;
  const bool at_end = is_send(it.what) != (message_kind(it.what) == 2);
  return it.stage == (at_end ? of.voices[it.voice].stages - 1 : 0);
}
// One message between modules is wrong: it comes behind all that its rank does, or leaves before it, is
// missing or there twice, has changed places with another one, or both have taken the other's name.
inline program break_feed(program of, feed_damage how, dice& draw) {
  std::vector<int> all;
  for (int i = 0; i < of.instructions.size(); ++i)
    if (const instruction& it = of.instructions[i]; crosses_modules(of, it) &&
                                                    (how != feed_damage::late || is_receive(it.what)) &&
                                                    (how != feed_damage::early || is_send(it.what)))
      all.push_back(i);
  REQUIRE(!all.empty());
  const auto any = [&] { return all[static_cast<std::size_t>(draw.below(static_cast<isize>(all.size())))]; };
  const int at = any(), rank = of.rank_of(at);
  const instruction kept = of.instructions[at];
  std::erase_if(all, [&](int i) { return of.rank_of(i) != rank; });
  instruction &one = of.instructions[at], &other = of.instructions[any()];
  switch (how) {
    case feed_damage::late:
      remove(of, at);
      insert(of, rank, of.starts[rank + 1], kept);
      break;
    case feed_damage::early:
      remove(of, at);
      insert(of, rank, of.starts[rank], kept);
      break;
    case feed_damage::dropped: remove(of, at); break;
    case feed_damage::doubled: insert(of, rank, at + 1, kept); break;
    case feed_damage::swapped: std::swap(one, other); break;
    case feed_damage::exchanged:
      std::swap(one.microbatch, other.microbatch);
      std::swap(one.part, other.part);
      break;
  }
  return of;
}

// check() must agree with the oracle on what is broken, with both deliveries.
inline void check_verdict(const program& broken, bool must_refuse, int& refused) {
  for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
    const check_result result = check(broken, how);
    const oracle meaning(broken, how);
    CHECK_MESSAGE(result.ok() == meaning.legal(),
                  "with " << static_cast<int>(how) << ": " << explain(broken, result));
    CHECK_MESSAGE((result.found.why == reason::deadlock) == meaning.hangs(), explain(broken, result));
    CHECK_FALSE((must_refuse && result.ok()));
    refused += result.ok() ? 0 : 1;
    if (result.found.why != reason::deadlock) continue;
    // The witness is a cycle: each waits for something in the lane where the next one stands.
    REQUIRE(!result.cycle.empty());
    for (isize i = 0; i < result.cycle.size(); ++i) {
      const blocked &each = result.cycle[i], &next = result.cycle[(i + 1) % result.cycle.size()];
      REQUIRE(each.waits_for >= 0);
      CHECK(broken.rank_of(each.waits_for) == broken.rank_of(next.at));
      CHECK(broken.instructions[each.waits_for].lane == broken.instructions[next.at].lane);
      CHECK(each.waits_for >= next.at);
    }
    timeline when;
    CHECK(simulate(broken, even_costs(broken, {}), when, how).why == reason::deadlock);
  }
}
// In a program that compile() made, nothing may be missing or there twice.
inline void check_broken(const program& whole, damage kind, dice& draw, int& refused, bool compiled = true) {
  CAPTURE(static_cast<int>(kind));
  check_verdict(break_program(whole, kind, draw),
                compiled && (kind == damage::dropped || kind == damage::duplicated), refused);
}
// A message between modules may come neither too late nor too early.
inline void check_broken_feed(const program& whole, feed_damage kind, dice& draw, int& refused) {
  CAPTURE(static_cast<int>(kind));
  check_verdict(break_feed(whole, kind, draw), kind <= feed_damage::doubled, refused);
}

}  // namespace motet::laws
