// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/front/cuda_ranks.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_model.hpp"

#include <doctest/doctest.h>

#include <filesystem>

// The trainer of a program, on a GPU: the same calls, the same numbers.

using namespace motet;

namespace {

using on_gpu = trainer<small_model, fp32, motet::cuda::device>;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "1"};
  return launch(3, words);
}
plan apart() {
  plan made;
  made.cluster.ranks = 2;
  made.modules.push(on_ranks("picture", 0, {}, 2));
  made.modules.push(on_ranks("caption", 1, {}, 2));
  return made;
}
// Steps, features and state are those on processors.
void compare(on_gpu& found, trainer<small_model>& wanted, bool ahead = false) {
  const small_batch data[2] = {small_batch(6), small_batch(6, 2)};
  for (std::size_t k = 0; k < 6; ++k) {
    if (ahead && k < 5) found.expect(data[(k + 1) % 2].get());
    const step_result a = found.step(data[k % 2].get(), 1e-3), b = wanted.step(data[k % 2].get(), 1e-3);
    CHECK(laws::off_by(a.loss, b.loss) <= 1e-4 * b.loss);
    if (k == 0) CHECK(laws::off_by(a.gradient_norm, b.gradient_norm) <= 1e-4 * b.gradient_norm);
  }
  CHECK(found.updates() == 6);
  const small_batch few(9, 3);  // more than a step has
  std::vector<float> here(9 * 8), there(9 * 8);
  found.embed<"picture">(std::get<0>(few.get()), there.data());
  wanted.embed<"picture">(std::get<0>(few.get()), here.data());
  CHECK(laws::off_by(there, here) <= 1e-3);
  found.embed<"caption">(std::get<1>(few.get()), there.data());
  wanted.embed<"caption">(std::get<1>(few.get()), here.data());
  CHECK(laws::off_by(there, here) <= 1e-3);
  CHECK(laws::off_by(found.weights(), wanted.weights()) <= 1e-2);
  CHECK(laws::off_by(found.flops(data[0].get()), wanted.flops(data[0].get())) <=
        0.01 * wanted.flops(data[0].get()));
}

}  // namespace

TEST_CASE("one rank that has a GPU, with and without the next batch ahead, whole and in parts") {
  const launched_world world = alone();
  for (const bool ahead : {false, true}) {
    for (const motet::isize parts : {1, 2}) {
      trainer<small_model> wanted(world, {.batch = 6, .parts = parts});
      on_gpu found(world, {.batch = 6, .parts = parts, .ahead = ahead});
      CHECK(found.memory().size() == 1);
      CHECK(found.memory()[0].inputs > 0);
      compare(found, wanted, ahead);
      CHECK(found.device().replayed() > 0);
    }
  }
}

TEST_CASE("ranks of a plan that share a GPU") {
  const launched_world world = alone();
  trainer<small_model> wanted(world, {.batch = 6});
  on_gpu found(world, apart(), {.batch = 6, .processors = {0}});
  CHECK(found.memory().size() == 2);
  compare(found, wanted);
}

TEST_CASE("features, and a state that goes from the GPU to the CPU and back") {
  const small_batch data[2] = {small_batch(6, 10), small_batch(6, 11)};
  const launched_world world = alone();
  on_gpu one(world, {.batch = 6});
  trainer<small_model> two(world, {.batch = 6, .seed = 9});
  for (int k = 0; k < 3; ++k) one.step(data[k % 2].get(), 2e-3);
  const flat_state<float> left = one.state();
  CHECK(left.updates == 3);
  CHECK(first_not_finite(left.weights.data(), small_model::parameter_size) < 0);
  two.set_state(left);
  CHECK(two.updates() == 3);

  std::vector<float> here(6 * 8), there(6 * 8);
  const auto same_features = [&] {
    for (const small_batch& each : data) {
      one.embed<"picture">(std::get<0>(each.get()), there.data());
      two.embed<"picture">(std::get<0>(each.get()), here.data());
      CHECK(laws::off_by(there, here, true) <= 1e-4);
      one.embed<"caption">(std::get<1>(each.get()), there.data());
      two.embed<"caption">(std::get<1>(each.get()), here.data());
      CHECK(laws::off_by(there, here, true) <= 1e-4);
    }
  };
  const auto same_steps = [&](on_gpu& gpu) {
    for (int k = 0; k < 3; ++k) {
      const double found = gpu.step(data[k % 2].get(), 2e-3).loss,
                   wanted = two.step(data[k % 2].get(), 2e-3).loss;
      CHECK(laws::off_by(found, wanted) < 1e-5 * (1 + wanted));
    }
  };
  same_features();
  same_steps(one);
  same_features();

  on_gpu three(world, {.batch = 6, .seed = 5});
  three.set_state(two.state());
  CHECK(three.updates() == 6);
  same_steps(three);
  flat_state<float> wrong = two.state();
  wrong.weights.pop_back();
  CHECK_THROWS_WITH_AS(three.set_state(wrong), doctest::Contains("MT-R02"), error);
}

