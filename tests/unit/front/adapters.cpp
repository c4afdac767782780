// SPDX-License-Identifier: Apache-2.0
// labels: threads
// A module that learns by adapters alone, beside weights that rest: by any plan, and with modules before it.
#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/front/trainer.hpp>

#include <motet/model/merged_weights.hpp>
#include <motet/nn/towers/in_halves.hpp>
#include <motet/plan/prove/plan_for.hpp>
#include <motet/runtime/save/begin_weights.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_edges.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string_view>

using namespace motet;
using namespace motet::strategy;

namespace {

constexpr adapter_config of_all{
    .rank = 3, .alpha = 5, .keys = true, .out = true, .gate = true, .up = true, .down = true};
constexpr decoder_config adapted_config = [] {
  decoder_config c = small_talk_config;
  c.adapters = of_all;
  return c;
}();
using adapted_talk = decoder<adapted_config>;
using adapted_speech = model<join<next_token, module<"talk", adapted_talk>>>;
constexpr isize learned = adapted_talk::adapter_size, resting_count = adapted_talk::parameter_size;

static_assert(adapted_speech::trainable_size == learned);
static_assert(adapted_speech::parameter_size == learned + small_talk::parameter_size);

launched_world alone(const char* threads = "2") {
  const char* const words[] = {"program", "--threads", threads};
  return launch(3, words);
}
template <class T>
std::vector<T> behind(const std::vector<T>& flat) {
  return {flat.begin() + learned, flat.end()};
}

// The net with all that it computes with in one buffer, as the model's flat order has it.
struct in_one_buffer : adapted_talk {
  template <class C, class N, class Y, class S>
  static void forward(C& ctx, weights<N> w, const input& batch, Y features, S& s) {
    adapted_talk::forward(ctx, {w.data + learned, {}, w.data}, batch, features, s);
  }
  template <class C, class N, class D, class S>
  static void backward(C& ctx, weights<N> w, const input& batch, D d, S& s, gradients<N> g) {
    adapted_talk::backward(ctx, {w.data + learned, {}, w.data}, batch, d, s, {nullptr, {}, g.data});
  }
};
// The loss and the length of its gradient at these weights, by the net alone, in double.
std::pair<double, double> wanted(const std::vector<float>& at, const small_text& data) {
  const laws::reals w(at.begin(), at.end()), none(w.size(), 0.0);
  const labelled_tokens batch = data.get();
  const auto found = laws::evaluate<fp64>(laws::tower_subject<in_one_buffer>{batch}, laws::way::whole, 1, w,
                                          {}, laws::reals(as_size(batch.seq.samples), 1.0), none);
  double loss = 0;
  for (const double each : found.y) loss += each;
  return {loss, laws::size_of(found.g)};
}

struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Trainer>
steps train(Trainer& by, std::uint64_t from = 0, std::uint64_t to = 5) {
  steps out;
  for (std::uint64_t k = from; k < to; ++k) {
    const small_text data(8, 1 + k);
    const step_result found = by.step({data.get()}, 1e-2);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone();
    trainer<adapted_speech> one(world, {.batch = 8});
    return train(one);
  }();
  return found;
}
void check_close(const steps& got, const steps& want) {
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
  CHECK(behind(got.weights) == behind(want.weights));
}
void check_plan_is_one_rank(const plan& how) {
  CAPTURE(how.modules[0].on.split().stages);
  CAPTURE(how.modules[0].on.split().data);
  CAPTURE(how.modules[0].zero);
  const launched_world world = alone();
  trainer<adapted_speech> many(world, how, {.batch = 8});
  check_close(train(many), of_one_rank());
}
// FLOPs of the products that make gradients of weights, and of all products.
std::pair<double, double> products(const step_costs& of) {
  double gradients = 0, all = 0;
  for (const operation_cost& each : of.operations()) {
    if (each.kind != flops_of::products) continue;
    all += each.flops * static_cast<double>(each.calls);
    if (std::string_view(each.name) == "linear_backward_weight")
      gradients += each.flops * static_cast<double>(each.calls);
  }
  return {gradients, all};
}

}  // namespace

