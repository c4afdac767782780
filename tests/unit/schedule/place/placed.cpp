// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/strategy/mesh.hpp>

#include "schedule_laws.hpp"

#include <array>
#include <set>

using namespace motet;

namespace {

// A score, and where each of its modules goes: a device of the score is a stage of the mesh.
struct placing {
  score seats;
  std::vector<mesh> on;
  std::int32_t ranks = 1;
  bool sums_each = false;

  // Says whether some ranks wait for each other within a computation.
  bool together() const {
    for (const mesh& each : on)
      if (each.split().context * each.split().tensor > 1 || (sums_each && each.split().data > 1)) return true;
    return false;
  }
  std::int32_t first_seat(std::size_t v) const {
    std::int32_t first = 0;
    for (std::size_t k = 0; k < v; ++k) first += on[k].split().stages;
    return first;
  }
  score place() const {
    list<voice_spread> spreads;
    for (const mesh& each : on)
      spreads.push({each.split().data, each.split().context * each.split().tensor, sums_each});
    return placed(seats, spreads, ranks,
                  [this](std::int32_t v, std::int32_t replica, std::int32_t shard, std::int32_t stage) {
                    const mesh& own = on[static_cast<std::size_t>(v)];
                    const std::int32_t device = seats.place(seats.voices()[v], stage) -
                                                first_seat(static_cast<std::size_t>(v)),
                                       tensor = own.split().tensor;
                    return own.rank({device, replica, shard / tensor, shard % tensor});
                  });
  }
};

// Degrees and ranks at random: apart, shared in part or wholly, in any order, some ranks idle.
mesh draw_mesh(laws::dice& roll, int stages, int ranks, bool cut) {
  degrees split{.stages = stages};
  for (std::int32_t* const each : {&split.data, &split.context, &split.tensor})
    if (each != &split.data && !cut) break;
    else if (const int ways = roll.between(1, 3); split.size() * ways <= ranks) *each = ways;
  std::vector<std::int32_t> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  for (std::size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[static_cast<std::size_t>(roll.below(static_cast<motet::isize>(i)))]);
  list<std::int32_t> own;
  for (int i = 0; i < split.size(); ++i) own.push(all[static_cast<std::size_t>(i)]);
  return {split, own};
}

score draw_towers(laws::dice& roll, std::vector<int>& stages) {
  const int towers = roll.between(1, 3), groups = roll.between(1, 3);
  score out;
  if (roll.below(2) == 0) {
    batch_sync::shape all;
    all.count = towers;
    for (int k = 0; k < towers; ++k) {
      tower_shape& own = all.towers[k];
      own = {.stages = roll.between(1, 3), .group = roll.between(1, 4), .ahead = roll.between(0, 1)};
      own.microbatches = own.group * groups;
      own.stash = roll.between(-1, own.group);
      stages.push_back(own.stages);
    }
    return batch_sync::write(all);
  }
  for (int k = 0; k < towers; ++k) {
    constexpr const char* names[] = {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "dualpipe_v"};
    schedule_options numbers;
    numbers.stages = roll.between(1, 3);
    numbers.microbatches = groups * roll.between(1, 3);
    score one;
    // Some numbers do not fit some schedules.
    if (!write_schedule(names[roll.below(7)], numbers, one).ok())
      one = gpipe::write({numbers.stages, numbers.microbatches});
    stages.push_back(numbers.stages);
    out = k == 0 ? one : beside(out, one);
  }
  return joined(out, groups);
}

placing draw(laws::dice& roll) {
  placing out;
  std::vector<int> stages;
  out.seats = draw_towers(roll, stages);
  while (!prove(out.seats).ok()) {
    stages.clear();
    out.seats = draw_towers(roll, stages);
  }
  out.ranks = roll.between(3, 16);
  out.sums_each = roll.below(4) == 0;
  const bool cut = roll.below(3) > 0;
  for (const int each : stages) out.on.push_back(draw_mesh(roll, each, out.ranks, cut));
  return out;
}

// Rank `seat` of the score holds these, and a rank of the result those below, as (voice of the score, stage).
std::multiset<std::pair<int, int>> held_by_seat(const score& of, int seat) {
  std::multiset<std::pair<int, int>> found;
  for (motet::isize v = 0; v < of.voices().size(); ++v)
    for (int s = 0; s < of.voices()[v].stages; ++s)
      if (of.place(of.voices()[v], s) == seat) found.emplace(static_cast<int>(v), s);
  return found;
}
std::multiset<std::pair<int, int>> held_by_rank(const score& of, int rank) {
  std::multiset<std::pair<int, int>> found;
  for (const voice& each : of.voices())
    for (int s = 0; s < each.stages; ++s)
      if (of.place(each, s) == rank) found.emplace(each.module, s);
  return found;
}

// Where a rank of the result holds what a rank of the score did, both lists are the same, unless ranks
// compute together.
int check_whole_seats(const placing& from, const score& out) {
  int whole = 0;
  if (from.together()) return 0;
  for (int r = 0; r < out.ranks(); ++r) {
    const auto held = held_by_rank(out, r);
    for (int seat = 0; seat < from.seats.ranks() && !held.empty(); ++seat) {
      if (held_by_seat(from.seats, seat) != held) continue;
      ++whole;
      REQUIRE(out.end_of(r) - out.begin_of(r) == from.seats.end_of(seat) - from.seats.begin_of(seat));
      for (int i = 0; i < out.end_of(r) - out.begin_of(r); ++i) {
        const cue a = out[out.begin_of(r) + i], b = from.seats[from.seats.begin_of(seat) + i];
        const bool join = a.what == op::join;
        REQUIRE((a.what == b.what && a.microbatch == b.microbatch && a.aside == b.aside &&
                 (join || a.stage == b.stage)));
        REQUIRE((join ? a.voice == b.voice : out.voices()[a.voice].module == b.voice));
      }
    }
  }
  return whole;
}

}  // namespace

