// SPDX-License-Identifier: Apache-2.0
#include <motet/front/explain_plan.hpp>

#include <motet/front/trainer.hpp>
#include <motet/plan/prove/plan_for.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::strategy;

namespace {

// Pictures in two stages, captions twice, of which one shares a rank with a stage; and a rank without work.
using layout = plan_for<small_model, on<"picture", ranks<0, 2>, stages<2>>,
                        on<"caption", ranks<1, 3>, data<2>>, by<batch_sync, strategy::microbatches<2>>>;

template <class Print>
std::string printed(Print&& print) {
  std::FILE* const file = std::tmpfile();
  print(file);
  std::string text(1 << 16, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("who holds what, what it takes, and what travels") {
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  plan of = layout::value();
  of.cluster.ranks = 4;
  const trainer<small_model> train(world, of, {.batch = 8});
  const auto facts = facts_of<small_model>();
  const plan_meaning meaning{train.of(), facts, train.order(), train.memory(), train.work(), {1e9, 1e9}};
  const std::vector<std::string> held = held_by_ranks(meaning.of, meaning.from, facts);
  REQUIRE(held.size() == 4);
  CHECK(held[0] == "picture stage 0 layers 0");
  CHECK(held[1] == "picture stage 1 layers 1; caption layers 0-1, replica 0 of 2");
  CHECK(held[2] == "caption layers 0-1, replica 1 of 2");
  CHECK(held[3] == "nothing: an idle rank");

  const auto traffic = traffic_of(meaning.of, meaning.work);
  REQUIRE(traffic.size() == 4);
  CHECK(traffic[0].flops > 0);
  CHECK(traffic[0].messages > 0);
  CHECK(traffic[0].reduction_bytes == 0);
  // Both replicas of the captions give all their gradients to be summed.
  CHECK(traffic[2].reduction_bytes == 4.0 * static_cast<double>(small_caption::net::parameter_size));
  CHECK(traffic[3].flops == 0);
  CHECK(traffic[3].messages == 0);

  const std::string text = printed([&](std::FILE* out) {
    print_plan(out, meaning.from, 8);
    print_meaning(out, meaning, 2);
  });
  for (const char* part :
       {"picture   stages 2 x data 1 x context 1 x tensor 1 on ranks 0-1; ", "caption   stages 1 x data 2",
        "batch_sync, 1 loss in a step, of 8 pairs each", "rank 3   nothing: an idle rank", "memory, MB",
        "1.0 GFLOP/s and 1.0 GB/s on one of 2 threads", "% of it bubbles"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("what replicas share, what leaves the memory, and what was measured besides are told") {
  plan shared;
  shared.cluster.ranks = 4;
  for (int zero = 1; zero <= 3; ++zero) {
    shared.modules = {};
    shared.modules.push(on_ranks("picture", 0, {.data = 2}));
    shared.modules[0].zero = zero;
    shared.modules[0].experts = 2;
    const std::string text = printed([&](std::FILE* out) { print_plan(out, shared, 8); });
    const char* const parts[] = {", optimizer shared, experts over 2 replicas",
                                 ", optimizer and gradients shared, experts",
                                 ", optimizer, gradients and weights shared, experts"};
    CHECK(text.find(parts[zero - 1]) != std::string::npos);
  }
  plan lanes = layout::value();
  lanes.beside("caption", .25);
  CHECK(printed([&](std::FILE* out) {
          print_plan(out, lanes, 8);
        }).find("caption   stages 1 x data 2 x context 1") != std::string::npos);
  CHECK(printed([&](std::FILE* out) { print_plan(out, lanes, 8); }).find(", in lane 1 with 25 % of a rank") !=
        std::string::npos);

  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  plan of = layout::value();
  of.cluster.ranks = 4;
  const trainer<small_model> train(world, of, {.batch = 8});
  const auto facts = facts_of<small_model>();
  std::vector<rank_memory> memory = train.memory();
  memory[1].stages.offloaded = 2'000'000;
  memory[2].stages.offloaded = 500'000;
  const module_times times{"picture", 2, 0, 1, 1, 1, 0, {{{1e6, 1e6, 1e6}, {1, 1, 1}}}};
  const plan_meaning meaning{of, facts, train.order(), memory, train.work(), {1e9, 1e9, 5e8, 2e9}, 1, {}, {},
                             {}, {},    {{times}, {}}};
  const std::string text = printed([&](std::FILE* out) { print_meaning(out, meaning, 2); });
  for (const char* part :
       {"\noffloaded rank 1 2.000 MB, rank 2 0.500 MB\n",
        "\nand       0.5 GFLOP/s of attention, 2.0 GB/s by operations on single elements\n",
        "\ntimes     picture measured, by recorded steps\n", "\ntimes     caption counted\n"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("which samples stay whole is told") {
  plan of;
  of.cluster.ranks = 2;
  of.modules.push(on_ranks("picture", 0, {.context = 2}));
  of.modules.push(on_ranks("caption", 0, {.context = 2}));
  of.modules[0].long_rows = long_rows_chosen;
  of.modules[1].long_rows = 40;
  const std::string text = printed([&](std::FILE* out) { print_plan(out, of, 8); });
  CHECK(text.find(", samples whole or cut by a number of rows that each step finds\n") != std::string::npos);
  CHECK(text.find(", samples of fewer than 40 rows whole\n") != std::string::npos);
}

TEST_CASE("a number of pieces that is left open is told with what it follows from") {
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  plan of;
  of.cluster.ranks = 2;
  of.modules.push(on_ranks("picture", 0, {.tensor = 2}));
  of.modules.push(on_ranks("caption", 0, {.data = 2}));
  of.modules[0].pieces = 0;
  const trainer<small_model> train(world, of, {.batch = 8});
  const auto facts = facts_of<small_model>();
  const plan_meaning meaning{of, facts, train.order(), train.memory(), train.work(), {1e9, 1e9}};
  const std::string text = printed([&](std::FILE* out) {
    print_plan(out, meaning.from, 8);
    print_meaning(out, meaning, 2);
  });
  CHECK(text.find("rows of its tensor groups in as many pieces as pay") != std::string::npos);
  // So small a model is faster in one piece.
  CHECK(text.find("\npieces    1 for picture: a microbatch exchanges for ") != std::string::npos);
  CHECK(text.find("for caption: ") == std::string::npos);
}

TEST_CASE(
    "lanes have the threads that are dealt to them, and the operating system's turns where there are too "
    "few") {
  plan of = layout::value();
  cost_table costs;
  share_threads(costs, of, 1, 2);
  CHECK(costs.shares.empty());
  CHECK(costs.processors == 0);
  of.beside("caption", .25);
  share_threads(costs, of, 8, 2);
  CHECK(costs.shares == list<double>{6, 2});
  CHECK(costs.by_itself == list<double>{.75, .25});
  share_threads(costs, of, 2, 2);
  CHECK(costs.shares == list<double>{1, 1});
  CHECK(costs.by_itself == list<double>{.5, .5});
  CHECK(costs.processors == 0);
  share_threads(costs, of, 1, 3);
  CHECK(costs.processors == 3);
  CHECK(costs.by_itself.empty());
  of.cluster.ranks = 3;
  of.cluster.ranks_per_node = 2;
  share_threads(costs, of, 1, 3);
  CHECK(costs.processors == 6);
}

TEST_CASE("lanes of a GPU are streams, with multiprocessors of their own where the plan says shares") {
  plan of = layout::value();
  cost_table costs;
  share_lanes(costs, of, computed_by::gpus, 1, 2);
  CHECK(costs.shares.empty());
  of.beside("caption");
  share_lanes(costs, of, computed_by::gpus, 1, 2);
  CHECK(costs.shares == list<double>{.5, .5});
  CHECK(costs.by_itself.empty());
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  const trainer<small_model> train(world, of, {.batch = 8});
  const auto facts = facts_of<small_model>();
  plan_meaning meaning{of, facts, train.order(), train.memory(), train.work(), {1e9, 1e9}};
  meaning.by = computed_by::gpus;
  const auto told = [&] { return printed([&](std::FILE* out) { print_meaning(out, meaning, 1); }); };
  const std::string streams = told();
  CHECK(streams.find("lanes     are streams: the GPU gives a rank's multiprocessors to whoever comes") !=
        std::string::npos);
  CHECK(streams.find("measured  1.0 GFLOP/s on a GPU, and 1.0 GB/s copied by the host") != std::string::npos);
  CHECK(streams.find("a step with a GPU for each rank") != std::string::npos);
  CHECK(streams.find("thread") == std::string::npos);
  CHECK(streams.find("leave") == std::string::npos);
  of.modules[1].fills = true;
  CHECK(told().find("whoever comes, as no module has a share; of lane 1 only what the others leave\n") !=
        std::string::npos);
  of.modules[1].fills = false;
  for (module_plan& each : of.modules)
    if (each.lane == 1) each.share = .25;
  share_lanes(costs, of, computed_by::gpus, 1, 2);
  CHECK(costs.by_itself == list<double>{.75, .25});
  CHECK(
      told().find("lanes     have 75 and 25 % of a rank's multiprocessors each to itself (green contexts)") !=
      std::string::npos);
}

TEST_CASE("a plan with lanes says who shares processors, and is slower by what was measured") {
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  plan of = layout::value();
  of.beside("caption", .25);
  const trainer<small_model> train(world, of, {.batch = 8});
  const auto facts = facts_of<small_model>();
  plan_meaning meaning{train.of(), facts, train.order(), train.memory(), train.work(), {1e9, 1e9}};
  double seconds = 0;
  const auto told = [&] {
    return printed([&](std::FILE* out) { seconds = print_meaning(out, meaning, 1000); });
  };
  const std::string text = told();
  CHECK(text.find("ranks of 1 thread have 2 lanes: the operating system shares processors evenly") !=
        std::string::npos);
  const double alone = seconds;
  module_pair two{"caption", "picture", 1, {}};
  add_point(two, {.5, 1, 1, 4, 4});
  meaning.pairs.push(two);
  told();
  CHECK(seconds > 1.05 * alone);
  meaning.threads = 2;
  CHECK(told().find("operating system") == std::string::npos);
}
