// SPDX-License-Identifier: Apache-2.0
// labels: threads
// A language model with experts is fed by an eye and learns by any plan what it learns on one rank: which
// rows an expert gets, what the router's losses add, and whose gradients those of the experts are.
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include "deviation.hpp"
#include "drawn_cases.hpp"
#include "unit/runtime/drawn_unlike.hpp"
#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {

// Losses of the router weigh enough to be seen, and an expert of five has room for fewer rows than come.
constexpr decoder_config words = [] {
  decoder_config own = small_sight_words;
  own.mix = {.experts = 5, .capacity = 1.2f, .balance = 0.3f, .z = 0.1f};
  return own;
}();
// Each picture is a sample of the eye's router, too.
constexpr vit_config sight = [] {
  vit_config own = small_sight_eye;
  own.mix = {.experts = 3, .balance = 0.2f};
  return own;
}();
using speech = model<modules<module<"eye", vit_rows<sight, true, 2>>, module<"glue", projector<8, 16, 12>>,
                             module<"talk", fed_decoder<words, 10>>>,
                     edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
constexpr motet::isize samples = 12;

struct fed_text {
  small_seen_text data;
  std::vector<motet::isize> rows;
  explicit fed_text(std::uint64_t seed) : data(samples, seed) {
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  }
  speech::batch get() const {
    const pictured_tokens all = data.get();
    return {seen_pictures{all.seen, samples, all.picture_offsets},
            placed_tokens{all, rows.data(), all.places}};
  }
};
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
launched_world alone(const char* threads = "1") {
  const char* const line[] = {"program", "--threads", threads};
  return launch(3, line);
}
steps train(const plan* how) {
  // Rooms of every other plan follow the rows of its steps, some ranks have several threads, and of some
  // plans each block is made again in backward.
  static int turn = 0;
  ++turn;
  const launched_world world = alone(turn % 4 == 0 ? "2" : "1");
  trainer_options wanted{.batch = samples, .rooms = {.by_rows = turn % 2 == 1}};
  wanted.recompute = turn % 3 == 0;
  trainer<speech> by = how != nullptr ? trainer<speech>(world, *how, wanted) : trainer<speech>(world, wanted);
  steps out;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const fed_text data(1 + k);
    const step_result found = by.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
// Of the numbers of replicas that may share so many experts, one above 1 where there is one.
void share_experts(module_plan& own, int held, int turn) {
  const degrees& split = own.on.split();
  std::vector<int> ways;
  for (int each = 2; each <= std::min(held, split.data); ++each)
    if (split.data % each == 0 && each * split.tensor <= held) ways.push_back(each);
  if (!ways.empty()) own.experts = ways[static_cast<std::size_t>(turn) % ways.size()];
}
// Replicas of the language model share experts, in any order of it, with or without tensor groups and with
// the others anywhere, and so may those of the eye.
plan drawn_sharing(std::uint64_t seed) {
  plan out = drawn_unlike<speech>(seed);
  const random_stream draw(seed, "sharing"), shares(seed, "shares of it");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<int>(draw.below(at++, most)); };
  struct numbers {
    int data, context, stages, experts, tensor = 1;
  };
  constexpr numbers all[] = {{2, 1, 1, 2}, {2, 1, 2, 2}, {3, 1, 1, 3},   {4, 1, 1, 4},
                             {4, 1, 1, 2}, {2, 2, 1, 2}, {2, 1, 1, 2, 2}};
  constexpr const char* schedules[] = {"1f1b", "gpipe", "zb_h1", "zb_v", "dualpipe_v", "interleaved"};
  const numbers& which = all[below(std::size(all))];
  share_experts(out.modules[0], sight.mix.experts, below(2));
  module_plan& own = out.modules.back();
  degrees ways{which.stages, which.data, which.context, which.tensor};
  own.on = mesh::from(below(static_cast<std::uint32_t>(5 - ways.size())), ways);
  own.experts = which.experts;
  own.microbatches = 1 + below(4);
  own.long_rows = which.context > 1 ? 6 * below(3) : 0;
  own.zero = with_weights(below(3), shares, 0);
  const char* const schedule = schedules[below(std::size(schedules))];
  out.schedule = schedule;
  const bool two = schedule[0] == 'd' || schedule[0] == 'i' || schedule[3] == 'v';
  if (two) own.chunks = 2;
  ways.stages = 1;
  if (two) own.on = mesh::from(0, ways);
  if (two) own.microbatches = 2 + 2 * below(2);
  if (below(3) == 0) own.remade.resize(own.stages(), 1);
  return out;
}
void check_is_one_rank(const plan& how) {
  static const steps want = train(nullptr);
  const steps got = train(&how);
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}

}  // namespace