TEST_CASE("any placement of any towers is a legal order, and the same list where a rank holds a whole seat") {
  laws::dice roll(5);
  int shared = 0, idle = 0, sharded = 0, replicated = 0, whole = 0;
  for (int n = 0; n < 700; ++n) {
    CAPTURE(n);
    const placing from = draw(roll);
    const score out = from.place();
    REQUIRE(out.ranks() == from.ranks);
    // Every (replica, shard) of every module is there once, with its place in the mesh.
    motet::isize voices = 0;
    for (const mesh& each : from.on) voices += each.split().size() / each.split().stages;
    REQUIRE(out.voices().size() == voices);
    laws::check_order(out);
    const verdict order = prove(out);
    REQUIRE_MESSAGE(order.ok(), order.why->sentence);
    const program of = compile(out);
    const check_result found = check(of);
    REQUIRE_MESSAGE(found.ok(), explain(of, found));
    buffer_counts buffers;
    REQUIRE(count_buffers(of, buffers).ok());
    whole += check_whole_seats(from, out);
    for (int r = 0; r < out.ranks(); ++r) {
      const auto held = held_by_rank(out, r);
      idle += held.empty() ? 1 : 0;
      shared += held.size() > 1 && held.begin()->first != held.rbegin()->first ? 1 : 0;
      REQUIRE(held.empty() == (out.begin_of(r) == out.end_of(r)));
    }
    for (const mesh& each : from.on) {
      sharded += each.split().context * each.split().tensor > 1 ? 1 : 0;
      replicated += each.split().data > 1 ? 1 : 0;
    }
  }
  // The draws are not all of one kind.
  CHECK(shared > 500);
  CHECK(idle > 500);
  CHECK(sharded > 300);
  CHECK(replicated > 300);
  CHECK(whole > 500);
}

TEST_CASE("replicas on ranks of their own are what replicate() writes") {
  const score one = one_f_one_b::write({3, 5});
  const placing from{one, {mesh::from(0, degrees{.stages = 3, .data = 2})}, 6};
  const score two = from.place(), expected = replicate(one, 2);
  REQUIRE(two.voices().size() == 2);
  for (int s = 0; s < 3; ++s) {
    for (int r = 0; r < 2; ++r) {
      const int here = 2 * s + r, there = 3 * r + s;
      REQUIRE(two.end_of(here) - two.begin_of(here) == expected.end_of(there) - expected.begin_of(there));
      for (int i = 0; i < two.end_of(here) - two.begin_of(here); ++i)
        CHECK(two.codes()[two.begin_of(here) + i] == expected.codes()[expected.begin_of(there) + i]);
    }
  }
}

