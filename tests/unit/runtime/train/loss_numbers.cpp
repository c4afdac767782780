// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/loss_numbers.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/model/graph.hpp>
#include <motet/nn/towers/text.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 9, .context = 3, .width = 8, .layers = 1, .heads = 1, .embedding = 4}>;
template <fixed_string Name>
using tower_of = motet::module<Name, ear>;
using two = model<modules<tower_of<"a">, tower_of<"b">, tower_of<"c">, tower_of<"d">>,
                  loss<info_nce, "a", "b">, loss<pairwise_sigmoid, "c", "d">>;

// A meeting point as far as numbers ask for it.
struct point {
  float room[5] = {};
  bool owner = false;
  float* weights() const { return const_cast<float*>(room); }
  float* gradients() const { return weights() + 1; }
  float* first() const { return weights() + 2; }
  float* second() const { return weights() + 3; }
  float* average() const { return weights() + 4; }
  bool is_owner() const { return owner; }
};

}  // namespace

TEST_CASE("each loss has its numbers by their names, from zero on") {
  loss_numbers<float> found(outline_of_model<two>, {}, 1);
  const point own;
  const auto one = found.piece(0, own), other = found.piece(1, own);
  CHECK(one.loss == 0);
  REQUIRE(one.parameters.size() == 1);
  CHECK(one.parameters[0].name == "join.a.b.log_scale");
  CHECK(one.size == info_nce::parameter_size);
  CHECK(one.average == nullptr);
  CHECK(other.loss == 1);
  REQUIRE(other.parameters.size() == 2);
  CHECK(other.parameters[0].name == "join.c.d.log_scale");
  CHECK(other.parameters[0].offset == 0);
  CHECK(other.parameters[1].name == "join.c.d.bias");
  CHECK(other.parameters[1].offset == pairwise_sigmoid::bias_at);
  CHECK(other.second == own.second());
  learning lion{};
  lion.optimizer.kind = optimizer_kind::lion;
  lion.ema = 0.5;
  const auto moved = loss_numbers<float>(outline_of_model<two>, lion, 1).piece(1, own);
  CHECK(moved.second == nullptr);
  CHECK(moved.average == own.average());
}

TEST_CASE("a rank knows the gradients of all losses that it meets in") {
  loss_numbers<float> found(outline_of_model<two>, {}, 3);
  point here, there;
  there.owner = true;
  found.find(1, 0, here);
  found.find(1, 1, there);
  found.find(2, 1, here);
  CHECK(found.gradients_on(0).empty());
  REQUIRE(found.gradients_on(1).size() == 2);
  CHECK_FALSE(found.gradients_on(1)[0].owned);
  CHECK(found.gradients_on(1)[1].owned);
  CHECK(found.gradients_on(1)[1].from == there.gradients());
  CHECK(found.gradients_on(1)[1].at.begin == info_nce::parameter_size);
  CHECK(found.gradients_on(2)[0].at.size() == pairwise_sigmoid::parameter_size);
  found.forget_gradients();
  CHECK(found.gradients_on(1).empty());
}
