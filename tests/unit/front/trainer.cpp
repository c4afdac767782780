// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/trainer.hpp>

#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/plan/prove/plan_for.hpp>
#include <motet/runtime/save/held_tensors.hpp>
#include <motet/runtime/train/foretell.hpp>

#include "deviation.hpp"
#include "plain_muon.hpp"
#include "single_rank.hpp"
#include "unit/plan/last_first.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_model.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace motet;
using namespace motet::strategy;

namespace {

using layout = plan_for<small_model, on<"picture", ranks<0, 2>, stages<2>>,
                        on<"caption", ranks<1, 3>, data<2>>, by<batch_sync, strategy::microbatches<2>>>;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "2"};
  return launch(3, words);
}
// The single rank that tests have gives the numbers that are wanted.
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights, features = std::vector<float>(8 * 8);
};
steps wanted() {
  single_rank<small_model, fp32> train(8, 1);
  const small_batch data(8);
  steps out;
  for (int k = 0; k < 4; ++k) {
    const step_result found = train.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = train.weights;
  const small_batch few(2);
  train.embed<0>(std::get<0>(few.get()), out.features.data());
  return out;
}
void compare(trainer<small_model>& train, const steps& to, double tolerance) {
  const small_batch data(8), few(2);
  for (std::size_t k = 0; k < 4; ++k) {
    const step_result found = train.step(data.get(), 1e-3);
    CHECK(laws::off_by(found.loss, to.losses[k]) <= (tolerance + 1e-12) * to.losses[k]);
    CHECK(laws::off_by(found.gradient_norm, to.norms[k]) <= (10 * tolerance + 1e-12) * to.norms[k]);
  }
  CHECK(train.updates() == 4);
  std::vector<float> features(8 * 8);
  train.embed<"picture">(std::get<0>(few.get()), features.data());
  CHECK(laws::off_by(features, to.features) <= 100 * tolerance);
}
// A parameter begins here in the flat order.
std::size_t at(std::string_view name) {
  for (const parameter& each : small_model::parameters())
    if (each.name == name) return static_cast<std::size_t>(each.offset);
  throw std::runtime_error("no such parameter");
}
std::string refusal(const plan& how, const trainer_options& options = {.batch = 8}) {
  try {
    const launched_world world = alone();
    trainer<small_model> train(world, how, options);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("one rank with two threads takes the steps of one thread") {
  const launched_world world = alone();
  const steps to = wanted();
  trainer<small_model> train(world, {.batch = 8});
  CHECK(train.is_main());
  CHECK(train.threads() == 2);
  CHECK(train.of().cluster.ranks == 1);
  compare(train, to, 2e-6);  // sums of two threads round otherwise than those of one
  CHECK(laws::off_by(train.weights(), to.weights) <= 1e-4);
}

TEST_CASE("a batch in parts has the same loss and gradients, in less memory") {
  const launched_world world = alone();
  trainer<small_model> whole(world, {.batch = 8}), parts(world, {.batch = 8, .parts = 4});
  compare(parts, wanted(), 1e-5);
  CHECK(parts.memory()[0].stages.slots < whole.memory()[0].stages.slots);
  CHECK_THROWS_WITH_AS(trainer<small_model>(world, {.batch = 3, .parts = 4}),
                       doctest::Contains("a batch of 3 samples in 4 parts"), error);
}

TEST_CASE(
    "blocks that are made again give the same numbers from less memory and with more work, kept outputs from "
    "more memory") {
  const launched_world world = alone();
  const small_batch data(8);
  for (const bool spread : {false, true}) {
    INFO("spread " << spread);
    const auto made = [&](bool recompute, bool keep_outputs = false) {
      const trainer_options how{.batch = 8, .recompute = recompute, .keep_outputs = keep_outputs};
      return spread ? trainer<small_model>(world, layout::value(), how) : trainer<small_model>(world, how);
    };
    trainer<small_model> kept = made(false), again = made(true), outputs = made(false, true);
    const auto slots = [](const trainer<small_model>& of) {
      motet::isize sum = 0;
      for (const rank_memory& each : of.memory()) sum += each.stages.slots;
      return sum;
    };
    CHECK(slots(again) < slots(kept));
    CHECK(slots(outputs) > slots(kept));
    CHECK(again.work().places[0].backward_input > kept.work().places[0].backward_input);
    for (int k = 0; k < 2; ++k) {
      const double loss = kept.step(data.get(), 1e-3).loss;
      CHECK(again.step(data.get(), 1e-3).loss == loss);
      CHECK(outputs.step(data.get(), 1e-3).loss == doctest::Approx(loss).epsilon(1e-6));
    }
    CHECK(again.weights() == kept.weights());
  }
}

TEST_CASE("a plan over three ranks trains and embeds as one rank does") {
  const launched_world world = alone();
  trainer<small_model> train(world, layout::value(), {.batch = 8});
  CHECK(train.order().ranks() == 3);
  CHECK(train.memory().size() == 3);
  compare(train, wanted(), 1e-4);
}

TEST_CASE("a schedule of the program's own trains as one rank does, and goes by its name") {
  using mine = plan_for<small_model, on<"picture", ranks<0, 2>, stages<2>>,
                        on<"caption", ranks<1, 3>, data<2>>, by<last_first<>, strategy::microbatches<2>>>;
  const launched_world world = alone();
  trainer<small_model> train(world, mine::value(), {.batch = 8});
  CHECK(train.of().schedule == label("last_first"));
  compare(train, wanted(), 1e-4);
  CHECK(refusal(plan(layout::value()).by(last_first<flaw::ranks>{})).find("MT-S26") != std::string::npos);
}

TEST_CASE("a plan has a name, or the message says which there are") {
  const launched_world world = alone();
  trainer<small_model> train(world, "batch_sync-2", {.batch = 8});
  CHECK(train.order().ranks() == 2);
  CHECK(train.of() == plan_of("batch_sync-2", facts_of<small_model>()));
  compare(train, wanted(), 1e-4);
  CHECK_THROWS_WITH_AS(trainer<small_model>(world, "all-2", {.batch = 8}),
                       doctest::Contains("\"all-2\"; there are one, apart"), error);
}

TEST_CASE("what one plan saved another goes on from") {
  const launched_world world = alone();
  const std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("motet-front-" + std::to_string(::getpid()));
  const small_batch data(8);
  trainer<small_model> one(world, {.batch = 8});
  one.step(data.get(), 1e-3);
  CHECK(std::filesystem::exists(one.save(run, "small", json{{"seen", 8}})));
  const double next = one.step(data.get(), 1e-3).loss;
  trainer<small_model> many(world, layout::value(), {.batch = 8, .seed = 2});
  const checkpoint from(run);
  many.load(from, "small");
  CHECK(many.updates() == 1);
  CHECK(laws::off_by(many.step(data.get(), 1e-3).loss, next) <= 1e-5 * next);
  // The state goes by value, too.
  trainer<small_model> again(world, {.batch = 8, .seed = 3});
  again.set_state(many.state());
  CHECK(again.weights() == many.weights());
  std::filesystem::remove_all(run);
}

TEST_CASE("after the first, a step allocates nothing") {
  const launched_world world = alone();
  for (const motet::isize parts : {1, 2}) {
    trainer<small_model> train(world, {.batch = 8, .parts = parts});
    const small_batch data(8), other(8, 2);
    train.step(data.get(), 1e-3);
    const long before = allocations.load();
    train.step(other.get(), 1e-3);
    train.step(data.get(), 1e-3);
    CHECK(allocations.load() == before);
  }
}

TEST_CASE("plans that do not fit the model, the batch or the ranks are refused before anything starts") {
  plan wrong = layout::value();
  wrong.modules[0].layers = {1, 2};
  CHECK(refusal(wrong).find("picture: got 1 + 2 = 3 on 2 stages") != std::string::npos);
  CHECK(refusal(layout::value(), {.batch = 3}).find("a batch of 3 samples in 4 parts") != std::string::npos);
  const char* const words[] = {"program", "--ranks", "2"};
  const launched_world two = launch(3, words);
  CHECK_THROWS_WITH_AS(trainer<small_model>(two, layout::value(), {.batch = 8}),
                       doctest::Contains("the plan is for 3 ranks, there are 2"), error);
}

TEST_CASE("what is not finite is named, and the weights stay") {
  const launched_world world = alone();
  trainer<small_model> train(world, {.batch = 8});
  small_batch data(8);
  const std::vector<float> before = train.weights();
  data.pixels[5 * 3 * 64 + 1] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("the input of \"picture\", sample 5"),
                       error);
  CHECK(train.weights() == before);
  // A good batch goes on as if nothing had happened.
  data.pixels[5 * 3 * 64 + 1] = 0;
  CHECK(std::isfinite(train.step(data.get(), 1e-3).loss));
  flat_state<float> spoilt = train.state();
  spoilt.weights[at("caption.blocks.0.mlp.up.weight") + 3] = std::numeric_limits<float>::infinity();
  train.set_state(spoilt);
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3),
                       doctest::Contains("weight caption.blocks.0.mlp.up.weight, element 3 is inf"), error);
}