TEST_CASE("a state and a checkpoint go from a GPU to processors, to ranks, and back") {
  const launched_world world = alone();
  const small_batch data(6);
  const std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("motet-cuda-front-" + std::to_string(::getpid()));
  on_gpu first(world, {.batch = 6});
  first.step(data.get(), 1e-3);
  first.save(run, "small");
  const auto same = [&](const flat_state<float>& found) {
    const flat_state<float> wanted = first.state();
    CHECK(found.updates == wanted.updates);
    CHECK(found.weights == wanted.weights);
    CHECK(found.first == wanted.first);
    CHECK(found.second == wanted.second);
  };
  trainer<small_model> processors(world, {.batch = 6, .seed = 2});
  processors.load(checkpoint(run), "small");
  same(processors.state());
  on_gpu ranks(world, apart(), {.batch = 6, .seed = 3}), again(world, {.batch = 6, .seed = 4});
  ranks.load(checkpoint(run), "small");
  same(ranks.state());
  again.load(checkpoint(run), "small");
  same(again.state());
  again.step(data.get(), 1e-3);
  again.set_state(processors.state());
  same(again.state());
  std::filesystem::remove_all(run);
}

TEST_CASE("a record of one rank") {
  const launched_world world = alone();
  const small_batch data(6);
  on_gpu lone(world, {.batch = 6});
  timeline record;
  lone.step(data.get(), 1e-3, &record);
  CHECK(record.makespan > 0);
}

TEST_CASE("fp8 on ranks of plans: in microbatches, cut, and in replicas") {
  // The net is so wide that halves of layers multiply in fp8 as well.
  using picture = motet::module<
      "picture",
      vit<vit_config{.image = 8, .patch = 4, .width = 32, .layers = 2, .heads = 2, .embedding = 16}>>;
  using caption = motet::module<
      "caption", text_tower<text_config{
                     .vocabulary = 20, .context = 6, .width = 32, .layers = 2, .heads = 2, .embedding = 16}>>;
  using wide = model<join<info_nce, picture, caption>>;
  using narrow = trainer<wide, mixed_bf16, motet::cuda::device>;
  const launched_world world = alone();
  const small_batch data(8);
  const wide::batch batch{std::get<0>(data.get()), std::get<1>(data.get())};
  plan cut;
  cut.cluster.ranks = 2;
  cut.modules.push(on_ranks("picture", 0, {.tensor = 2}));
  cut.modules.push(on_ranks("caption", 0, {.data = 2}));
  narrow one(world, {.batch = 8, .fp8 = true});
  std::vector<step_result> wanted;
  for (int step = 0; step < 6; ++step) wanted.push_back(one.step(batch, 1e-3));
  for (const plan& by : {apart(), cut}) {
    narrow many(world, by, {.batch = 8, .fp8 = true});
    for (std::size_t step = 0; step < wanted.size(); ++step) {
      const step_result found = many.step(batch, 1e-3);
      CHECK(laws::off_by(found.loss, wanted[step].loss) <= 0.05 * wanted[0].loss);
      if (step == 0)
        CHECK(laws::off_by(found.gradient_norm, wanted[0].gradient_norm) <= 0.1 * wanted[0].gradient_norm);
    }
    CHECK(many.device().describe().find("product by cuBLASLt in fp8") != std::string::npos);
  }
}
