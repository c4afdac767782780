// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/exchange/tensor_rows.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <tensor_rows_laws.hpp>
#include <thread_members.hpp>

using namespace motet;

TEST_CASE("rows of all members are gathered, and sums go back to their owners") {
  for (const std::int32_t members : {1, 2, 3, 4, 5}) {
    CAPTURE(members);
    std::atomic<motet::isize> wrong{0};
    laws::run_members(members, [&](std::int32_t, const any_group& group) {
      wrong += laws::wrong_rows_of_all_kinds(group);
    });
    CHECK_EQ(wrong.load(), 0);
  }
}

TEST_CASE("the first thread of a team speaks for its rank") {
  std::atomic<motet::isize> wrong{0};
  laws::run_members(
      2, [&](std::int32_t, const any_group& group) { wrong += laws::wrong_rows_of_all_kinds(group, 3); });
  CHECK_EQ(wrong.load(), 0);
}

TEST_CASE("ids of tokens are gathered as they are") {
  std::atomic<motet::isize> wrong{0};
  laws::run_members(3, [&](std::int32_t member, const any_group& group) {
    microbatch_spread shared;
    shared.tensor = group;
    shared.tensor_rows = {2, 0, 3};
    shared.part = {1, 5, nullptr};
    const std::int32_t ids[] = {1 << 30, 7, -1, (1 << 30) + 1, 5};
    const motet::isize first[] = {0, 2, 2}, rows[] = {2, 0, 3};
    std::int32_t all[5] = {};
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      ctx.shared = &shared;
      gather_rows(ctx, matrix<const std::int32_t>{ids + first[member], rows[member], 1, 1},
                  matrix<std::int32_t>{all, 5, 1, 1});
    });
    for (int i = 0; i < 5; ++i) wrong += all[i] != ids[i];
  });
  CHECK_EQ(wrong.load(), 0);
}

TEST_CASE("rows of all are those of the context's spread, and without one there are none") {
  microbatch_spread shared;
  shared.part = {3, 4, nullptr};
  cpu::context ctx;
  CHECK_THROWS_WITH_AS(rows_of_all(ctx), doctest::Contains("MT-B05"), error);
  ctx.shared = &shared;
  CHECK_EQ(rows_of_all(ctx).rows(), 12);
}