TEST_CASE("the temperature stops at ln 100, and stays as it is when a step is refused") {
  const launched_world world = alone();
  trainer<small_model> train(world, {.batch = 4});
  flat_state<float> hot = train.state();
  hot.weights[at("join.log_scale")] = 10;
  train.set_state(hot);
  small_batch data(4);
  data.pixels[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("MT-R01"), error);
  CHECK(train.state().weights[at("join.log_scale")] == 10);
  data.pixels[5] = 0;
  train.step(data.get(), 1e-3);
  CHECK(train.state().weights[at("join.log_scale")] == doctest::Approx(4.6051702));
}

TEST_CASE("training lowers the loss of a batch that it sees again and again") {
  const launched_world world = alone();
  trainer<small_model> train(world, {.batch = 7});
  const small_batch data(7);
  const double first = train.step(data.get(), 3e-3).loss;
  double last = first;
  for (int i = 0; i < 30; ++i) last = train.step(data.get(), 3e-3).loss;
  CHECK(first > 1.5);
  CHECK(last < 0.5 * first);
  CHECK(train.updates() == 31);
  CHECK_THROWS_WITH_AS(train.step(small_batch(8).get(), 1e-3),
                       doctest::Contains("has 8 samples, planned for exactly 7"), error);
}

namespace {

// Optimizers by themselves: gradients of one rank, and updates in loops over doubles that know parameters by
// their names alone. The caption has a pace of its own.
trainer_options learns_by(optimizer_kind kind) {
  trainer_options how{.batch = 8};
  how.optimizer.kind = kind;
  how.optimizer.beta2 = 0.99;
  how.ema = 0.8;
  how.layer_rate = 0.7;
  how.paces = {{"caption", 0.5, 0.05, rate_schedule{rate_kind::linear, 2e-3, 1, 5, 0.1, 1}, 0.9}};
  return how;
}
struct plain_run {
  std::vector<double> weights, average, first, second;
};
plain_run plainly(optimizer_kind kind, int steps) {
  single_rank<small_model, fp32> from(8, 1);
  const small_batch data(8);
  const auto size = static_cast<std::size_t>(small_model::trainable_size);
  plain_run out{
      {from.weights.begin(), from.weights.end()}, {}, std::vector<double>(size), std::vector<double>(size)};
  out.average = out.weights;
  for (int step = 0; step < steps; ++step) {
    from.differentiate(data.get());
    double squares = 0;
    for (const float g : from.gradients) squares += static_cast<double>(g) * static_cast<double>(g);
    const double clip = std::sqrt(squares) > 1 ? 1 / (std::sqrt(squares) + 1e-6) : 1;
    for (const parameter& each : small_model::parameters()) {
      const bool caption = each.name.starts_with("caption.");
      const std::size_t block = each.name.find(".blocks.");
      const double falls = caption ? 0.9 : 0.7;
      double rate =
          caption ? 0.5 * (step == 0 ? 0 : 2e-3 * (0.1 + 0.9 * (1 - (step - 1.0 - (step > 1 ? 1 : 0)) / 3)))
                  : 1e-3;
      if (caption && step == 1) rate = 0.5 * 2e-3;
      if (block != std::string::npos) rate *= std::pow(falls, '2' - each.name[block + 8]);
      else if (each.name.find(".embed.") != std::string::npos) rate *= std::pow(falls, 3);
      const double decay = each.decay ? caption ? 0.05 : 0.2 : 0;
      const auto begin = static_cast<std::size_t>(each.offset), count = static_cast<std::size_t>(each.size());
      const auto part = [&](const std::vector<double>& of) {
        return std::vector<double>(&of[begin], &of[begin] + count);
      };
      if (kind == optimizer_kind::muon && block != std::string::npos && each.rows > 1) {
        std::vector<double> w = part(out.weights), m = part(out.first), g;
        for (std::size_t i = 0; i < count; ++i)
          g.push_back(clip * static_cast<double>(from.gradients[begin + i]));
        laws::plain_muon(w, g, m, each.rows, each.width, rate, decay, 0.95);
        std::copy(w.begin(), w.end(), &out.weights[begin]);
        std::copy(m.begin(), m.end(), &out.first[begin]);
        continue;
      }
      for (std::size_t i = begin; i < begin + count; ++i) {
        const double g = clip * static_cast<double>(from.gradients[i]);
        double &w = out.weights[i], &m = out.first[i], &v = out.second[i];
        if (kind == optimizer_kind::lion) {
          const double toward = 0.9 * m + 0.1 * g;
          w -= rate * ((toward > 0) - (toward < 0) + decay * w);
          m = 0.99 * m + 0.01 * g;
        } else {
          m = 0.9 * m + 0.1 * g;
          v = 0.99 * v + 0.01 * g * g;
          const double t = step + 1;
          w -= rate *
               (m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-6) + decay * w);
        }
      }
    }
    for (std::size_t i = 0; i < size; ++i) out.average[i] = 0.8 * out.average[i] + 0.2 * out.weights[i];
    std::copy(out.weights.begin(), out.weights.end(), from.weights.begin());
    ++from.updates;
  }
  return out;
}
// A gradient that is zero but for rounding has any sign: under Lion some elements may move otherwise.
double share_off(const std::vector<float>& got, const std::vector<double>& wanted, double tolerance) {
  double off = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    off += !(std::abs(static_cast<double>(got[i]) - wanted[i]) <= tolerance);
  return off / static_cast<double>(wanted.size());
}

