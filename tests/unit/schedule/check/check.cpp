// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/check.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/through.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include "broken_programs.hpp"
#include "schedule_text.hpp"
#include "test_schedules.hpp"

using namespace motet;
using laws::damage;

namespace {

// A small program of one of the builders, by number.
program random_program(int which, laws::dice& draw) {
  const pipeline_shape p{draw.between(1, 4), draw.between(1, 5)};
  switch (which % 8) {
    case 0: return compile(gpipe::write(p));
    case 1: return compile(one_f_one_b::write(p));
    case 2: return compile(interleaved::write({p.stages, p.stages * draw.between(1, 2), draw.between(2, 3)}));
    case 3: return compile(zb_h1::write(p));
    case 4: return compile(zb_h2::write(p));
    case 5: return compile(laws::overlapped::write(p));
    case 6: {
      const int stash = draw.between(0, 2);
      return compile(batch_sync::write(
          {{{draw.between(1, 3), 4, 2, stash, draw.below(2)}, {draw.between(1, 3), 2, 1}}, 2}));
    }
    default: return compile(replicate(one_f_one_b::write({draw.between(1, 2), draw.between(1, 3)}), 2));
  }
}
// Modules that feed one another, some by several and some several: replicas and microbatches of each its own,
// and some that do not learn.
program random_graph(laws::dice& draw) {
  through_shape of;
  list<std::int32_t> before;  // the modules so far, by the number of their first replica
  const int modules = draw.between(2, 4);
  for (int k = 0; k < modules; ++k) {
    const bool last = k + 1 == modules;
    through_module made;
    made.module = k;
    made.replicas = draw.between(1, 2);
    made.microbatches = draw.between(1, 3);
    made.meets = last;
    list<std::int32_t> sources;
    for (isize j = 0; j < before.size(); ++j)
      if (last || draw.below(2) == 0) sources.push(static_cast<std::int32_t>(j));
    // A module that is fed by one that learns learns as well.
    made.learns = last || draw.below(4) > 0;
    for (const std::int32_t j : sources)
      for (std::int32_t r = before[j]; r < (j + 1 < before.size() ? before[j + 1] : of.modules.size()); ++r) {
        made.from.push(r);
        made.learns = made.learns || of.modules[r].learns;
      }
    before.push(static_cast<std::int32_t>(of.modules.size()));
    const int stages = draw.between(1, 2), first = draw.below(3);
    for (int r = 0; r < made.replicas; ++r) {
      made.replica = r;
      made.ranks = {};
      for (int s = 0; s < stages; ++s) made.ranks.push(first + s);
      of.modules.push(made);
    }
  }
  return compile(write_through(of));
}
// Without an update there is nothing to leave out: a single stage that never updates is a program of its own.
bool may_drop(const program& of) { return of.places.size() > 1; }

}  // namespace

TEST_CASE(
    "random broken programs: what is missing or twice is caught, the rest is judged as the oracle does") {
  laws::dice draw(5);
  int refused = 0;
  const int count = 4400;
  for (int k = 0; k < count; ++k) {
    const program whole = random_program(k, draw);
    const auto kind = static_cast<damage>(k / 8 % laws::damage_count);
    if (kind == damage::dropped && !may_drop(whole)) continue;
    laws::check_broken(whole, kind, draw, refused);
  }
  CHECK(refused > count);  // of two deliveries each
  CHECK(refused < 2 * count * 9 / 10);
}

TEST_CASE("the same with loads, offloads and sharded parameters") {
  laws::dice draw(6);
  int refused = 0;
  for (int k = 0; k < 800; ++k) {
    const program whole = laws::decorated(random_program(k, draw), draw);
    REQUIRE(check(whole).ok());
    // A load may be missing, and a release may come twice when a gather has come between.
    laws::check_broken(whole, static_cast<damage>(k / 8 % laws::damage_count), draw, refused, false);
  }
  CHECK(refused > 600);
}

TEST_CASE("broken programs of modules that feed one another") {
  laws::dice draw(7);
  int refused = 0, parts = 0;
  for (int k = 0; k < 700; ++k) {
    CAPTURE(k);
    const program whole = random_graph(draw);
    REQUIRE(laws::oracle(whole, delivery::buffered).legal());
    REQUIRE(check(whole).ok());
    bool sends = false;
    for (const instruction& it : whole.instructions) {
      parts += it.part > 0 ? 1 : 0;
      sends = sends || laws::crosses_modules(whole, it);
    }
    laws::check_broken(whole, static_cast<damage>(k % laws::damage_count), draw, refused);
    if (!sends) continue;  // all modules share a rank
    laws::check_broken_feed(whole, static_cast<laws::feed_damage>(k % laws::feed_damage_count), draw,
                            refused);
  }
  CHECK(parts > 700);
  CHECK(refused > 700);
}

