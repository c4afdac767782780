// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/feeds/meeting_point.hpp>

#include <join_laws.hpp>
#include <rank_threads.hpp>

#include <motet/backend/transport/local/local.hpp>

#include <doctest/doctest.h>

using namespace motet;
using laws::drawn, laws::model_of, laws::squared_products;

namespace {

// An end that counts what comes.
struct counting_end : local::endpoint {
  using local::endpoint::endpoint;
  std::array<motet::isize, 2> came{};  // of first and of second exchanges
  std::int32_t joins = 0;
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) {
    if (!local::endpoint::exchange(meeting, member, own, out, all, in)) return false;
    for (const byte_range& each : in) came[meeting < joins ? 0 : 1] += each.bytes;
    return true;
  }
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, motet::isize bytes) {
    if (!local::endpoint::fetch(meeting, member, own, out, from, to, bytes)) return false;
    came[meeting < joins ? 0 : 1] += bytes;
    return true;
  }
};

struct outcome {
  std::vector<motet::isize> features_came, told_came, held;  // of each rank, in bytes
};

// Ranks are threads. In turn they meet with these seats, of as many microbatches each, in room for the
// largest of all.
template <class Model, class Numbers>
outcome compare(const std::vector<std::vector<join_seat>>& turns, int ranks, motet::isize samples,
                motet::isize groups, double tolerance) {
  laws::join_problem<Model, Numbers> problem(turns[0], ranks, samples, groups);
  if (turns.size() > 1) problem.largest = problem.seats;
  for (const auto& seats : turns)
    for (std::size_t v = 0; v < problem.largest.size(); ++v)
      for (std::size_t m = 0; m < seats[v].samples.size(); ++m) {
        interval& most = problem.largest[v].samples[m];
        most = {0, std::max(most.size(), seats[v].samples[m].size())};
      }
  local::world world(ranks, 0, problem.members.all());
  std::vector<std::unique_ptr<counting_end>> ends;
  std::vector<std::unique_ptr<laws::join_rank<Model, Numbers, counting_end>>> all;
  std::int32_t owners = 0;
  for (std::int32_t r = 0; r < ranks; ++r) {
    ends.push_back(std::make_unique<counting_end>(world, r));
    ends.back()->joins = problem.sheet.join_meetings();
    all.push_back(std::make_unique<laws::join_rank<Model, Numbers, counting_end>>(problem, r, *ends.back()));
    const auto* const point = all.back()->point();
    if (point == nullptr) continue;
    owners += point->is_owner();
    CHECK(point->is_owner() == (point->weights() != nullptr));
    if (point->is_owner()) CHECK(problem.learns(r));
  }
  CHECK(owners == 1);

  outcome out;
  for (std::uint64_t turn = 0; turn < std::max<std::size_t>(2, turns.size()); ++turn) {
    if (turns.size() > 1) {
      problem.change(turns[turn]);
      for (auto& each : all) each->lay_out();
    }
    problem.draw(turn);
    for (auto& each : ends) {
      each->begin_step();
      each->came = {};
    }
    laws::each_on_a_thread(ranks, [&](std::int32_t r) { all[static_cast<std::size_t>(r)]->step(); });

    double loss = 0;
    std::vector<double> numbers(problem.d_numbers.size(), 0.0);
    for (std::int32_t r = 0; r < ranks; ++r) {
      const auto& each = *all[static_cast<std::size_t>(r)];
      loss += each.loss;
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += each.numbers[i];
      CHECK(each.worst <= tolerance);
      // Nobody asks a rank where nothing learns for a part of the loss at the end of a step.
      if (!problem.learns(r)) CHECK(each.loss == 0);
    }
    const auto near = [&](double got, double wanted) {
      return std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted));
    };
    CHECK(near(loss, problem.loss));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      CHECK(near(numbers[i], static_cast<double>(problem.d_numbers[i])));
    out = {};
    for (const auto& each : ends) {
      out.features_came.push_back(each->came[0]);
      out.told_came.push_back(each->came[1]);
    }
    for (const auto& each : all)
      out.held.push_back(each->point() != nullptr ? each->point()->measure().features : 0);
  }
  return out;
}

