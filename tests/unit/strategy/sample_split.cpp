// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/sample_split.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace motet;

namespace {

// Each sample of a step is in one part, in the order of groups, replicas and microbatches.
void check_parts(const sample_split& by) {
  motet::isize next = 0;
  for (motet::isize g = 0; g < by.groups; ++g)
    for (motet::isize r = 0; r < by.replicas; ++r)
      for (motet::isize m = 0; m < by.microbatches; ++m) {
        const interval part = by.of(g, r, m);
        CHECK_EQ(part.begin, next);
        CHECK_GE(part.end, part.begin);
        next = part.end;
      }
  CHECK_EQ(next, by.samples);
}

}  // namespace

TEST_CASE("replicas with weights: uneven parts, each sample of a group in one of them") {
  const sample_split even{12, 1, 3, 2, {}};
  CHECK(even.weighted({1, 1, 1}).of(0, 1, 1).begin == even.of(0, 1, 1).begin);
  const sample_split by = even.weighted({6, 1, 5});
  CHECK(by.replica_part(0, 0).end == 5);
  CHECK(by.replica_part(0, 1).end == 7);  // one for each microbatch
  CHECK(by.of(0, 2, 0).begin == 7);
  CHECK(by.of(0, 2, 1).begin == 10);
  CHECK(even.weighted({9, 1, 2}, 6).replica_part(0, 0).size() == 6);
  // Groups of seven and of six.
  const sample_split apart = sample_split{13, 2, 2, 1, {}}.weighted({2, 1});
  CHECK(apart.of(0, 0, 0).size() == 5);
  CHECK(apart.of(0, 1, 0).end == 7);
  CHECK(apart.of(1, 0, 0).begin == 7);
  CHECK(apart.of(1, 0, 0).size() == 4);
  CHECK(apart.of(1, 1, 0).end == 13);
  for (motet::isize samples = 0; samples < 20; ++samples)
    for (motet::isize groups = 1; groups < 4; ++groups) {
      const sample_split some{samples, groups, 3, 2, {}}, alike = some.weighted({5, 5, 5});
      for (motet::isize g = 0; g < groups; ++g)
        for (motet::isize r = 0; r < 3; ++r)
          for (motet::isize m = 0; m < 2; ++m) {
            CHECK(alike.of(g, r, m).begin == some.of(g, r, m).begin);
            CHECK(alike.of(g, r, m).end == some.of(g, r, m).end);
          }
    }
}

TEST_CASE("each sample is in one part, whatever the counts and weights") {
  std::mt19937 draw(9);
  const auto below = [&](unsigned n) { return static_cast<motet::isize>(draw() % n); };
  for (unsigned i = 0; i < 300; ++i) {
    const sample_split even{below(14), 1 + below(3), 1 + below(4), 1 + below(3), {}};
    list<motet::isize> weights;
    for (motet::isize r = 0; r < even.replicas; ++r) weights.push(below(9));
    check_parts(even);
    check_parts(even.weighted(weights, 1 + below(14)));
  }
  static_assert(sample_split{12, 1, 2, 1, {}}.weighted({1, 3}).of(0, 1, 0).size() == 9);
}