TEST_CASE("loss and gradient are those of the net, and weights that rest keep every bit") {
  const launched_world world = alone();
  trainer<adapted_speech> one(world, {.batch = 8});
  trainer<small_speech> plain(world, {.batch = 8});
  const std::vector<float> before = one.weights();
  CHECK(behind(before) == plain.weights());
  for (std::uint64_t k = 0; k < 4; ++k) {
    const small_text data(8, 1 + k);
    const auto [loss, norm] = wanted(one.weights(), data);
    const step_result found = one.step({data.get()}, 1e-2);
    CHECK(laws::off_by(found.loss, loss) <= 1e-6 * loss);
    CHECK(laws::off_by(found.gradient_norm, norm) <= 1e-5 * norm);
    if (k == 0) CHECK(found.loss == plain.step({data.get()}, 0).loss);
  }
  const std::vector<float> after = one.weights();
  CHECK(behind(after) == behind(before));
  for (const parameter& each : adapted_speech::parameters()) {
    if (each.offset >= learned) continue;
    CAPTURE(each.name);
    const auto at = static_cast<std::size_t>(each.offset);
    CHECK(std::vector<float>(after.begin() + each.offset, after.begin() + each.offset + each.size()) !=
          std::vector<float>(before.begin() + each.offset, before.begin() + each.offset + each.size()));
    CHECK(std::isfinite(after[at]));
  }
}

TEST_CASE("gradients and moments are of adapters alone, and so are products for them") {
  const launched_world world = alone();
  trainer<adapted_speech> one(world, {.batch = 8});
  trainer<small_speech> plain(world, {.batch = 8});
  const stage_memory held = one.memory()[0].stages, whole = plain.memory()[0].stages;
  CHECK(held.gradients == 4 * learned);
  CHECK(held.optimizer == 8 * learned);
  CHECK(held.weights == 4 * (learned + resting_count));
  CHECK(whole.gradients == 4 * resting_count);
  const auto [gradients, all] = products(one.foretold_costs());
  const auto [base_gradients, base_all] = products(plain.foretold_costs());
  double elements = 0;
  for (const parameter& each : adapted_speech::parameters())
    if (each.offset < learned) elements += static_cast<double>(each.size());
  constexpr double rows = 8 * 7;
  CHECK(gradients == 2 * rows * elements);
  // Forward and both parts of backward of the adapters; of the base, what is not its weights' gradients.
  CHECK(all == base_all - base_gradients + 6 * rows * elements);
}

TEST_CASE("any plan is one rank: stages, replicas, parts of samples, shared moments and gradients") {
  check_plan_is_one_rank(
      plan_for<adapted_speech,
               on<"talk", ranks<0, 2>, stages<2>, strategy::microbatches<4>, group<1>>>::value());
  check_plan_is_one_rank(plan_for<adapted_speech, on<"talk", ranks<0, 2>, context<2>>>::value());
  check_plan_is_one_rank(plan_for<adapted_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value());
  check_plan_is_one_rank(plan_for<adapted_speech, on<"talk", ranks<0, 4>, context<2>, tensor<2>>>::value());
  check_plan_is_one_rank(
      plan_for<adapted_speech,
               on<"talk", ranks<0, 4>, stages<2>, tensor<2>, strategy::microbatches<4>, group<1>>>::value());
  for (const int level : {1, 2}) {
    plan how = plan_for<adapted_speech, on<"talk", ranks<0, 4>, data<2>, tensor<2>>>::value();
    how.modules[0].zero = level;
    check_plan_is_one_rank(how);
  }
  for (const int level : {0, 1, 2}) {
    plan how = plan_for<adapted_speech, on<"talk", ranks<0, 3>, data<3>>>::value();
    how.modules[0].zero = level;
    check_plan_is_one_rank(how);
  }
  plan again = plan_for<adapted_speech, on<"talk", ranks<0, 2>, stages<2>>>::value();
  again.modules[0].remade.push(1);
  again.modules[0].remade.push(0);
  check_plan_is_one_rank(again);
  const launched_world world = alone("1");
  trainer<adapted_speech> parts(world, {.batch = 8, .parts = 4}), ema(world, {.batch = 8, .ema = 0.5});
  check_close(train(parts), of_one_rank());
  check_close(train(ema), of_one_rank());
  CHECK(behind(ema.averages()) == behind(ema.weights()));
}

