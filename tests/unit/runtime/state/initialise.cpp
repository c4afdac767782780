// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cpu/kernels/transfer.hpp>
#include <motet/backend/cpu/parameters/normal_draws.hpp>
#include <motet/backend/cpu/parameters/optimizer.hpp>
#include <motet/backend/cuda/parameters/normal_draws.hpp>
#include <motet/backend/cuda/parameters/optimizer.hpp>
#include <motet/runtime/state/initialise.hpp>

#include <doctest/doctest.h>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"

#include <vector>

using namespace motet;

TEST_CASE("weights start as their parameters say, whatever stands beside them") {
  parameter_list list;
  list.matrix("a", 30, 100, {fill::normal, 0.5f});
  list.vector("gain", 5, {fill::ones, 0});
  list.vector("scale", 1, {fill::constant, 2.5f});
  list.vector("bias", 5, {});
  std::vector<float> all(static_cast<std::size_t>(list.used()), 7);
  initialise<float>(list.items(), 1, all.data(), list.used());
  const auto at = [&](int which, motet::isize i) {
    return all[static_cast<std::size_t>(list.items()[static_cast<std::size_t>(which)].offset + i)];
  };
  double sum = 0, squares = 0;
  for (motet::isize i = 0; i < 3000; ++i)
    sum += static_cast<double>(at(0, i)),
        squares += static_cast<double>(at(0, i)) * static_cast<double>(at(0, i));
  CHECK(std::abs(sum / 3000) < 0.05);
  CHECK(std::sqrt(squares / 3000) == doctest::Approx(0.5).epsilon(0.05));
  CHECK(at(1, 4) == 1);
  CHECK(at(2, 0) == 2.5f);
  CHECK(at(3, 0) == 0);
  CHECK(all[static_cast<std::size_t>(list.items()[1].offset + 5)] == 0);  // a gap

  // Another place in memory, the same numbers; another name or seed, others.
  parameter_list moved;
  moved.vector("first", 40, {fill::ones, 0});
  moved.matrix("a", 30, 100, {fill::normal, 0.5f});
  std::vector<float> again(static_cast<std::size_t>(moved.used()));
  initialise<float>(moved.items(), 1, again.data(), moved.used());
  const auto offset = static_cast<std::size_t>(moved.items()[1].offset);
  CHECK(std::equal(again.begin() + static_cast<std::ptrdiff_t>(offset),
                   again.begin() + static_cast<std::ptrdiff_t>(offset) + 3000, all.begin()));
  initialise<float>(moved.items(), 2, again.data(), moved.used());
  CHECK(again[offset] != all[0]);
}

TEST_CASE_TEMPLATE("all threads, or a GPU, make the bits that one thread makes", Master, float, double) {
  parameter_list list;
  list.matrix("a", 70, 90, {fill::normal, 0.5f});
  list.vector("gain", 5, {fill::ones, 0});
  list.vector("scale", 1, {fill::constant, 2.5f});
  list.matrix("places", 17, 24, {fill::sine_grid, 1.5f});
  list.vector("bias", 5, {});
  std::vector<parameter> items(list.items().begin(), list.items().end());
  // A rank of tensor parallelism has some columns, another one some rows.
  const auto cut = [&](std::vector<interval> rows, std::vector<interval> columns) {
    parameter made = list.items()[0];
    made.name = "cut";
    made.rows = 20, made.width = 50;
    made.held_rows = std::move(rows), made.held_columns = std::move(columns);
    made.offset = items.back().offset + parameter_space(items.back().held());
    items.push_back(made);
  };
  cut({{0, 20}}, {{11, 38}});
  cut({{3, 4}, {9, 20}}, {{0, 50}});
  const motet::isize size = items.back().offset + parameter_space(items.back().held());
  std::vector<Master> want(static_cast<std::size_t>(size), Master(7)), found = want;
  initialise<Master>(items, 3, want.data(), size);
  const auto same = [&] {
    return std::memcmp(found.data(), want.data(), found.size() * sizeof(Master)) == 0;
  };
  for (const int threads : {1, 3}) {
    std::fill(found.begin(), found.end(), Master(7));
    laws::cpu_run(threads, 64, [&](cpu::context& ctx) { initialise(ctx, items, 3, found.data(), size); });
    CHECK(same());
  }
  const laws::flat_on_gpu<Master> there(size);
  const laws::gpu_room room(0, 0);
  cuda::context ctx = room.context();
  initialise(ctx, items, 3, there.data(), size);
  ctx.on->finish();
  found = there.back();
  CHECK(same());

  // What is kept of it in shares is drawn alone: parts of rows, some rows and a part, and none of some
  // tensors.
  for (const auto& [begin, end] : {std::pair{0, 37}, {37, 6301}, {6301, 6316}, {6316, 6943}, {6943, 7400}}) {
    const interval own{begin, std::min<motet::isize>(end, size)};
    const auto of = want.begin() + own.begin, to = want.begin() + own.end;
    std::vector<Master> share(static_cast<std::size_t>(own.size()));
    laws::cpu_run(3, 64, [&](cpu::context& team) {
      for (const parameter& each : items) initialise(team, each, 3, own, share.data());
    });
    CHECK(std::equal(of, to, share.begin()));
    const laws::flat_on_gpu<Master> share_there(own.size());
    zero(ctx, share_there.data(), own.size());
    for (const parameter& each : items) initialise(ctx, each, 3, own, share_there.data());
    ctx.on->finish();
    CHECK(std::ranges::equal(share_there.back(), std::span(of, to)));
  }
}
