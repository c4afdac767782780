// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>

#include "unit/runtime/small_edges.hpp"

#include <plan_laws.hpp>

#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using fed_speech = small_fed_speech<>;
constexpr motet::isize seen_samples = 12;
using processes = process_rank<mpi::world, mpi::endpoint>;

// Three steps of modules that feed one another, each by the score that is picked: losses, and then the
// weights.
template <class Trainer>
std::vector<double> learned(const plan& of, const std::vector<score>& orders,
                            const std::function<picked_score(std::uint64_t)>& pick) {
  pipeline_config config;
  config.batch = seen_samples;
  config.modules = choices_of(of);
  config.deadline = 120;
  Trainer by(orders, config);
  by.prepare();
  std::vector<double> out;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const small_seen_text data(seen_samples, 1 + k);
    std::vector<motet::isize> rows;
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
    const pictured_tokens all = data.get();
    const fed_speech::batch batch{seen_pictures{all.seen, seen_samples, all.picture_offsets},
                                  placed_tokens{all, rows.data(), all.places}};
    out.push_back(by.step(batch, 1e-3, nullptr, pick(k)).loss);
  }
  for (const float each : by.weights()) out.push_back(each);
  return out;
}
template <class Trainer>
std::vector<double> learned(const plan& of) {
  std::vector<score> order(1);
  REQUIRE(write_plan(of, facts_of<fed_speech>(), order[0], seen_samples).ok());
  return learned<Trainer>(of, order, [](std::uint64_t) { return picked_score{}; });
}
// The eye and its glue on replicas that cut samples unlike the language model, which cuts them unevenly. Its
// stages have ranks of their own or, where the others fill, the same ones.
plan seen_by(bool fills, std::int32_t ranks) {
  plan out;
  out.cluster.ranks = ranks;
  out.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "talk"}) {
    const int two = ranks > 1 ? 2 : 1;
    const bool last = name[0] == 't';
    module_plan own =
        on_ranks(name, last && !fills && ranks > 2 ? 2 : 0,
                 last ? degrees{.stages = fills || ranks > 2 ? 2 : 1} : degrees{.data = two}, last ? 5 : 3);
    own.group = 1;
    own.fills = fills && !last;
    if (own.on.split().data > 1) own.zero = fills ? 2 : 3;
    out.modules.push(own);
  }
  return out;
}

}  // namespace

TEST_CASE("plans over processes equal the single rank") {
  const int ranks = motet::tests::mpi_session().ranks();
  plan_maker maker(3, ranks, 2, ranks);
  for (int i = 0; i < 6; ++i) compare<processes>(maker.make());
}

TEST_CASE(
    "modules that feed one another over processes equal the single rank, also where they fill its gaps or "
    "compute in lanes") {
  plan alone = seen_by(false, 1);
  for (module_plan& each : alone.modules) each.on = mesh::from(0, {}), each.microbatches = 1;
  const std::vector<double> wanted = learned<pipeline<fed_speech, fp32>>(alone);
  const int ranks = motet::tests::mpi_session().ranks();
  for (const bool lanes : {false, true})
    for (const bool fills : {false, true}) {
      CAPTURE(fills);
      CAPTURE(lanes);
      if (fills && ranks != 2) continue;  // ranks without work would be left
      plan of = seen_by(fills, ranks);
      if (lanes) of.beside("eye").beside("glue");
      CHECK(laws::off_by(learned<pipeline_trainer<fed_speech, cpu::device, fp32, processes>>(of), wanted) <=
            1e-4);
    }
}

// Scores of one cast: another one in each step.
std::vector<score> scores_on(std::int32_t ranks) {
  std::vector<score> orders;
  for (const char* const name : {"1f1b", "gpipe"}) {
    plan of = seen_by(false, ranks);
    of.schedule = name;
    REQUIRE(write_plan(of, facts_of<fed_speech>(), orders.emplace_back(), seen_samples).ok());
  }
  return orders;
}