using replicas = plan_for<small_model, on<"picture", ranks<0, 2>, data<2>>,
                          on<"caption", ranks<0, 2>, data<2>>, by<batch_sync, strategy::microbatches<1>>>;
using parts_of_layers = plan_for<small_model, on<"picture", ranks<0, 2>, tensor<2>>,
                                 on<"caption", ranks<2, 3>>, by<batch_sync, strategy::microbatches<1>>>;
plan with_zero(plan of, int level) {
  for (module_plan& each : of.modules)
    if (each.on.split().data > 1) each.zero = level;
  return of;
}

}  // namespace

TEST_CASE("every optimizer, average and pace is as it is defined, on one rank and under plans") {
  const launched_world world = alone();
  const small_batch data(8);
  for (const optimizer_kind kind : {optimizer_kind::adamw, optimizer_kind::lion, optimizer_kind::muon}) {
    CAPTURE(std::string(name_of(kind)));
    const plain_run wanted = plainly(kind, 4);
    const trainer_options how = learns_by(kind);
    const auto right = [&](trainer<small_model>& train) {
      for (int k = 0; k < 4; ++k) train.step(data.get(), 1e-3);
      const double most = kind == optimizer_kind::lion ? 0.03 : 0;
      CHECK(share_off(train.weights(), wanted.weights, 5e-5) <= most);
      CHECK(share_off(train.averages(), wanted.average, 5e-5) <= most);
    };
    trainer<small_model> one(world, how), spread(world, layout::value(), how);
    right(one);
    right(spread);
    for (const int level : {1, 2})
      if (kind == optimizer_kind::muon) {
        CHECK(refusal(with_zero(replicas::value(), level), how).find("cut by zero") != std::string::npos);
        CHECK(refusal(with_zero(replicas::value(), level), how).find("MT-R29") != std::string::npos);
      } else {
        trainer<small_model> shared(world, with_zero(replicas::value(), level), how);
        right(shared);
        const stage_memory held = shared.memory()[0].stages;
        CHECK(held.optimizer == (kind == optimizer_kind::lion ? 1 : 2) * held.averages);
      }
    if (kind == optimizer_kind::muon) {
      CHECK(refusal(parts_of_layers::value(), how).find("picture are cut by tensor = 2") !=
            std::string::npos);
    } else {
      trainer<small_model> cut(world, parts_of_layers::value(), how);
      right(cut);
    }
  }
}

