// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/module_times.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

module_times talk(std::int32_t tensor, std::int32_t context = 1, int threads = 1) {
  return {"talk", 2, 1e6, tensor, context, threads, 1e-9, {{{4e6, 8e6, 4e6}, {4e-3, 4e-3, 1e-3}}}};
}

}  // namespace

TEST_CASE("a FLOP takes what it took in microbatches of as many") {
  module_times own = talk(1);
  CHECK(pace_at(own, 1) == counted_seconds{1e-9, 0.5e-9, 0.25e-9});
  CHECK(pace_at(own, 1e9) == pace_at(own, 1));
  add_point(own, {{8e6, 16e6, 0}, {4e-3, 4e-3, 0}});
  CHECK(pace_at(own, 4e6).forward == doctest::Approx(1e-9));
  CHECK(pace_at(own, 6e6).forward == doctest::Approx(0.75e-9));
  CHECK(pace_at(own, 6e6).input == doctest::Approx(0.375e-9));
  CHECK(pace_at(own, 8e6).forward == doctest::Approx(0.5e-9));
  CHECK(pace_at(own, 9e6).forward == doctest::Approx(0.5e-9));
  // One of as many FLOPs takes its place, whatever comes first.
  add_point(own, {{1e6, 1e6, 1e6}, {1, 1, 1}});
  add_point(own, {{8.04e6, 1, 1}, {8.04e-3, 1, 1}});
  REQUIRE(own.points.size() == 3);
  CHECK(own.points[0].flops.forward == 1e6);
  CHECK(pace_at(own, 9e6).forward == doctest::Approx(1e-9));
}

TEST_CASE("a module has the times of its degrees, or of the nearest, on as many threads") {
  list<module_times> all;
  for (const auto& each : {talk(1), talk(4), talk(2, 2), talk(1, 1, 2)}) put_times(all, each);
  REQUIRE(all.size() == 4);
  const auto found = [&](const degrees& split, int threads) {
    return find_times(all, "talk", split, threads);
  };
  CHECK(found({.tensor = 4}, 1) == &all[1]);
  CHECK(found({.context = 2, .tensor = 2}, 1) == &all[2]);
  CHECK(found({.context = 4}, 1) == &all[1]);
  CHECK(found({.tensor = 2}, 1) == &all[0]);
  CHECK(found({.tensor = 8}, 2) == &all[3]);
  CHECK(found({}, 3) == nullptr);
  CHECK(find_times(all, "eye", degrees{}, 1) == nullptr);
  // More points of the same are kept beside it; of another model none are.
  module_times more = talk(4);
  more.points[0].flops.forward = 8e6;
  put_times(all, more);
  CHECK((all.size() == 4 && all[1].points.size() == 2));
  more.layers = 3;
  put_times(all, more);
  CHECK((all[1].points.size() == 1 && all[1].layers == 3));
}
