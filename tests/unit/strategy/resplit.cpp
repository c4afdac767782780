// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/resplit.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace motet;
using numbers = list<motet::isize>;

namespace {

constexpr resplit_options quick{.every = 1, .most = 1.5, .step = 1, .smoothing = 0, .worth = 0};

// Places whose seconds are so many for each sample.
struct machine {
  list<share_place> places;
  list<sample_split> splits;
  std::vector<double> rates;
  share_balancer balancer;

  machine(list<share_place> at, list<sample_split> by, std::vector<double> seconds,
          const resplit_options& how = quick)
      : places(std::move(at)),
        splits(std::move(by)),
        rates(std::move(seconds)),
        balancer(places, splits, how) {}
  std::vector<double> seconds() const {
    std::vector<double> all;
    for (motet::isize p = 0; p < places.size(); ++p)
      all.push_back(rates[static_cast<std::size_t>(p)] *
                    static_cast<double>(balancer.shares(places[p].module)[places[p].replica]));
    return all;
  }
  bool step() {
    balancer.note(seconds().data());
    return balancer.move();
  }
  // The time of the busiest rank.
  double slowest() const {
    std::vector<double> busy(64, 0.0);
    const std::vector<double> all = seconds();
    for (std::size_t p = 0; p < all.size(); ++p)
      busy[static_cast<std::size_t>(places[static_cast<motet::isize>(p)].rank)] += all[p];
    return *std::max_element(busy.begin(), busy.end());
  }
};
machine replicas(std::vector<double> rates, motet::isize samples, const resplit_options& how = quick) {
  list<share_place> at;
  for (std::size_t r = 0; r < rates.size(); ++r)
    at.push({0, static_cast<motet::isize>(r), static_cast<motet::isize>(r)});
  const auto count = static_cast<motet::isize>(rates.size());
  return {at, {{samples, 1, count, 2, {}}}, std::move(rates), how};
}

}  // namespace

TEST_CASE("bounds leave a sample for each microbatch, and never less room than even shares need") {
  const auto bounds = [](double most, motet::isize samples, motet::isize replicas,
                         motet::isize microbatches) {
    return bounds_of({.most = most}, samples, replicas, microbatches);
  };
  CHECK(bounds(1.25, 64, 4, 4).least == 4);
  CHECK(bounds(1.25, 64, 4, 4).most == 20);
  CHECK(bounds(1, 64, 4, 4).most == 16);
  CHECK(bounds(1, 10, 4, 1).most == 3);
  CHECK(bounds(1.2, 10, 4, 1).most == 3);
  CHECK(bounds(9, 12, 3, 2).most == 8);  // the others keep theirs
  CHECK(bounds(1.5, 5, 2, 4).least == 2);
  CHECK(bounds(2, 8, 1, 4).most == 8);
}

TEST_CASE("replicas end with samples by their speed") {
  machine two = replicas({3, 1}, 16, {.every = 1, .most = 2, .step = 1, .smoothing = 0, .worth = 0});
  CHECK(two.step());
  CHECK(two.balancer.shares(0) == numbers{4, 12});
  CHECK(!two.step());
  machine three = replicas({1, 2, 1}, 30);
  CHECK(three.step());
  CHECK(three.balancer.shares(0) == numbers{12, 6, 12});
  CHECK(three.balancer.splits()[0].of(0, 1, 0).begin == 12);
  CHECK(three.balancer.splits()[0].of(0, 1, 1).end == 18);
}

TEST_CASE("a move and all moves are bounded") {
  machine slow =
      replicas({5, 1, 1, 1}, 64, {.every = 1, .most = 1.25, .step = 0.125, .smoothing = 0, .worth = 0});
  // At most two samples of sixteen in a move, and none has more than twenty.
  CHECK(slow.step());
  CHECK(slow.balancer.shares(0)[0] == 14);
  int moves = 1;
  for (; slow.step(); ++moves) {
    for (const motet::isize each : slow.balancer.shares(0)) CHECK(each <= 20);
    REQUIRE(moves < 10);
  }
  CHECK(slow.balancer.shares(0) == numbers{4, 20, 20, 20});
  CHECK(moves == 6);
}

TEST_CASE("equal speeds, small gains and nothing measured move nothing") {
  machine even = replicas({1, 1, 1}, 12),
          nearly =
              replicas({1.03, 1}, 100, {.every = 1, .most = 1.5, .step = 1, .smoothing = 0, .worth = 0.05});
  CHECK(!even.balancer.move());
  CHECK(!even.step());
  CHECK(!nearly.step());
  machine coarse = replicas({1.2, 1}, 8);
  CHECK(!coarse.step());  // 3 and 5 would be worse
  machine still = replicas({0, 0}, 8);
  CHECK(!still.step());
}