TEST_CASE("scores that take turns over processes learn what the single rank learns") {
  plan alone = seen_by(false, 1);
  for (module_plan& each : alone.modules) each.on = mesh::from(0, {}), each.microbatches = 1;
  const std::vector<double> wanted = learned<pipeline<fed_speech, fp32>>(alone);
  const plan of = seen_by(false, motet::tests::mpi_session().ranks());
  const std::vector<double> found = learned<pipeline_trainer<fed_speech, cpu::device, fp32, processes>>(
      of, scores_on(of.cluster.ranks), [](std::uint64_t step) {
        return picked_score{step % 2 == 0 ? 1 : 0, 7};
      });
  CHECK(laws::off_by(found, wanted) <= 1e-4);
}

TEST_CASE("processes that pick unlike scores, or by unlike headers, begin no step and are told both") {
  const std::int32_t ranks = motet::tests::mpi_session().ranks(), rank = motet::tests::mpi_session().rank();
  if (ranks == 1) return;
  const plan of = seen_by(false, ranks);
  using of_processes = pipeline_trainer<fed_speech, cpu::device, fp32, processes>;
  const auto last_picks = [&](picked_score other) {
    return [=](std::uint64_t) { return rank + 1 == ranks ? other : picked_score{0, 7}; };
  };
  const std::string first = "rank 0 plays score 0, by headers with mark 7; rank " + std::to_string(ranks - 1);
  CHECK_THROWS_WITH_AS(learned<of_processes>(of, scores_on(ranks), last_picks({1, 7})),
                       doctest::Contains((first + " plays score 1, by headers with mark 7").c_str()), error);
  CHECK_THROWS_WITH_AS(learned<of_processes>(of, scores_on(ranks), last_picks({0, 8})),
                       doctest::Contains((first + " plays score 0, by headers with mark 8").c_str()), error);
  // One that is not there is not played by the others.
  CHECK_THROWS_WITH_AS(learned<of_processes>(of, scores_on(ranks), last_picks({2, 7})),
                       doctest::Contains("MT-R72"), error);
}

TEST_CASE("ranks that compute while rows of their tensor groups come learn the same to the bit") {
  const int ranks = motet::tests::mpi_session().ranks();
  const auto in_pieces = [&](int pieces) {
    plan of = seen_by(false, 1);
    of.cluster.ranks = ranks;
    for (module_plan& each : of.modules) {
      each.on = mesh::from(0, {.data = ranks / 2, .tensor = 2});
      each.pieces = pieces;
    }
    return of;
  };
  if (ranks % 2 != 0) return;
  using of_processes = pipeline_trainer<fed_speech, cpu::device, fp32, processes>;
  const std::vector<double> wanted = learned<of_processes>(in_pieces(1));
  for (const int pieces : {2, 3}) {
    CAPTURE(pieces);
    CHECK(learned<of_processes>(in_pieces(pieces)) == wanted);
  }
  // Threads of this process, which are as many ranks.
  CHECK(learned<pipeline<fed_speech, fp32>>(in_pieces(3)) == wanted);
}

TEST_CASE("processes that begin at unlike learning rates are told both") {
  const std::int32_t ranks = motet::tests::mpi_session().ranks(), rank = motet::tests::mpi_session().rank();
  plan_maker maker(3, ranks, 2, ranks);
  const plan of = maker.make();
  if (ranks == 1) return;
  const test_data data(law_samples);
  score order;
  REQUIRE(write_plan(of, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = law_samples;
  config.modules = choices_of(of);
  pipeline_trainer<towers, cpu::device, fp32, processes> many(order, config);
  many.prepare();
  CHECK_THROWS_WITH_AS(
      many.step(data.batch<towers>(), rank == 0 ? 0.001 : 0.002),
      doctest::Contains("the learning rate of the first step is 0.001 on rank 0; 0.002 on rank"), error);
}

TEST_CASE("processes go on from a checkpoint of other plans") {
  auto& here = motet::tests::mpi_session();
  const std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("motet_plans_" + std::to_string(::getppid()));
  plan_maker maker(5, here.ranks(), 2, here.ranks());
  for (int i = 0; i < 2; ++i) {
    const plan first = maker.make(1), second = maker.make(1);
    go_on<processes>(first, second, run);
    if (here.rank() == 0) std::filesystem::remove_all(run);
  }
}
