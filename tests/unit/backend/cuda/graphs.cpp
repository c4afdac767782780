// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/graphs.hpp>
#include <motet/backend/cuda/launch.hpp>

#include "laws/cuda_run.hpp"

#include <doctest/doctest.h>

using namespace motet;
using idx = motet::index;

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
    for (int i = 0; i < 2; ++i) motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), add.data()});
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
  work.record(on.stream(), [&] { motet::cuda::launch(on.stream(), {1, 32, 0}, add_here{sum.data(), on.copied(host.data(), 1)}); });
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
  CHECK_THROWS_AS(work.record(on.stream(),
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

TEST_CASE("a shelf keeps the records that were used last, and remembers shapes that came once") {
  motet::cuda::record_shelf shelf;
  CHECK_FALSE(shelf.came_before({1, 2}));
  CHECK(shelf.came_before({1, 2}));
  CHECK_FALSE(shelf.came_before({1, 3}));
  CHECK(shelf.find({1, 2}) == nullptr);
  for (idx i = 0; i < static_cast<idx>(motet::cuda::record_shelf::most_records); ++i) {
    CHECK_FALSE(shelf.full());
    shelf.make({i}).found = i;
  }
  CHECK(shelf.full());
  REQUIRE(shelf.find({0}) != nullptr);  // so that 1 is the one that was not used for longest
  shelf.make({100});
  CHECK(shelf.find({1}) == nullptr);
  REQUIRE(shelf.find({0}) != nullptr);
  CHECK(std::any_cast<idx>(shelf.find({0})->found) == 0);
  CHECK(shelf.size() == motet::cuda::record_shelf::most_records);
  shelf.make({101});
  shelf.drop_newest();
  CHECK(shelf.find({101}) == nullptr);
  for (idx i = 0; i < static_cast<idx>(motet::cuda::record_shelf::most_seen); ++i) CHECK_FALSE(shelf.came_before({7, i}));
  CHECK_FALSE(shelf.came_before({1, 2}));
  shelf.clear();
  CHECK(shelf.size() == 0);
  CHECK_FALSE(shelf.came_before({7, 3}));
}
