// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/shared_ranks.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"

using namespace motet;

namespace {

// Whole numbers, so that sums are exact in any order.
list<tower_point> drawn_points(laws::dice& roll, int count) {
  const auto draw = [&] { return static_cast<double>(roll.between(0, 19)); };
  list<tower_point> out;
  for (int i = 0; i < count; ++i) {
    tower_point made;
    made.forward = draw();
    made.backward = draw();
    made.tail = draw();
    made.seconds = {made.forward + draw(), draw(), made.backward + made.tail + draw()};
    made.bytes = draw();
    out.push(made);
  }
  return out;
}

struct combination {
  shared_ranks::chosen points;
  phase_seconds seconds;
};

}  // namespace

TEST_CASE("what is left out does not fit, or is no faster than something before it") {
  laws::dice roll(37);
  for (int round = 0; round < 40; ++round) {
    const motet::isize joins = 1 + round % 2;
    constexpr double memory = 30;
    const list<tower_point> towers[] = {drawn_points(roll, 5), drawn_points(roll, 4), drawn_points(roll, 6)};
    std::vector<shared_ranks::chosen> ways(3);
    for (std::size_t k = 0; k < 3; ++k)
      for (const tower_point& each : towers[k]) ways[k].push_back(&each);
    std::vector<combination> wanted;
    std::vector<phase_seconds> known{{45, 30, 60}};
    for (const tower_point* a : ways[0])
      for (const tower_point* b : ways[1])
        for (const tower_point* c : ways[2]) {
          const tower_point* all[] = {a, b, c};
          const phase_seconds takes = together(all);
          const auto covered = [&](const phase_seconds& by) { return covers(by, takes, joins); };
          if (a->bytes + b->bytes + c->bytes > memory) continue;
          if (std::any_of(known.begin(), known.end(), covered)) continue;
          known.push_back(takes);
          wanted.push_back({{a, b, c}, takes});
        }
    shared_ranks all(ways, memory, joins);
    CHECK(all.size() == 5 * 4 * 6);
    std::size_t met = 0;
    all.each(
        {{45, 30, 60}},
        [&](const shared_ranks::chosen& points, const phase_seconds& seconds) {
          REQUIRE(met < wanted.size());
          CHECK(points == wanted[met].points);
          CHECK(seconds == wanted[met].seconds);
          ++met;
        },
        [] { return true; });
    CHECK(met == wanted.size());
    // All that was met is covered by what is known now.
    for (const combination& each : wanted)
      CHECK(std::any_of(all.known().begin(), all.known().end(),
                        [&](const phase_seconds& by) { return covers(by, each.seconds, joins); }));
  }
}

TEST_CASE("many combinations end when nobody waits for more") {
  // None covers another: what is faster before the join is slower behind it.
  list<tower_point> towers[3];
  std::vector<shared_ranks::chosen> ways(3);
  for (std::size_t k = 0; k < 3; ++k) {
    for (int i = 0; i < 20; ++i) {
      tower_point made;
      made.forward = i * (k == 0 ? 1 : k == 1 ? 20 : 400);
      made.backward = 8000 - made.forward;
      made.seconds = {made.forward, 0, made.backward};
      towers[k].push(made);
    }
    for (const tower_point& each : towers[k]) ways[k].push_back(&each);
  }
  shared_ranks all(ways, 1e300, 1);
  motet::isize met = 0, asked = 0;
  all.each(
      {}, [&](const shared_ranks::chosen&, const phase_seconds&) { ++met; },
      [&] {
        ++asked;
        return false;
      });
  CHECK(asked == 1);
  CHECK(met > 0);
  CHECK(met < all.size());
}
