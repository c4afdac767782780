// SPDX-License-Identifier: Apache-2.0
#include "train_clip/models.hpp"

#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/describe/tower_of.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

template <vit_config Picture, text_config Caption>
void check_typed(const char* name) {
  CAPTURE(name);
  REQUIRE(find_model(name) != nullptr);
  const model_shape of = find_model(name)->make();
  CHECK(of ==
        model_shape_of<
            model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>>(
            name));
}
double billions(const char* name) {
  double sum = 0;
  for (const tower_outline& each : find_model(name)->make().towers) {
    tower_outline learned = each;
    learned.frozen = learned.cached = false;
    sum += parameters_of(learned);
  }
  return sum / 1e9;
}

}  // namespace

TEST_CASE("the models of train_clip are the types that it compiles") {
  check_typed<train_clip::quick_picture, train_clip::quick_caption>("quick");
  check_typed<train_clip::tiny_picture, train_clip::tiny_caption>("tiny");
  check_typed<train_clip::small_picture, train_clip::small_caption>("small");
  check_typed<train_clip::b16_picture, train_clip::b16_caption>("b16");
  check_typed<train_clip::l14_picture, train_clip::l14_caption>("l14");
}

TEST_CASE("published models are as large as their names") {
  for (const auto& [name, size] :
       {std::pair{"clip-1.1b", 1.1}, std::pair{"clip-9.3b", 9.3}, std::pair{"clip-19.7b", 19.7},
        std::pair{"coca-1.5b", 1.52}, std::pair{"coca-13.4b", 13.4}, std::pair{"coca-26b", 26.0},
        std::pair{"lit-1.1b", 1.1}, std::pair{"lit-9.4b", 9.4}, std::pair{"lit-19.7b", 19.7},
        std::pair{"locked-9.4b", 9.4}, std::pair{"b16", 0.15}, std::pair{"l14", 0.428}}) {
    CAPTURE(name);
    CHECK(billions(name) == doctest::Approx(size).epsilon(0.07));
  }
  // The larger tower is CLIP's of pictures, and LiT's of texts.
  const auto first_is_larger = [](const char* name) {
    const list<tower_outline> of = find_model(name)->make().towers;
    return parameters_of(of[0]) > parameters_of(of[1]);
  };
  CHECK(first_is_larger("clip-9.3b"));
  CHECK(!first_is_larger("lit-9.4b"));
}

TEST_CASE("all are models that can be planned, each under its own name") {
  for (const known_model& each : known_models) {
    CAPTURE(each.name);
    const model_shape of = each.make();
    CHECK(of.name.view() == each.name);
    CHECK((!each.about.empty() && of.towers.size() >= 2 && find_model(each.name) == &each));
    for (const tower_outline& own : of.towers) {
      CHECK(check(own).ok());
      CHECK(own.embedding == of.towers[0].embedding);
      CHECK(own.cached == (each.name.starts_with("locked") && own.name == of.towers[0].name));
    }
  }
  CHECK(find_model("three-towers")->make().towers.size() == 3);
  CHECK(find_model("nothing") == nullptr);
  static_assert(find_model("clip-9.3b")->make().towers[0].width == 4096);
}