// Stages end within blocks, whose second halves have no adapters.
TEST_CASE("by any plan adapters drop the same numbers, and a plan that cuts samples is refused") {
  constexpr decoder_config dropping = [] {
    decoder_config c = adapted_config;
    c.adapters.dropout = 0.5f;
    c.adapters.gate = c.adapters.up = c.adapters.down = false;
    return c;
  }();
  using dropping_speech = model<join<next_token, module<"talk", in_halves<decoder<dropping>>>>>;
  const launched_world world = alone();
  const steps one = [&] {
    trainer<dropping_speech> by(world, {.batch = 8});
    return train(by);
  }();
  CHECK(one.losses[0] == of_one_rank().losses[0]);
  CHECK(std::abs(one.losses[3] - of_one_rank().losses[3]) > 1e-4 * one.losses[3]);
  trainer<dropping_speech> parts(world, {.batch = 8, .parts = 4});
  check_close(train(parts), one);
  plan remade = plan_for<dropping_speech, on<"talk", ranks<0, 2>, stages<2>>>::value();
  remade.modules[0].remade.resize(2, 1);
  remade.modules[0].layers = {2, 2};
  for (const plan& how : {plan_for<dropping_speech, on<"talk", ranks<0, 2>, stages<2>, strategy::layers<1, 3>,
                                                       strategy::microbatches<4>, group<1>>>::value(),
                          plan_for<dropping_speech, on<"talk", ranks<0, 3>, data<3>>>::value(), remade}) {
    trainer<dropping_speech> many(world, how, {.batch = 8});
    check_close(train(many), one);
  }
  plan idle = remade;
  idle.modules[0].layers = {3, 1};
  CHECK_THROWS_WITH_AS(
      trainer<dropping_speech>(world, idle, {.batch = 8}),
      doctest::Contains("stage 1 of talk is half a block without adapters, so nothing of it learns"), error);
  CHECK_THROWS_WITH_AS(
      trainer<dropping_speech>(world, plan_for<dropping_speech, on<"talk", ranks<0, 2>, context<2>>>::value(),
                               {.batch = 8}),
      doctest::Contains("talk has adapters with dropout, and context = 2. Take tensor = 1"), error);
  CHECK_THROWS_WITH_AS(
      trainer<dropping_speech>(world, plan_for<dropping_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value(),
                               {.batch = 8}),
      doctest::Contains("talk has adapters with dropout, and tensor = 2. Take tensor = 1"), error);
}

TEST_CASE("what adapters add to sums comes in pieces, and changes no bit") {
  const launched_world world = alone();
  const auto learned_in = [&](int pieces) {
    plan how = plan_for<adapted_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value();
    how.modules[0].pieces = pieces;
    trainer<adapted_speech> many(world, how, {.batch = 8});
    return train(many, 0, 3);
  };
  const steps whole = learned_in(1);
  for (const int pieces : {2, 5}) {
    const steps got = learned_in(pieces);
    CHECK(got.losses == whole.losses);
    CHECK(got.weights == whole.weights);
  }
}

TEST_CASE("tensor members hold parts of adapters") {
  using bounds = std::vector<std::pair<isize, isize>>;
  const auto bounds_of = [](const std::vector<interval>& all) {
    bounds found;
    for (const interval& each : all) found.emplace_back(each.begin, each.end);
    return found;
  };
  const auto held = [](const char* name, std::int32_t member) {
    for (const parameter& each : layer::parameters_of<adapted_talk>({}, {2, member}, listed::adapters))
      if (each.name == name) return each;
    return parameter{};
  };
  CHECK(held("blocks.0.attention.qkv.a", 1).by == cut_by::nothing);
  CHECK(held("blocks.0.attention.qkv.b", 1).held() == 3 * (8 + 4 + 4));
  CHECK(bounds_of(held("blocks.0.attention.qkv.b", 1).held_rows) == bounds{{8, 16}, {20, 24}, {28, 32}});
  CHECK(bounds_of(held("blocks.0.attention.out.a", 1).held_columns) == bounds{{8, 16}});
  CHECK(held("blocks.0.attention.out.b", 1).by == cut_by::nothing);
  CHECK(bounds_of(held("blocks.0.mlp.gate_up.b", 0).held_rows) == bounds{{0, 10}, {20, 30}});
  CHECK(bounds_of(held("blocks.0.mlp.down.a", 1).held_columns) == bounds{{10, 20}});
}

TEST_CASE("another plan goes on from a checkpoint, with the moments of adapters") {
  const std::filesystem::path run = std::filesystem::temp_directory_path() / "motet_adapters";
  std::filesystem::remove_all(run);
  const launched_world world = alone();
  {
    trainer<adapted_speech> first(
        world, plan_for<adapted_speech, on<"talk", ranks<0, 2>, tensor<2>>>::value(), {.batch = 8});
    train(first, 0, 2);
    first.save(run, "talk", json{});
  }
  const checkpoint from(run);
  trainer<adapted_speech> second(world, plan_for<adapted_speech, on<"talk", ranks<0, 2>, stages<2>>>::value(),
                                 {.batch = 8});
  second.load(from, "talk");
  CHECK(second.updates() == 2);
  const steps got = train(second, 2);
  CHECK(laws::off_by(got.losses, std::vector<double>(of_one_rank().losses.begin() + 2,
                                                     of_one_rank().losses.end())) <= 1e-5);
  CHECK(laws::off_by(got.weights, of_one_rank().weights) <= 1e-4);
  std::filesystem::remove_all(run);
}