TEST_CASE("two pieces of damage") {
  laws::dice draw(8);
  int refused = 0;
  for (int k = 0; k < 800; ++k) {
    const program once = laws::break_program(
        random_program(k, draw), static_cast<damage>(2 + draw.below(laws::damage_count - 2)), draw);
    laws::check_broken(once, static_cast<damage>(2 + draw.below(laws::damage_count - 2)), draw, refused);
  }
  CHECK(refused > 800);
}

TEST_CASE("tables of any content are read without harm") {
  laws::dice draw(11);
  int refused = 0;
  for (int k = 0; k < 3000; ++k) {
    program of = random_program(k, draw);
    const auto number = [&] {
      return draw.below(4) == 0 ? draw.between(-2000000000, 2000000000) : draw.between(-2, 6);
    };
    for (int times = draw.between(1, 4); times-- > 0;) {
      voice& v = of.voices[draw.below(of.voices.size())];
      instruction& it = of.instructions[draw.below(of.instructions.size())];
      switch (draw.below(17)) {
        case 0: v.stages = number(); break;
        case 1: v.microbatches = number(); break;
        case 2: v.join = number(); break;
        case 3: v.group = number(); break;
        case 4: v.module = number(); break;
        case 5: v.first_cell = number(); break;
        case 6: v.first_place = number(); break;
        case 7: of.places[draw.below(of.places.size())] = number(); break;
        case 8: of.slots[draw.below(of.slots.size())] = number(); break;
        case 9: of.starts[draw.below(of.starts.size())] = number(); break;
        case 10: of.joins = number(); break;
        case 11: it.voice = number(); break;
        case 12: it.stage = number(); break;
        case 13: it.microbatch = number(); break;
        case 14: it.peer = number(); break;
        case 15: it.what = static_cast<op>(draw.below(256)); break;
        default: v.learns = !v.learns; break;
      }
    }
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
      const check_result result = check(of, how);
      timeline when;
      // A program that cannot be priced is not simulated: costs are tables over the voices.
      const bool fits = check_structure(of).ok();
      if (fits) CHECK(simulate(of, even_costs(of, {}), when, how).ok() == result.ok());
      else CHECK_FALSE(result.ok());
      refused += result.ok() ? 0 : 1;
    }
  }
  CHECK(refused > 3000);
}

TEST_CASE("a rank with one queue hangs where two neighbours send to each other; the cycle says so") {
  const program of = compile(one_f_one_b::write({4, 8}), {messages::in_compute});
  CHECK(check(of, delivery::buffered).ok());
  const check_result result = check(of, delivery::rendezvous);
  CHECK(result.found.why == reason::deadlock);
  REQUIRE(result.cycle.size() == 2);
  // Rank 2 would send a forward to rank 3, which would send a backward to rank 2.
  const instruction &first = of.instructions[result.cycle[0].at],
                    &second = of.instructions[result.cycle[1].at];
  CHECK(of.rank_of(result.cycle[0].at) == 2);
  CHECK((first.what == op::send_forward && first.stage == 2 && first.microbatch == 1 && first.peer == 3));
  CHECK(of.rank_of(result.cycle[1].at) == 3);
  CHECK(
      (second.what == op::send_backward && second.stage == 3 && second.microbatch == 0 && second.peer == 2));
  CHECK(of.instructions[result.cycle[0].waits_for].what == op::receive_forward);
  CHECK(of.instructions[result.cycle[1].waits_for].what == op::receive_backward);
  // GPipe has no two-way traffic: one queue is enough for it.
  CHECK(check(compile(gpipe::write({4, 8}), {messages::in_compute})).ok());
  const verdict brief = result.brief();
  CHECK((brief.why == reason::deadlock && brief.where == result.found.rank && brief.got == result.found.at));
}

