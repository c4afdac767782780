// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/own_samples.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/through.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// An eye of three replicas on ranks 0 to 2, and words of two with two microbatches each, on ranks 3 and 4.
program eye_and_words() {
  through_shape of;
  for (std::int32_t r = 0; r < 5; ++r) {
    through_module made;
    made.module = r < 3 ? 0 : 1;
    made.replica = r < 3 ? r : r - 3;
    made.replicas = r < 3 ? 3 : 2;
    made.microbatches = r < 3 ? 1 : 2;
    made.meets = r >= 3;
    made.ranks.push(r);
    for (std::int32_t source = 0; r >= 3 && source < 3; ++source) made.from.push(source);
    of.modules.push(made);
  }
  return compile(write_through(of));
}
std::string told(const std::vector<interval>& of) {
  std::string out;
  for (const interval& each : of)
    out += "[" + std::to_string(each.begin) + ", " + std::to_string(each.end) + ")";
  return out;
}

}  // namespace

TEST_CASE("ranks look at the samples of their replicas, of those modules whose inputs count") {
  const program of = eye_and_words();
  const list<std::uint8_t> both{1, 1}, eye{1, 0};
  CHECK(told(own_samples(of, 12, {0, 5}, both)) == "[0, 12)");
  CHECK(told(own_samples(of, 12, {0, 1}, both)) == "[0, 4)");
  CHECK(told(own_samples(of, 12, {2, 3}, both)) == "[8, 12)");
  CHECK(told(own_samples(of, 12, {2, 4}, both)) == "[0, 3)[6, 12)");
  CHECK(told(own_samples(of, 12, {3, 5}, eye)).empty());
  CHECK(told(own_samples(of, 13, {1, 2}, eye)) == "[5, 9)");
}

TEST_CASE("where samples move between replicas, ranks look at all that these may ever have") {
  const program of = eye_and_words();
  const list<std::uint8_t> both{1, 1};
  // 12 samples: three replicas have 1 to 6 each; of two groups of 6, two replicas have 1 to 4 each.
  const resplit_options room{.every = 1, .most = 1.5};
  CHECK(told(own_samples(of, 12, {0, 1}, both, room)) == "[0, 6)");
  CHECK(told(own_samples(of, 12, {1, 2}, both, room)) == "[1, 11)");
  CHECK(told(own_samples(of, 12, {2, 3}, both, room)) == "[6, 12)");
  CHECK(told(own_samples(of, 12, {3, 4}, both, room)) == "[0, 4)[6, 10)");
  CHECK(told(own_samples(of, 12, {4, 5}, both, room)) == "[2, 6)[8, 12)");
  // However they move, and with a sample more than replicas.
  for (const isize samples : {12, 13}) {
    sample_split split{samples, 1, 3, 1, {}};
    const share_bounds within = bounds_of(room, samples, 3, 1);
    for (isize a = 0; a <= 8; ++a)
      for (isize b = 0; b <= 8; ++b)
        for (isize c = 0; c <= 8; ++c) {
          if (a + b + c == 0) continue;
          const sample_split moved = split.weighted({a, b, c}, within.most);
          for (isize r = 0; r < 3; ++r) {
            const interval has = moved.replica_part(0, r), may = detail::reach_of(split, 0, r, room);
            CHECK((may.begin <= has.begin && has.end <= may.end));
          }
        }
  }
}

TEST_CASE("of a step in another order they look at the samples that stand at their places") {
  const sample_order order{5, 0, 3, 4, 1, 2};
  CHECK(told(samples_at({{0, 6}}, order)) == "[0, 6)");
  CHECK(told(samples_at({{0, 2}}, order)) == "[0, 1)[5, 6)");
  CHECK(told(samples_at({{0, 1}, {3, 5}}, order)) == "[1, 2)[4, 6)");
  CHECK(told(samples_at({}, order)).empty());
}
