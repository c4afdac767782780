// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 5 8
#include <mpi_ranks.hpp>

#include <motet/backend/groups/courier.hpp>
#include <motet/backend/transport/mpi/mpi_group.hpp>

#include <doctest/doctest.h>
#include <collective_laws.hpp>

using namespace motet;

TEST_CASE("the laws of collectives hold between processes, in many groups") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  auto lists = laws::groups_of(here.ranks());
  if (here.ranks() > 5) lists.resize(5);
  mpi::group_set set(world, lists);
  for (std::size_t g = 0; g < lists.size(); ++g) {
    if (std::find(lists[g].begin(), lists[g].end(), here.rank()) == lists[g].end()) continue;
    mpi::group group(set, static_cast<std::int32_t>(g), end);
    const auto wrong = laws::check_collectives(group, 17 * g + 3);
    CHECK_MESSAGE(wrong.empty(), (wrong.empty() ? "" : wrong[0]));
  }
}

TEST_CASE("a gather and a sum go on while neither of their ranks looks, and MPI sees one thread at a time") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  std::vector<std::vector<std::int32_t>> lists(1);
  for (std::int32_t r = 0; r < here.ranks(); ++r) lists[0].push_back(r);
  mpi::group_set set(world, lists);
  mpi::group group(set, 0, end);
  courier by(end);
  // So large that a message needs both sides to look several times.
  constexpr motet::isize each = 1 << 18;
  const std::vector<motet::isize> counts(lists[0].size(), each), bytes(lists[0].size(), 4 * each);
  std::vector<float> own(each, 1.0F + static_cast<float>(here.rank())), all(each * lists[0].size()),
      sums(all.size(), 2);
  std::atomic<int> done{0};
  by.send([&] {
    group.wait(group.all_gather(reinterpret_cast<const std::byte*>(own.data()),
                                reinterpret_cast<std::byte*>(all.data()), bytes));
    ++done;
  });
  by.send([&] {
    float* const part = sums.data() + each * here.rank();
    group.wait(group.reduce_scatter_sum(static_cast<const float*>(sums.data()), part, counts));
    ++done;
  });
  while (done < 2) std::this_thread::yield();
  by.rest();
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto member = static_cast<std::int32_t>(i / each);
    wrong += all[i] != 1.0F + static_cast<float>(member);
    wrong += sums[i] != (member == here.rank() ? 2.0F * static_cast<float>(here.ranks()) : 2.0F);
  }
  CHECK(wrong == 0);
}

TEST_CASE("calls on two groups may be under way at once, waited for in any order") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  std::vector<std::vector<std::int32_t>> lists(2);
  for (std::int32_t r = 0; r < here.ranks(); ++r) {
    lists[0].push_back(r);
    lists[1].insert(lists[1].begin(), r);
  }
  mpi::group_set set(world, lists, {.in_flight = 1, .sum_bytes = 30000});
  mpi::group one(set, 0, end), two(set, 1, end);
  CHECK(laws::check_two_groups(one, two) == 0);
}

TEST_CASE("two sets of one world are no trouble for each other, and who waits in one works for both") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  std::vector<std::vector<std::int32_t>> everyone(1);
  for (std::int32_t r = 0; r < here.ranks(); ++r) everyone[0].push_back(r);
  mpi::group_set first(world, everyone), second(world, everyone);
  mpi::group one(first, 0, end), two(second, 0, end);
  CHECK(laws::check_two_groups(one, two) == 0);
  // Sums have two rounds. Half of the ranks wait for the one, the others for the other, before any comes to
  // the barrier.
  std::vector<float> a(50000, 1), b(50000, 2);
  const ticket sum_a = one.all_reduce_sum(a.data(), 50000), sum_b = two.all_reduce_sum(b.data(), 50000);
  if (here.rank() % 2 == 0) one.wait(sum_a);
  else two.wait(sum_b);
  two.wait(two.barrier());
  one.wait(sum_a);
  two.wait(sum_b);
  CHECK(a == std::vector<float>(50000, static_cast<float>(here.ranks())));
  CHECK(b == std::vector<float>(50000, static_cast<float>(2 * here.ranks())));
}

TEST_CASE("a call that is not waited for is ended with the group") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  const auto lists = laws::groups_of(here.ranks());
  std::vector<float> numbers(50000, 1.0f);
  {
    mpi::group_set set(world, lists);
    mpi::group group(set, 0, end);
    group.all_reduce_sum(numbers.data(), 50000);
  }
  CHECK(numbers.front() == static_cast<float>(here.ranks()));
  CHECK(numbers.back() == static_cast<float>(here.ranks()));
}

TEST_CASE("who is no member cannot join, and too many groups have too few tags") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  const std::vector<std::vector<std::int32_t>> lists = {{(here.rank() + 1) % here.ranks()}};
  mpi::group_set set(world, lists);
  if (here.ranks() > 1)
    CHECK_THROWS_WITH_AS(mpi::group(set, 0, end), doctest::Contains("is no member of group 0"), error);
  CHECK_THROWS_WITH_AS(mpi::group_set(world, lists, {.in_flight = 2000000000}),
                       doctest::Contains("tags are needed"), error);
}

TEST_CASE("members that do not do the same are told so, or stopped") {
  mpi::session& here = tests::mpi_session();
  if (here.ranks() < 2) return;
  std::string problem;
  {
    std::vector<float> numbers(1000);
    mpi::world world(here.ranks(), 0, {});
    mpi::endpoint end(world, here.rank());
    const auto lists = laws::groups_of(here.ranks());
    mpi::group_set set(world, lists);
    mpi::group group(set, 0, end);
    try {
      group.wait(group.all_gather(
          reinterpret_cast<const std::byte*>(numbers.data()), reinterpret_cast<std::byte*>(numbers.data()),
          std::vector<motet::isize>(static_cast<std::size_t>(here.ranks()), here.rank() == 0 ? 8 : 12)));
      group.wait(group.barrier());
    } catch (const error& found) {
      problem = found.what();
    } catch (const mpi::stopped& told) {
      problem = told.why;
    }
  }
  CAPTURE(problem);
  CHECK(problem.find("MT-B01") != std::string::npos);
  mpi::session::has_failed() = false;
}