TEST_CASE("memory is foretold by moments and averages, and a refused step moves none") {
  const launched_world world = alone();
  const auto of = [&](optimizer_kind kind, double ema) {
    trainer_options how{.batch = 8, .ema = ema};
    how.optimizer.kind = kind;
    return trainer<small_model>(world, how).memory()[0].stages;
  };
  const stage_memory usual = of(optimizer_kind::adamw, 0), lion = of(optimizer_kind::lion, 0.9);
  CHECK(usual.averages == 0);
  CHECK(usual.optimizer == 2 * usual.gradients);
  CHECK(lion.optimizer == lion.gradients);
  CHECK(lion.averages == lion.gradients);
  motet::isize matrices = 0;
  for (const parameter& each : small_model::parameters())
    if (moves_as_matrix(each, optimizer_kind::muon)) matrices += parameter_space(each.size());
  CHECK(matrices > 0);
  CHECK(of(optimizer_kind::muon, 0).optimizer == usual.optimizer - 4 * matrices);

  trainer<small_model> train(world, learns_by(optimizer_kind::lion));
  small_batch data(8);
  train.step(data.get(), 1e-3);
  const flat_state<float> before = train.state();
  data.pixels[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("MT-R01"), error);
  const flat_state<float> after = train.state();
  CHECK(after.weights == before.weights);
  CHECK(after.first == before.first);
  CHECK(after.average == before.average);
  CHECK(after.second.empty());
}

