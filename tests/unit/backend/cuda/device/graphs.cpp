// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/graphs.hpp>
#include <motet/backend/cuda/device/launch.hpp>

#include "laws/cuda_run.hpp"

#include <doctest/doctest.h>

using namespace motet;
using idx = motet::isize;

namespace {

struct add_here {
  int* to;
  const int* from;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to += *from;
  }
};

}  // namespace

TEST_CASE("recorded work happens when it is replayed, with the numbers of then") {
  motet::cuda::engine& on = laws::gpu();
  const laws::flat_on_gpu<int> sum(std::vector<int>{0}), add(std::vector<int>{5});
  motet::cuda::recorded_work work;
  const auto twice = [&] {
    for (int i = 0; i < 2; ++i)
      motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), add.data()});
  };
  work.record(on.stream(), twice);
  on.finish();
  CHECK(sum.back()[0] == 0);
  work.replay(on.stream());
  work.replay(on.stream());
  on.finish();
  CHECK(sum.back()[0] == 20);
  add.put({1});
  work.replay(on.stream());
  on.finish();
  CHECK(sum.back()[0] == 22);
}

TEST_CASE("copies of the host's arrays belong to the record") {
  motet::cuda::engine& on = laws::gpu();
  const laws::flat_on_gpu<int> sum(std::vector<int>{0});
  motet::cuda::recorded_work work;
  std::vector<int> host{3}, other{100};
  on.copy_into(&work.copies);
  work.record(on.stream(), [&] {
    motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), on.copied(host.data(), 1)});
  });
  on.copy_into(nullptr);
  host[0] = 50;
  for (int i = 0; i < 3; ++i) {
    work.replay(on.stream());
    on.forget_copies();
    motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), on.copied(other.data(), 1)});
  }
  on.finish();
  CHECK(sum.back()[0] == 309);
}

TEST_CASE("what cannot be recorded leaves the stream as it was") {
  motet::cuda::engine& on = laws::gpu();
  const laws::flat_on_gpu<int> sum(std::vector<int>{0}), add(std::vector<int>{5});
  motet::cuda::recorded_work work;
  CHECK_THROWS_AS(
      work.record(on.stream(),
                  [&] {
                    motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), add.data()});
                    fail(gpu_shape_refused, "a test");
                  }),
      error);
  on.finish();
  CHECK(sum.back()[0] == 0);
  motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), add.data()});
  on.finish();
  CHECK(sum.back()[0] == 5);
}

TEST_CASE("between parts of recorded work the host has its turn") {
  motet::cuda::engine& on = laws::gpu();
  const laws::flat_on_gpu<int> sum(std::vector<int>{0}), add(std::vector<int>{5});
  motet::cuda::recorded_work work;
  const auto once = [&] { motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), add.data()}); };
  std::vector<int> seen;
  const auto look = [&] { seen.push_back(sum.back()[0]); };
  work.record(on.stream(), [&] {
    work.then(look);
    once();
    once();
    work.then(look);
    work.then(look);
    once();
  });
  CHECK(work.graphs() == 2);
  CHECK(seen.empty());
  work.replay(on.stream());
  CHECK(laws::off_by(seen, std::vector<int>{0, 10, 10}) == 0);
  CHECK(sum.back()[0] == 15);
  // Recorded anew it is other work.
  work.record(on.stream(), once);
  CHECK(work.graphs() == 1);
  work.replay(on.stream());
  CHECK(sum.back()[0] == 20);
}

TEST_CASE("a shelf keeps records, and remembers shapes that came once") {
  constexpr idx most = 8;
  motet::cuda::record_shelf shelf(most);
  CHECK_FALSE(shelf.came_before({1, 2}));
  CHECK(shelf.came_before({1, 2}));
  CHECK_FALSE(shelf.came_before({1, 3}));
  CHECK(shelf.find({1, 2}) == nullptr);
  for (idx i = 0; i < most; ++i) {
    CHECK_FALSE(shelf.full());
    shelf.make({i}).found = i;
  }
  CHECK(shelf.full());
  CHECK(shelf.size() == most);
  // All were used lately: others have to wait.
  CHECK_FALSE(shelf.came_before({100}));
  CHECK_FALSE(shelf.came_before({100}));
  for (idx i = 0; i < 8 * most; ++i)
    if (i % most != 1) REQUIRE(shelf.find({i % most}) != nullptr);
  for (idx i = 0; i < most; ++i) shelf.find({0});
  CHECK_FALSE(shelf.came_before({100}));
  CHECK(shelf.came_before({100}));
  shelf.make({100});
  CHECK(shelf.find({1}) == nullptr);
  REQUIRE(shelf.find({0}) != nullptr);
  CHECK(std::any_cast<idx>(shelf.find({0})->found) == 0);
  CHECK(shelf.size() == most);
  shelf.drop_newest();  // 0, which was found last
  CHECK(shelf.find({0}) == nullptr);
  CHECK(shelf.find({100}) != nullptr);
  CHECK_FALSE(shelf.full());
  shelf.clear();
  CHECK(shelf.size() == 0);
  CHECK_FALSE(shelf.came_before({100}));
  for (idx i = 0; i < static_cast<idx>(shelf.most_seen()); ++i) CHECK_FALSE(shelf.came_before({7, i}));
  CHECK_FALSE(shelf.came_before({100}));
}

TEST_CASE("shapes that never come again are left alone for a time") {
  motet::cuda::record_shelf shelf(4);
  shelf.make({-1});
  for (idx i = 0; i < 16; ++i) {
    CHECK(shelf.find({i}) == nullptr);
    CHECK_FALSE(shelf.came_before({i}));
  }
  CHECK(shelf.resting());
  CHECK_FALSE(shelf.came_before({3}));
  CHECK(shelf.find({-1}) != nullptr);  // what is known is found all the same
  for (int i = 0; i < 127; ++i) shelf.find({-1});
  CHECK_FALSE(shelf.resting());
  CHECK_FALSE(shelf.came_before({50}));
  CHECK(shelf.came_before({50}));
}