TEST_CASE("shards of a stage are voices with the same order") {
  const placing from{
      gpipe::write({2, 3}), {mesh::from(0, degrees{.stages = 2, .context = 2, .tensor = 3})}, 12};
  const score out = from.place();
  REQUIRE(out.voices().size() == 6);
  for (int k = 0; k < 6; ++k) {
    const voice& each = out.voices()[k];
    CHECK((each.shard == k && each.shards == 6 && each.replica == 0 && each.module == 0));
    CHECK((out.place(each, 0) == k && out.place(each, 1) == 6 + k));
  }
  CHECK(prove(out).ok());
}

TEST_CASE("where ranks compute together, joins are part of one order for all") {
  batch_sync::shape all{{{2, 4, 2}, {1, 4, 2}}, 2};
  all.towers[0].ahead = 1;
  const score seats = batch_sync::write(all);
  const auto aside = [](const score& of) {
    int count = 0;
    for (motet::isize i = 0; i < of.codes().size(); ++i) {
      const cue each(of.codes()[i]);
      count += each.what == op::join && each.aside ? 1 : 0;
    }
    return count;
  };
  placing from{seats, {mesh::from(0, degrees{.stages = 2}), mesh::from(2, degrees{})}, 3};
  CHECK(aside(from.place()) == aside(seats));
  from.on[1] = mesh::from(2, degrees{.tensor = 2});
  from.ranks = 4;
  CHECK(aside(from.place()) == 0);
  from.on[1] = mesh::from(2, degrees{.data = 2});
  CHECK(aside(from.place()) > 0);
  from.sums_each = true;
  CHECK(aside(from.place()) == 0);
  CHECK(check(compile(from.place())).ok());
}

TEST_CASE("a rank may hold all stages of all modules") {
  const score seats = batch_sync::write({{{2, 4, 2}, {1, 2, 1}}, 2});
  const score out = placed(seats, list<voice_spread>(2, {}), 3, [](int, int, int, int) { return 1; });
  CHECK((out.end_of(0) == 0 && out.begin_of(2) == out.end_of(1)));
  CHECK(out.end_of(1) == 2 * 2 * 4 + 2 * 2 + 2);
  CHECK(prove(out).ok());
  CHECK(check(compile(out)).ok());
}

TEST_CASE("compilers can place too") {
  constexpr auto proven = [] {
    const score seats = batch_sync::write({{{2, 4, 2}, {1, 4, 2}}, 2});
    list<voice_spread> spreads;
    spreads.push({1, 2});
    spreads.push({2, 1});
    return prove(placed(seats, spreads, 4, [](int v, int replica, int shard, int stage) {
      return v == 0 ? 2 * stage + shard : 1 + replica;
    }));
  };
  static_assert(proven().ok());
  CHECK(proven().ok());
}

TEST_CASE("one rank that stands for a group plays the group's order") {
  // Two towers on the same device, the loss of one beside the computation: alone it copies the list, for a
  // group it follows the order of time.
  const score seats = batch_sync::write({{{1, 4, 2, -1, 1}, {1, 4, 2, -1, 1}}, 2});
  const auto on = [&](std::int32_t shards, bool together) {
    return placed(
        seats, {{1, shards, false}, {1, shards, false}}, shards,
        [](std::int32_t, std::int32_t, std::int32_t shard, std::int32_t) { return shard; }, together);
  };
  const auto order = [](const score& of) {
    std::vector<std::array<int, 4>> all;
    const int voices = static_cast<int>(of.voices().size()) / 2;
    for (std::int32_t i = of.begin_of(0); i < of.end_of(0); ++i) {
      const cue each = of[i];
      all.push_back({static_cast<int>(each.what), each.what == op::join ? each.voice : each.voice / voices,
                     each.microbatch, each.aside ? 1 : 0});
    }
    return all;
  };
  CHECK(order(on(1, true)) == order(on(2, false)));
  CHECK(order(on(1, false)) != order(on(2, false)));
  CHECK(prove(on(1, true)).ok());
}