template <class Model, class Numbers>
outcome compare(const std::vector<join_seat>& seats, int ranks, motet::isize samples, motet::isize groups,
                double tolerance) {
  return compare<Model, Numbers>(std::vector<std::vector<join_seat>>{seats}, ranks, samples, groups,
                                 tolerance);
}

// Seats are drawn several times, with as many microbatches each time.
std::vector<std::vector<join_seat>> drawn_often(const std::vector<std::vector<int>>& ranks,
                                                motet::isize samples, std::uint64_t seed) {
  std::vector<std::vector<join_seat>> all{drawn(ranks, samples, seed)};
  for (std::uint64_t other = seed + 1; all.size() < 4; ++other) {
    auto next = drawn(ranks, samples, other);
    bool alike = true;
    for (std::size_t v = 0; v < next.size(); ++v)
      alike = alike && next[v].samples.size() == all[0][v].samples.size();
    if (alike) all.push_back(std::move(next));
  }
  return all;
}
template <class Loss, bool A, bool B, bool C>
void changing(double tolerance = 1e-12) {
  std::uint64_t seed = 0;
  for (const auto& ranks : laws::members_of_three) {
    seed += 100;
    CAPTURE(seed);
    compare<model_of<Loss, A, B, C>, fp64>(drawn_often(ranks, 11, seed), 5, 11,
                                           1 + static_cast<motet::isize>(seed % 3), tolerance);
  }
}

template <class Loss, bool A, bool B, bool C>
void all_of_three(double tolerance = 1e-12) {
  std::uint64_t seed = 0;
  for (const auto& ranks : laws::members_of_three) {
    ++seed;
    CAPTURE(seed);
    compare<model_of<Loss, A, B, C>, fp64>(drawn(ranks, 11, seed), 5, 11,
                                           1 + static_cast<motet::isize>(seed % 3), tolerance);
  }
}

}  // namespace

TEST_CASE("softmax over any members is that of one rank") { all_of_three<info_nce, false, false, false>(); }
TEST_CASE("softmax with one frozen module") { all_of_three<info_nce, true, false, false>(); }
TEST_CASE("softmax with a pair of frozen modules, which counts once") {
  all_of_three<info_nce, true, false, true>();
}
TEST_CASE("softmax where only the last module learns") { all_of_three<info_nce, true, true, false>(); }
TEST_CASE("pairwise sigmoid over any members is that of one rank") {
  all_of_three<pairwise_sigmoid, false, false, false>();
}
TEST_CASE("pairwise sigmoid with one frozen module") { all_of_three<pairwise_sigmoid, false, true, false>(); }
TEST_CASE("pairwise sigmoid with a pair of frozen modules") {
  all_of_three<pairwise_sigmoid, true, false, true>();
}
TEST_CASE("a loss of the user's own") {
  all_of_three<squared_products, false, false, false>();
  all_of_three<squared_products, true, true, false>();
}

TEST_CASE("members bring other samples in each step, in the room of the largest") {
  changing<info_nce, false, false, false>();
  changing<info_nce, true, false, true>();
  changing<pairwise_sigmoid, false, true, false>();
  changing<squared_products, true, true, false>();
}

TEST_CASE("float, and samples enough for several tiles") {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    compare<model_of<info_nce, false, false>, fp32>(drawn({{0, 1, 2}, {3, 2}}, 150, seed), 4, 150, 2, 2e-6);
    compare<model_of<pairwise_sigmoid, false, false>, fp32>(drawn({{0, 1, 2}, {3, 2}}, 150, seed), 4, 150, 2,
                                                            2e-6);
  }
}

