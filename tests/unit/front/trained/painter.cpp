// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/trained/seeing_painter
#include <motet/front/trained/painter.hpp>

#include <motet/front/trainer.hpp>

#include "deviation.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_drawing.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

// How far a picture is from what a class shows, per number.
double apart_from(const float* picture, std::int32_t of) {
  double sum = 0;
  for (motet::isize y = 0; y < 8; ++y)
    for (motet::isize x = 0; x < 8; ++x)
      sum += std::pow(static_cast<double>(picture[y * 8 + x] - small_drawings::shade(of, y, x)), 2) / 64;
  return sum;
}
std::vector<float> some_weights() {
  return laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<small_drawer>(), small_drawer::parameter_size));
}

}  // namespace

TEST_CASE("a seed says all, and each picture is what it is alone") {
  const std::vector<float> weights = some_weights();
  cpu::device two(2), one(1);
  painter<small_drawer> paints(two, weights.data()), again(one, weights.data());
  const std::vector<std::int32_t> classes{1, 0, -1};
  for (const float guidance : {1.0f, 2.5f}) {
    const painting how{.seed = 4, .steps = 3, .guidance = guidance};
    const std::vector<float> all = paints.paint(classes, how);
    REQUIRE(all.size() == 3 * 64);
    CHECK(paints.paint(classes, how) == all);
    CHECK(laws::off_by(again.paint(classes, how), all) <= 1e-4);
    const std::vector<float> first = paints.paint(std::vector{1}, how);
    CHECK(laws::off_by(first, std::vector<float>(all.begin(), all.begin() + 64)) <= 1e-4);
    CHECK(paints.paint(classes, {.seed = 5, .steps = 3, .guidance = guidance}) != all);
  }
  CHECK(paints.paint({}).empty());
}

TEST_CASE("guidance leads from what is said without a class to what is said with it, and beyond") {
  const std::vector<float> weights = some_weights();
  cpu::device device(2);
  painter<small_drawer> paints(device, weights.data());
  const auto once = [&](std::int32_t of, float guidance) {
    return paints.paint(std::vector{of}, {.seed = 1, .steps = 1, .guidance = guidance});
  };
  const std::vector<float> without = once(-1, 1), with = once(0, 1), beyond = once(0, 3);
  CHECK(laws::off_by(once(0, 0), without) <= 1e-5);
  std::vector<float> want;
  for (std::size_t i = 0; i < with.size(); ++i) want.push_back(without[i] + 3 * (with[i] - without[i]));
  CHECK(laws::off_by(beyond, want) <= 1e-4);
  CHECK(without != with);
}

TEST_CASE("what cannot be painted is told") {
  const std::vector<float> weights = some_weights();
  cpu::device device(1);
  painter<small_drawer> paints(device, weights.data());
  const std::vector<std::int32_t> one{0}, strange{0, 2};
  CHECK_THROWS_WITH_AS(paints.paint(one, {.steps = 0}), doctest::Contains("steps 0"), error);
  CHECK_THROWS_WITH_AS(paints.paint(one, {.guidance = INFINITY}), doctest::Contains("[MT-R39]"), error);
  CHECK_THROWS_WITH_AS(paints.paint(strange), doctest::Contains("picture 1 has class 2, the net knows 2"),
                       error);
}

TEST_CASE("a net that learned two kinds of pictures paints each where it is asked for") {
  const char* const words[] = {"program", "--threads", "2"};
  const launched_world world = launch(3, words);
  trainer<small_drawing> train(world, {.batch = 32, .optimizer = {.decay = 0}});
  const small_drawings data(32);
  double first = 0, last = 0;
  for (std::uint64_t k = 0; k < 400; ++k) {
    const double loss = train.step({data.get(k)}, 3e-3).loss;
    (k < 20 ? first : last) += k < 20 || k >= 380 ? loss / 20 : 0;
  }
  CHECK(last < 0.5 * first);
  const std::vector<float> weights = train.weights();
  cpu::device device(2);
  painter<small_drawer> paints(device, weights.data());
  const std::vector<std::int32_t> classes{0, 1, 0, 1, 0, 1, 0, 1};
  const std::vector<float> painted = paints.paint(classes, {.seed = 9, .steps = 20, .guidance = 1.5f});
  for (std::size_t p = 0; p < classes.size(); ++p) {
    const float* const picture = painted.data() + 64 * p;
    const double own = apart_from(picture, classes[p]), other = apart_from(picture, 1 - classes[p]);
    CHECK(own < 0.5);
    CHECK(own < 0.25 * other);
  }
}