TEST_CASE("adapters begin beside the weights of a run without them") {
  const std::filesystem::path run = std::filesystem::temp_directory_path() / "motet_adapters_begin";
  std::filesystem::remove_all(run);
  const launched_world world = alone();
  trainer<small_speech> plain(world, {.batch = 8, .ema = 0.5});
  train(plain);
  plain.save(run, "plain");
  trainer<adapted_speech> last(world, {.batch = 8, .ema = 0.5}), averages(world, {.batch = 8});
  const std::vector<float> drawn = last.weights();
  last.begin(checkpoint(run));
  averages.begin(checkpoint(run), {.which = weights_of::averages});
  CHECK(behind(last.weights()) == plain.weights());
  CHECK(behind(averages.weights()) == plain.averages());
  CHECK(last.averages() == last.weights());
  CHECK(std::equal(drawn.begin(), drawn.begin() + learned, last.weights().begin()));
  const small_text data(8, 40);
  CHECK(last.step({data.get()}, 1e-2).loss == plain.step({data.get()}, 0).loss);
  // A run with adapters gives these, too, and none after a step.
  last.save(run / "adapted", "adapted");
  averages.begin(checkpoint(run / "adapted"));
  CHECK(averages.weights() == last.weights());
  CHECK_THROWS_WITH_AS(last.begin(checkpoint(run)), doctest::Contains("to begin with, after 1 steps"), error);
  std::filesystem::remove_all(run);
}

TEST_CASE("merged weights are a model without adapters that has the same loss") {
  const launched_world world = alone();
  trainer<adapted_speech> adapted(world, {.batch = 8});
  train(adapted);
  trainer<small_speech> plain(world, {.batch = 8});
  flat_state<float> state = plain.state();
  state.weights = merged_weights<adapted_speech>(adapted.weights());
  CHECK(state.weights != behind(adapted.weights()));
  CHECK(state.weights == adapted.weights<"talk">());
  plain.set_state(state);
  const small_text data(8, 40);
  const double loss = adapted.step({data.get()}, 0).loss;
  CHECK(laws::off_by(plain.step({data.get()}, 0).loss, loss) <= 1e-6 * loss);
}

TEST_CASE("features are the same on ranks that hold parts, and of averages") {
  const launched_world world = alone();
  trainer<adapted_speech> whole(world, {.batch = 8, .ema = 0.9}),
      cut(world, plan_for<adapted_speech, on<"talk", ranks<0, 2>, stages<2>>>::value(),
          {.batch = 8, .ema = 0.9});
  train(whole), train(cut);
  const small_text data(5, 77);
  std::vector<float> a(5), b(5), c(5), d(5);
  whole.embed<"talk">(data.get(), a.data());
  cut.embed<"talk">(data.get(), b.data());
  CHECK(laws::off_by(b, a) <= 1e-4);
  whole.gather(weights_of::averages), cut.gather(weights_of::averages);
  whole.embed<"talk">(data.get(), c.data());
  cut.embed<"talk">(data.get(), d.data());
  CHECK(laws::off_by(d, c) <= 1e-4);
  CHECK(c != a);
}

TEST_CASE("a projector learns before adapted words as it does before words that stay") {
  constexpr decoder_config words = [] {
    decoder_config c = small_sight_words;
    c.adapters = of_all;
    return c;
  }();
  using seen_by_words =
      model<modules<module<"eye", frozen<vit_rows<small_sight_eye, true, 2>>>,
                    module<"glue", projector<8, 16, 12>>, module<"talk", fed_decoder<words, 10>>>,
            edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
  using seen_by_still_words = small_fed_speech<true, true>;
  const launched_world world = alone();
  const trainer_options unclipped{.batch = 6, .optimizer = {.clip = 1e9}};
  trainer<seen_by_words> adapted(world, unclipped);
  trainer<seen_by_still_words> still(world, unclipped);
  const auto glue_of = []<class Model>(trainer<Model>& by) {
    std::vector<float> found;
    const std::vector<float> flat = by.weights();
    for (const parameter& each : Model::parameters())
      if (each.name.starts_with("glue."))
        found.insert(found.end(), flat.begin() + each.offset, flat.begin() + each.offset + each.size());
    return found;
  };
  const small_seen_text data(6, 3);
  std::vector<isize> rows;
  for (const isize each : data.picture_offsets) rows.push_back(5 * each);
  const pictured_tokens all = data.get();
  const seen_by_words::batch batch{seen_pictures{all.seen, 6, all.picture_offsets},
                                   placed_tokens{all, rows.data(), all.places}};
  CHECK(adapted.step(batch, 1e-2).loss == still.step(batch, 1e-2).loss);
  // B is zero, so the gradients of rows that enter are the same.
  CHECK(glue_of(adapted) == glue_of(still));
  double by_adapters = 0, by_glue = 0;
  for (int k = 0; k < 30; ++k) {
    by_adapters = adapted.step(batch, 1e-2).loss;
    by_glue = still.step(batch, 1e-2).loss;
  }
  CHECK(by_adapters < 0.5 * by_glue);
}