TEST_CASE("features travel once and their gradients never") {
  constexpr motet::isize row = 4 * 8, numbers = parameter_space(1) * 8;
  const auto sum = [](const std::vector<motet::isize>& of) {
    motet::isize all = 0;
    for (const motet::isize each : of) all += each;
    return all;
  };
  // Modules of uneven members apart: whoever has rows of one module gets all of the other, and for softmax a
  // number for each of its rows.
  const std::vector<join_seat> apart{{0, 0, 0, {{0, 3}, {3, 10}}},
                                     {1, 0, 0, {{10, 12}}},
                                     {2, 1, 0, {{4, 12}}},
                                     {3, 1, 0, {{0, 4}}},
                                     {4, 1, 0, {{7, 7}}}};
  const outcome softmax = compare<model_of<info_nce, false, false>, fp64>(apart, 5, 12, 1, 1e-12);
  CHECK(softmax.features_came ==
        std::vector<motet::isize>{12 * row, 12 * row + numbers, 12 * row + numbers, 12 * row + numbers, 0});
  CHECK(softmax.told_came == std::vector<motet::isize>{12 * 8, 12 * 8, 12 * 8, 12 * 8, 0});
  const outcome sigmoid = compare<model_of<pairwise_sigmoid, false, false>, fp64>(apart, 5, 12, 1, 1e-12);
  CHECK(sum(sigmoid.features_came) == 4 * 12 * row + 3 * 2 * numbers);
  CHECK(sum(sigmoid.told_came) == 0);
  // A frozen module's member needs nothing of others for a loss whose rows tell nothing.
  const std::vector<join_seat> two{{0, 0, 0, {{0, 12}}}, {1, 1, 0, {{0, 12}}}};
  const outcome fixed = compare<model_of<pairwise_sigmoid, true, false>, fp64>(two, 2, 12, 1, 1e-12);
  CHECK(fixed.features_came == std::vector<motet::isize>{0, 12 * row});
  // Both modules whole on one rank: nothing moves.
  const std::vector<join_seat> one{{1, 0, 0, {{0, 12}}}, {1, 1, 0, {{0, 5}, {5, 12}}}};
  const outcome alone = compare<model_of<info_nce, false, false>, fp64>(one, 2, 12, 2, 1e-12);
  CHECK(sum(alone.features_came) + sum(alone.told_came) == 0);
}

TEST_CASE("where rows tell nothing, those of two other members are here at a time") {
  constexpr motet::isize row = 4 * 8, part = 2 * 16 * row, numbers = 2 * parameter_space(1) * 8;
  for (const motet::isize ranks : {2, 4, 8}) {
    std::vector<join_seat> seats;
    for (motet::isize k = 0; k < 2; ++k)
      for (motet::isize r = 0; r < ranks; ++r)
        seats.push_back({static_cast<std::int32_t>(r), k, 0, {{16 * r, 16 * r + 16}}});
    const outcome found = compare<model_of<pairwise_sigmoid, false, false>, fp64>(
        seats, static_cast<int>(ranks), 16 * ranks, 1, 1e-12);
    // Own rows and their gradients, the numbers of the loss twice and their gradients; the owner's rows come
    // with its numbers.
    CHECK(found.held[1] == part + part + (ranks > 2 ? 2 : 1) * (part + numbers) + 2 * numbers + 8);
    CHECK(found.features_came[1] == (ranks - 1) * part + numbers);
  }
}

TEST_CASE("a rank without a seat, or seats of another model, are refused") {
  using point_type = meeting_point<cpu::context, fp64, local::endpoint>;
  const auto& table = table_of_model<model_of<info_nce, false, false>, cpu::context, fp64>;
  point_type::home_type home;
  home.rank = 2;
  const join_layout two({{0, 0, 0, {{0, 4}}}, {1, 1, 0, {{0, 4}}}}, 4), one({{2, 0, 0, {{0, 4}}}}, 4);
  CHECK_THROWS_WITH_AS(point_type(table, home, two, 1), doctest::Contains("rank 2 has no seat"), error);
  CHECK_THROWS_WITH_AS(point_type(table, home, one, 1),
                       doctest::Contains("seats of 1 modules, the model has 2"), error);
}