TEST_CASE("any plan is one rank where a tensor group shares experts, and context parts cut samples") {
  for (int k = 0; k < laws::so_many(16); ++k) {
    if (!laws::in_our_half(static_cast<std::uint64_t>(k))) continue;
    const std::uint64_t seed = laws::seeded(20000) + static_cast<std::uint64_t>(k);
    CAPTURE(seed);
    check_is_one_rank(drawn_unlike<speech>(seed));
  }
}
// Two stages of the language model on four ranks, and the eye on all of them.
plan beside_stages() {
  plan out{{.ranks = 4}, "1f1b", {}};
  out.modules.push(on_ranks("eye", 0, {.data = 4}, 2));
  out.modules.push(on_ranks("glue", 0, {.data = 4}, 2));
  out.modules.push(on_ranks("talk", 0, {.stages = 2, .data = 2}, 3));
  for (module_plan& each : out.modules) each.group = 1;
  out.modules[0].experts = 2;
  out.modules[2].experts = 2;
  return out;
}
TEST_CASE("attention is cut by tensor groups, and experts by all ranks of replicas: three lanes of sums") {
  for (const int zero : {0, 1, 3}) {
    if (!laws::in_our_half(zero == 1 ? 1 : 0)) continue;
    CAPTURE(zero);
    plan how{{.ranks = 4}, "1f1b", {}};
    for (const char* const name : {"eye", "glue", "talk"}) {
      how.modules.push(on_ranks(name, 0, {.data = 2, .tensor = 2}, 3));
      how.modules[how.modules.size() - 1].group = 1;
    }
    how.modules[2].experts = 2;
    how.modules[2].zero = zero;
    check_is_one_rank(how);
    // Two rows of replicas, of which two ranks hold the same.
    how.cluster.ranks = 8;
    how.modules[2].on = mesh::from(0, {.data = 4, .tensor = 2});
    check_is_one_rank(how);
  }
}
TEST_CASE("modules that share experts compute in gaps, between others, and in lanes") {
  check_is_one_rank(beside_stages());
  for (const int zero : {0, 2, 3}) {
    if (!laws::in_our_half(zero == 0 ? 0 : 1)) continue;
    CAPTURE(zero);
    plan filled = beside_stages();
    for (const motet::isize k : {0, 1}) filled.modules[k].fills = true;
    filled.modules[0].zero = filled.modules[2].zero = zero;
    check_is_one_rank(filled);
    filled.modules[0].chunks = 2;
    filled.schedule = "zb_h1";
    check_is_one_rank(filled);
  }
  plan between = beside_stages();
  for (const motet::isize k : {0, 1}) between.modules[k].multiplexed = true;
  between.modules[0].ahead = 1;
  check_is_one_rank(between);
  check_is_one_rank(beside_stages().beside({"eye", "glue"}, 0.25));
}
TEST_CASE("a replica that shares experts has fewer weights, and a checkpoint of it is like others") {
  plan how{{.ranks = 4}, "1f1b", {}};
  for (const char* const name : {"eye", "glue", "talk"}) {
    how.modules.push(on_ranks(name, 0, {.data = 4}, 2));
    how.modules[how.modules.size() - 1].group = 1;
  }
  const launched_world world = alone();
  // Two steps by each plan, of which the second goes on from the first's state.
  flat_state<float> left;
  std::vector<motet::isize> held, foretold;
  for (const int experts : {1, 2, 4, 0}) {
    how.modules[2].experts = experts > 0 ? experts : 2;
    if (experts == 0) how.modules[2].on = mesh::from(0, {.data = 2, .tensor = 2});
    trainer<speech> by(world, how, {.batch = samples});
    const fed_text data(1), next(2);
    by.step(data.get(), 1e-3);
    const auto found = by.state();
    if (experts != 1) {
      CHECK(laws::off_by(found.weights, left.weights) <= 1e-6);
      CHECK(laws::off_by(found.first, left.first) <= 1e-6);
      trainer<speech> one(world, {.batch = samples});
      one.set_state(found);
      CHECK(laws::off_by(one.step(next.get(), 1e-3).loss, by.step(next.get(), 1e-3).loss) <= 1e-5);
      CHECK(laws::off_by(one.weights(), by.weights()) <= 1e-4);
    }
    left = found;
    held.push_back(by.memory()[0].stages.weights);
  }
  // Of five experts of each layer a rank has at most three, or two.
  constexpr motet::isize of_expert = 4 * words.layers * 3 * words.width * words.hidden;
  CHECK(held[0] - held[1] == 2 * of_expert);
  CHECK(held[0] - held[2] == 3 * of_expert);
}
TEST_CASE("any plan is one rank where replicas share experts") {
  int fitting = 0;
  for (int k = 0; k < laws::so_many(32); ++k) {
    const std::uint64_t seed = laws::seeded(21000) + static_cast<std::uint64_t>(k);
    CAPTURE(seed);
    const plan how = drawn_sharing(seed);
    const message* row = nullptr;
    const std::string why = explain_plan(how, facts_of<speech>(), samples, &row);
    // Numbers that a schedule does not have, or stages that are made again and split.
    const std::set<std::string_view> expected{"", "MT-P02", "MT-P03", "MT-P10", "MT-S10", "MT-S17"};
    CHECK_MESSAGE(expected.count(row == nullptr ? "" : row->code) == 1, why);
    fitting += why.empty() ? 1 : 0;
    if (why.empty() && laws::in_our_half(static_cast<std::uint64_t>(k))) check_is_one_rank(how);
  }
  CHECK(fitting > laws::so_many(32) / 3);
}
