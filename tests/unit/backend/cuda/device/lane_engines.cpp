// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/lane_engines.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

namespace motet {
namespace {

// to = 10 to + add: the order of two of them shows.
struct append {
  int* to;
  int add;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to = *to * 10 + add;
  }
};
void put(cuda::lane_engines& lanes, std::int32_t lane, const laws::flat_on_gpu<int>& to, int add) {
  lanes.enter(lane);
  cuda::launch(lanes.on().stream(), {1, 32, 0}, append{to.data(), add});
}
struct lanes_here {
  cuda::lane_engines all{[](std::int32_t) { return std::make_unique<cuda::engine>(); }};
  void finish() {
    all.meet();
    all.of(0).finish();
  }
};
struct common_part {
  static constexpr bool of_all_lanes = true;
  explicit common_part(cuda::engine&) {}
};
struct own_part {
  explicit own_part(cuda::engine&) {}
};

TEST_CASE("a lane follows what another told, and meets all") {
  for (int turn = 0; turn < 12; ++turn) {
    lanes_here here;
    cuda::lane_engines& lanes = here.all;
    lanes.of(2);
    const laws::flat_on_gpu<int> to({0});
    put(lanes, 1, to, 1);
    lanes.tell(7);
    lanes.enter(0);
    lanes.follow(7);
    put(lanes, 0, to, 2);
    lanes.meet();
    put(lanes, 2, to, 3);
    lanes.meet();
    put(lanes, 1, to, 4);
    here.finish();
    CHECK(laws::off_by(to.back(), std::vector<int>{1234}) == 0);
  }
}

TEST_CASE("each lane has a stream and parts of its own, but for those that are of all") {
  lanes_here here;
  cuda::engine &first = here.all.of(0), &third = here.all.of(2);
  CHECK(first.stream() != third.stream());
  CHECK(&third.first() == &first);
  CHECK(&first.part<common_part>() == &third.part<common_part>());
  CHECK(&first.part<own_part>() != &third.part<own_part>());
  int there = 0;
  here.all.each([&](cuda::engine&) { ++there; });
  CHECK(there == 3);
  CHECK(here.all.enter(2) == 0);
  CHECK(&here.all.on() == &third);
}

TEST_CASE("streams of lanes that yield have the least priority, and the others one above it") {
  const auto priorities = [](const std::vector<bool>& yields) {
    lanes_here here;
    here.all.yield(yields);
    std::vector<int> found;
    for (const std::int32_t lane : {0, 1, 2}) {
      cuda::engine own(nullptr, here.all.priority(lane));
      cuda::check(cudaStreamGetPriority(own.stream(), &found.emplace_back()), "cudaStreamGetPriority");
    }
    return found;
  };
  int least = 0, greatest = 0;
  cuda::check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  const int above = std::max(greatest, least - 1);
  CHECK(priorities({}) == std::vector<int>(3, 0));
  CHECK(priorities({false, false}) == std::vector<int>(3, 0));
  CHECK(priorities({false, true}) == std::vector<int>{above, least, above});
}

#if !defined(__CUDACC__)
TEST_CASE("lanes that do not wait for each other are begun in any order") {
  bool other = false;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    emulation::seed(seed);
    lanes_here here;
    here.all.of(1);
    const laws::flat_on_gpu<int> to({0});
    put(here.all, 1, to, 1);
    put(here.all, 0, to, 2);
    here.finish();
    other = other || laws::off_by(to.back(), std::vector<int>{21}) == 0;
  }
  CHECK(other);
}
#endif

}  // namespace
}  // namespace motet