TEST_CASE("a cycle over three ranks") {
  // Three modules of two stages in a ring; every rank would run its first stage's send before it receives for
  // the other.
  program of;
  for (int k = 0; k < 3; ++k) {
    voice each = laws::a_voice(2, 1);
    each.module = k;
    each.learns = false;
    each.first_place = each.first_cell = 2 * k;
    of.voices.push(each);
    of.places.push(k);
    of.places.push((k + 1) % 3);
  }
  for (int r = 0; r < 3; ++r) {
    const int before = (r + 2) % 3;
    of.instructions.push({op::forward, lane::compute, false, 0, r, 0, 0});
    of.instructions.push({op::send_forward, lane::compute, false, 0, r, 0, 0, (r + 1) % 3});
    of.instructions.push({op::receive_forward, lane::compute, false, 0, before, 1, 0, before});
    of.instructions.push({op::forward, lane::compute, false, 0, before, 1, 0});
    of.starts.push(4 * (r + 1));
  }
  of.slots.resize(6, 0);
  CHECK(check(of, delivery::buffered).ok());
  const check_result result = check(of);
  CHECK(result.found.why == reason::deadlock);
  REQUIRE(result.cycle.size() == 3);
  for (int k = 0; k < 3; ++k) {
    const blocked each = result.cycle[k];
    CHECK(of.instructions[each.at].what == op::send_forward);
    CHECK(of.rank_of(each.waits_for) == of.rank_of(result.cycle[(k + 1) % 3].at));
  }
}

TEST_CASE("joins in different orders on two ranks") {
  program of;
  for (int k = 0; k < 4; ++k) {
    voice each = laws::a_voice(1, 1, k / 2);
    each.module = k;
    each.learns = false;
    each.first_place = each.first_cell = k;
    of.voices.push(each);
    of.places.push(k % 2);
  }
  of.joins = 2;
  of.slots.resize(4, 0);
  for (int r = 0; r < 2; ++r) {
    for (const int v : {r, 2 + r}) of.instructions.push({op::forward, lane::compute, false, 0, v, 0, 0});
    for (const int k : {0, 1})
      of.instructions.push({op::join, lane::compute, false, 0, r == 0 ? k : 1 - k, -1, 0});
    of.starts.push(4 * (r + 1));
  }
  const check_result result = check(of);
  CHECK(result.found.why == reason::deadlock);
  REQUIRE(result.cycle.size() == 2);
  CHECK(of.instructions[result.cycle[0].at].what == op::join);
  std::swap(of.instructions[6], of.instructions[7]);
  CHECK(check(of).ok());
}

// Two replicas of one stage, each of which forwards its two microbatches in an order of its own.
TEST_CASE("replicas that gather weights or exchange rows compute in one order") {
  for (const auto& [sums, meets] : {std::pair(true, false), {true, true}, {false, true}})
    for (const bool alike : {false, true}) {
      CAPTURE(sums);
      CAPTURE(meets);
      CAPTURE(alike);
      score order;
      for (int r = 0; r < 2; ++r) {
        voice made;
        made.replica = r;
        made.microbatches = 2;
        made.sums_each = sums;
        made.meets_each = meets;
        order.add(made, [r](int) { return r; });
      }
      for (int r = 0; r < 2; ++r) {
        order.rank();
        for (const int m : {0, 1}) order.play(op::forward, r, 0, alike ? m : (m + r) % 2);
        for (const int m : {0, 1}) order.play(op::backward, r, 0, m);
      }
      CHECK(check(compile(order)).found.why == (meets && !alike ? reason::deadlock : reason::none));
    }
  // All replicas of a module do so, or none.
  score order;
  for (int r = 0; r < 2; ++r) {
    voice made;
    made.replica = r;
    made.meets_each = r == 0;
    order.add(made, [r](int) { return r; });
    order.rank();
    order.play(op::forward, r, 0, 0);
    order.play(op::backward, r, 0, 0);
  }
  CHECK(check(compile(order)).found.why == reason::bad_structure);
}

TEST_CASE("thousands of ranks, and a deadlock among them") {
  const pipeline_shape shape{768, 128};
  const score many = one_f_one_b::write(shape);
  const program of = compile(many);
  CHECK(check(of).ok());
  CHECK(check(of, delivery::buffered).ok());
  const program narrow = compile(many, {messages::in_compute});
  const check_result result = check(narrow);
  CHECK(result.found.why == reason::deadlock);
  CHECK(result.cycle.size() == 2);
}

// Small programs are checked by compilers as well.
static_assert(check(compile(one_f_one_b::write({2, 3}))).ok());
static_assert(check(compile(one_f_one_b::write({2, 3}), {messages::in_compute})).found.why ==
              reason::deadlock);
