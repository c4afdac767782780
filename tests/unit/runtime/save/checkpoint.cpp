// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/save/checkpoint.hpp>

#include <motet/model/describe.hpp>

#include <unit/format/scratch.hpp>
#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
std::vector<float> all_of(small_trainer& train) {
  std::vector<float> out(train.weights(), train.weights() + small_model::parameter_size);
  out.insert(out.end(), train.first(), train.first() + small_model::trainable_size);
  out.insert(out.end(), train.second(), train.second() + small_model::trainable_size);
  return out;
}
}  // namespace

TEST_CASE("steps, a checkpoint and steps are bit by bit as many steps") {
  const scratch folder;
  cpu::device device(2);
  const trainer_config config{.batch = 6};
  const small_batch even(6, 1), odd(6, 2);
  const auto steps = [&](small_trainer& train, int count) {
    for (int i = 0; i < count; ++i)
      train.step((train.updates() % 2 == 0 ? even : odd).get(),
                 1e-3 / static_cast<double>(train.updates() + 1));
  };
  small_trainer straight(device, config);
  straight.prepare();
  steps(straight, 8);

  small_trainer before(device, config);
  before.prepare();
  steps(before, 4);
  json state;
  state.set("note", "halfway");
  save(before.state(), folder.path(), "small", state, describe<small_model>());

  small_trainer after(device, {.batch = 6, .seed = 99});
  after.prepare();
  const checkpoint saved(folder.path());
  CHECK(saved.state().at("note").string() == "halfway");
  trained_state restored = after.state();
  restored.updates = load(restored, saved, "small");
  after.set_state(restored);
  CHECK(after.updates() == 4);
  CHECK(all_of(after) == all_of(before));
  // The seed of the run is the program's to restore; nothing here draws numbers.
  steps(after, 4);
  CHECK(all_of(after) == all_of(straight));
}

TEST_CASE("all tensors that do not fit are named at once, and nothing changes") {
  const scratch folder;
  cpu::device device(1);
  small_trainer train(device, {.batch = 2});
  train.prepare();
  save(train.state(), folder.path(), "small", {}, {});

  using wider_picture = module<
      "picture",
      vit<vit_config{
          .image = 8, .patch = 4, .width = 16, .layers = 2, .heads = 2, .hidden = 32, .embedding = 8}>>;
  using wider = model<join<pairwise_sigmoid, wider_picture, small_caption>>;
  device_trainer<wider, cpu::device, fp32> other(device, {.batch = 2});
  other.prepare();
  const std::vector<float> before(other.weights(), other.weights() + wider::parameter_size);
  try {
    load(other.state(), checkpoint(folder.path()), "wider");
    FAIL("loaded");
  } catch (const error& problem) {
    const std::string text = problem.what();
    CHECK(std::string_view(problem.code()) == "MT-R53");
    CHECK(text.find("picture.blocks.0.mlp.up.weight") != std::string::npos);
    CHECK(text.find("picture.blocks.0.mlp.down.weight") != std::string::npos);
    CHECK(text.find("join.bias") != std::string::npos);
    CHECK(text.find("picture.blocks.0.mlp.up.weight.m") != std::string::npos);
    CHECK(text.find("caption.") == std::string::npos);
  }
  CHECK(std::vector<float>(other.weights(), other.weights() + wider::parameter_size) == before);
}

TEST_CASE("frozen modules are in the file of the weights and have no moments") {
  const scratch folder;
  cpu::device device(1);
  using still = module<"picture", frozen<small_picture::net>>;
  using net = model<join<info_nce, still, small_caption>>;
  device_trainer<net, cpu::device, fp32> train(device, {.batch = 2});
  train.prepare();
  save(train.state(), folder.path(), "frozen", {}, {});
  const checkpoint saved(folder.path());
  bool weight = false;
  for (const checkpoint_tensor& each : saved.weights())
    weight = weight || each.name == "picture.embed.patch.weight";
  CHECK(weight);
  const safetensors_file moments(saved.path() / "optimizer.safetensors");
  CHECK(moments.find("picture.embed.patch.weight.m") == nullptr);
  CHECK(moments.find("caption.embed.token.m") != nullptr);
}
