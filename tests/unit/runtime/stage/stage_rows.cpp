// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/stage_rows.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local/local.hpp>
#include <motet/runtime/stage/model_table.hpp>

#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using rows = stage_rows<cpu::context, fp32, local::endpoint>;
constexpr std::size_t eye = 0, glue = 1, lens = 2;

// The modules of a net on one rank, each in one stage with one microbatch.
struct seats {
  small_fan_text data{4, 2};
  small_fan::batch batch = data.get();
  batch_inputs<small_fan> inputs{batch};
  rows::home_type home;
  stage_position at[3];
  std::unique_ptr<any_microbatches> parts[3];
  std::unique_ptr<rows> of[3];

  seats() {
    const model_outline& model = outline_of_model<small_fan>;
    for (const std::size_t k : {eye, glue, lens}) {
      const net_outline& net = *model.nets[k];
      parts[k] = net.microbatches({4, 1, 1, 1}, 0, {}, {}, {}, 0);
      parts[k]->cut(inputs[k]);
      at[k].range = {0, net.layers};
      at[k].targets = model.targets(k);
      for (int kind = 0; kind < 3; ++kind) at[k].in[kind] = at[k].out[kind] = 1;
      of[k] = std::make_unique<rows>(home, net, at[k], *parts[k]);
    }
    for (const std::size_t k : {glue, lens}) {
      const std::int32_t out = k == lens ? 1 : 0;
      of[eye]->connect(true, 0, {of[k].get(), 0, out, {0, 4}, out, 0, true});
      of[k]->connect(false, 0, {of[eye].get(), 0, 0, {0, 4}, 0, out, true});
    }
    for (auto& each : of) each->prepare();
    for (auto& each : of) each->begin_step();
  }
};

}  // namespace

TEST_CASE("rows that go to two modules are there twice, and so are the gradients that come back") {
  seats all;
  matrix<float> out;
  REQUIRE(all.of[eye]->outgoing(0, 0, out));
  REQUIRE(out.rows > 0);
  for (motet::isize i = 0; i < out.rows * out.width; ++i) out.data[i] = static_cast<float>(i);
  std::vector<std::byte> room(64);
  cpu::context ctx;
  ctx.memory = arena(room.data(), 64);
  all.of[eye]->hand_over(ctx);
  std::vector<motet::isize> shape;
  all.of[eye]->shape(shape);
  CHECK_EQ(shape.size(), 6u);
  all.of[eye]->handed_over();
  for (const std::size_t k : {glue, lens}) {
    const auto in = all.of[k]->incoming(0, 0);
    REQUIRE_EQ(in.rows, out.rows);
    CHECK(std::equal(in.data, in.data + in.rows * in.width, out.data));
    matrix<float> back;
    REQUIRE(all.of[k]->outgoing(2, 0, back));
    for (motet::isize i = 0; i < back.rows * back.width; ++i) back.data[i] = static_cast<float>(k);
  }
  const auto copies = all.of[eye]->copies(0);
  REQUIRE_EQ(copies.rows, out.rows);
  const motet::isize numbers_of_one = copies.rows * copies.width;
  for (motet::isize i = 0; i < numbers_of_one; ++i) {
    REQUIRE_EQ(copies.data[i], 1);
    REQUIRE_EQ(copies.data[numbers_of_one + i], 2);
  }
  add_gradients<cpu::context, fp32>(ctx, all.at[eye],
                                    stage_ends<fp32>{.dy = all.of[eye]->incoming(2, 0), .copies = copies});
  for (motet::isize i = 0; i < numbers_of_one; ++i) REQUIRE_EQ(copies.data[i], 3);
  CHECK(all.of[glue]->copies(0).data == nullptr);
}

TEST_CASE("what has no free buffer waits") {
  seats all;
  matrix<float> out;
  all.at[glue].in[0] = 0;
  all.of[glue]->prepare();
  CHECK_FALSE(all.of[eye]->outgoing(0, 0, out));
  CHECK(all.of[eye]->goes_out());
  CHECK_FALSE(all.of[eye]->comes_in());
  CHECK(all.of[glue]->goes_back());
  all.at[glue].feeds_back = false;
  CHECK_FALSE(all.of[glue]->goes_back());
}