TEST_CASE("what is known already weighs against a single slow step") {
  machine one = replicas({1, 1}, 64, {.every = 1, .most = 1.5, .step = 1, .smoothing = 0.75, .worth = 0});
  one.step();
  one.rates = {2, 1};
  CHECK(one.step());
  CHECK(one.balancer.shares(0) == numbers{28, 36});  // 1.25 to 1: 28 4/9
  for (int k = 0; k < 20; ++k) one.step();
  CHECK(one.balancer.shares(0) == numbers{21, 43});
}

TEST_CASE("a rank's other work counts, a replica is as fast as its slowest rank") {
  // Module 0 with a replica on each of the ranks 0 and 1; module 1, one replica, on rank 0: there 8 seconds
  // are gone.
  machine shared({{0, 0, 0}, {0, 1, 1}, {1, 0, 0}}, {{32, 1, 2, 2, {}}, {32, 1, 1, 1, {}}}, {1, 1, 0.25});
  CHECK(shared.step());
  CHECK(shared.balancer.shares(0) == numbers{12, 20});
  CHECK(shared.balancer.shares(1) == numbers{32});
  // Two stages each; the second of replica 0 is slow, and two chunks on one rank are one load.
  machine staged({{0, 0, 0}, {0, 0, 1}, {0, 1, 2}, {0, 1, 2}}, {{30, 1, 2, 3, {}}}, {1, 3, 1, 1});
  CHECK(staged.step());
  CHECK(staged.balancer.shares(0) == numbers{12, 18});
}

TEST_CASE("modules on the same ranks do not both make up for the same") {
  // Rank 0 is half as fast: 4 + 4 seconds to 2 + 2. The first module that moves takes all of it.
  const list<share_place> at{{0, 0, 0}, {0, 1, 1}, {1, 0, 0}, {1, 1, 1}};
  machine both(at, {{24, 1, 2, 1, {}}, {24, 1, 2, 1, {}}}, {2, 1, 2, 1},
               {.every = 1, .most = 2, .step = 1, .smoothing = 0, .worth = 0});
  CHECK(both.slowest() == 48);
  CHECK(both.step());
  CHECK(both.slowest() <= 34);
  for (int k = 0; k < 3; ++k) both.step();
  CHECK(both.slowest() <= 33);
  CHECK(!both.step());
}

TEST_CASE("random machines never get slower, and end within a sample of the best") {
  std::mt19937 draw(11);
  const auto unit = [&] { return static_cast<double>(draw() % 1000) / 1000; };
  for (int turn = 0; turn < 300; ++turn) {
    const motet::isize count = 2 + static_cast<motet::isize>(draw() % 5),
                       samples = count * (8 + static_cast<motet::isize>(draw() % 20));
    std::vector<double> rates;
    for (motet::isize r = 0; r < count; ++r) rates.push_back(1 + unit());
    machine one =
        replicas(rates, samples, {.every = 1, .most = 2.5, .step = 0.2, .smoothing = 0, .worth = 0});
    double before = one.slowest();
    for (int k = 0; one.step(); ++k) {
      CHECK(one.slowest() < before + 1e-9);
      before = one.slowest();
      REQUIRE(k < 50);
    }
    double speed = 0;
    for (const double each : rates) speed += 1 / each;
    CHECK(before <=
          static_cast<double>(samples) / speed + *std::max_element(rates.begin(), rates.end()) + 1e-9);
  }
}

TEST_CASE("by hand, within the bounds") {
  machine one = replicas({1, 1, 1}, 30);
  CHECK(one.balancer.set(0, {15, 13, 2}));
  CHECK(one.balancer.shares(0) == numbers{15, 13, 2});
  CHECK(one.balancer.splits()[0].replica_part(0, 2).begin == 28);
  CHECK(!one.balancer.set(0, {16, 12, 2}));
  CHECK(!one.balancer.set(0, {15, 14, 1}));
  CHECK(!one.balancer.set(0, {15, 15}));
  CHECK(!one.balancer.set(0, {10, 10, 9}));
  CHECK(one.balancer.shares(0) == numbers{15, 13, 2});
}

TEST_CASE("the same seconds give the same shares, bit for bit") {
  machine a = replicas({1.1, 1.7, 1.3, 0.9}, 80), b = replicas({1.1, 1.7, 1.3, 0.9}, 80);
  for (int k = 0; k < 4; ++k) CHECK(a.step() == b.step());
  CHECK(a.balancer.shares(0) == b.balancer.shares(0));
}