TEST_CASE("steps of any optimizer with averages allocate nothing") {
  const launched_world world = alone();
  const small_batch data(8);
  for (const optimizer_kind kind : {optimizer_kind::lion, optimizer_kind::muon}) {
    trainer<small_model> train(world, learns_by(kind));
    train.step(data.get(), 1e-3);
    const long before = allocations.load();
    train.step(data.get(), 1e-3);
    CHECK(allocations.load() == before);
  }
}

TEST_CASE("runs with other optimizers and averages go on exactly, and a checkpoint tells whose it is") {
  const launched_world world = alone();
  const std::filesystem::path base =
      std::filesystem::temp_directory_path() / ("motet-learning-" + std::to_string(::getpid()));
  const small_batch data(8);
  for (const optimizer_kind kind : {optimizer_kind::lion, optimizer_kind::muon}) {
    CAPTURE(std::string(name_of(kind)));
    const std::filesystem::path run = base / std::string(name_of(kind));
    const plan how = kind == optimizer_kind::lion ? with_zero(replicas::value(), 2) : layout::value();
    trainer<small_model> first(world, how, learns_by(kind)), second(world, how, learns_by(kind));
    first.step(data.get(), 1e-3);
    first.step(data.get(), 1e-3);
    first.save(run, "small");
    const auto averages = first.averages();
    first.step(data.get(), 1e-3);
    const checkpoint from(run);
    CHECK(from.moved_by() == name_of(kind));
    second.load(from, "small");
    CHECK(second.averages() == averages);
    second.step(data.get(), 1e-3);
    const flat_state<float> one = first.state(), other = second.state();
    CHECK(one.weights == other.weights);
    CHECK(one.first == other.first);
    CHECK(one.second == other.second);
    CHECK(one.average == other.average);
    // Another plan goes on within rounding.
    trainer<small_model> alone_now(world, learns_by(kind));
    alone_now.load(from, "small");
    alone_now.step(data.get(), 1e-3);
    CHECK(share_off(alone_now.weights(), {one.weights.begin(), one.weights.end()}, 5e-5) <= 0.03);
    // Its averages, for who does not train on.
    std::vector<float> read(averages.size());
    std::vector<loaded_tensor> wanted;
    for (const parameter& each : small_model::parameters())
      wanted.push_back({each.name, shape_of(each), read.data() + each.offset});
    from.load_weights("small", wanted, weights_of::averages);
    CHECK(read == averages);
    // Features by averages, until weights change.
    const small_batch few(2);
    std::vector<float> by_averages(8 * 8), wanted_features(8 * 8), by_weights(8 * 8);
    alone_now.load(from, "small");
    alone_now.embed<"picture">(std::get<0>(few.get()), by_weights.data());
    alone_now.gather(weights_of::averages);
    alone_now.embed<"picture">(std::get<0>(few.get()), by_averages.data());
    flat_state<float> averaged = alone_now.state();
    averaged.weights = averages;
    alone_now.set_state(averaged);
    alone_now.embed<"picture">(std::get<0>(few.get()), wanted_features.data());
    CHECK(by_averages == wanted_features);
    CHECK(by_averages != by_weights);
    // A run of another optimizer refuses it.
    trainer<small_model> usual(world, {.batch = 8});
    const std::string both =
        "made by " + std::string(name_of(kind)) + ", and this run moves weights by adamw";
    CHECK_THROWS_WITH_AS(usual.load(from, "small"), doctest::Contains(both.c_str()), error);
    CHECK_THROWS_WITH_AS(usual.load(from, "small"), doctest::Contains("MT-R56"), error);
    CHECK_THROWS_WITH_AS(usual.averages(), doctest::Contains("ema = 0"), error);
  }
  // Of a run without averages they begin with its weights.
  trainer<small_model> usual(world, {.batch = 8}), followed(world, {.batch = 8, .seed = 5, .ema = 0.9});
  usual.step(data.get(), 1e-3);
  usual.save(base / "usual", "small");
  const checkpoint plain(base / "usual");
  followed.load(plain, "small");
  CHECK(followed.averages() == usual.weights());
  std::vector<float> one(8);
  CHECK_THROWS_WITH_AS(plain.load_weights("small", {}, weights_of::averages), doctest::Contains("MT-R5"),
                       error);
  std::filesystem::remove_all(base);
}

TEST_CASE("how a run learns is in its range") {
  const launched_world world = alone();
  const auto refused = [&](trainer_options how) {
    how.batch = 8;
    try {
      trainer<small_model> train(world, how);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(refused({.ema = 1}).find("ema = 1") != std::string::npos);
  CHECK(refused({.optimizer = {.beta1 = -0.5}}).find("beta1 = -0.5") != std::string::npos);
  CHECK(refused({.layer_rate = -1}).find("layer_rate = -1") != std::string::npos);
  CHECK(refused({.paces = {{"picture", 1, {}, rate_schedule{.warmup = -2}}}}).find("warm-up of -2") !=
        std::string::npos);
  CHECK(refused({.paces = {{"picture", 1, -0.1}}}).find("wanted 0 or more") != std::string::npos);
}
