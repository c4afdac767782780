// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/net_table.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/state/initialise.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 3, .heads = 2, .embedding = 4}>;
using stage = ear::stage;

// One stage of the whole net on a batch, by its type or by its table.
struct outcome {
  std::vector<float> features = std::vector<float>(5 * 4), inferred = features,
                     gradients = std::vector<float>(ear::parameter_size);
};
outcome run(bool by_table, bool in_two) {
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6, 7, 8, 0, 1};
  const std::vector<motet::isize> offsets{0, 3, 4, 4, 9, 10};
  const tokens whole{ids.data(), {5, 0, offsets.data()}};
  std::vector<float> w(ear::parameter_size), slopes(5 * 4);
  initialise(layer::parameters_of<ear>("ear"), 1, w.data(), ear::parameter_size);
  const random_stream draw(3, "slopes");
  for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] = static_cast<float>(draw.normal(i));
  outcome out;
  const auto& net = table_of_net<ear, cpu::context, fp32>;
  const auto parts = net.of->microbatches({5, 1, 1, 1}, 0, {}, {}, {}, 0);
  parts->cut(&whole);
  const stage_range all{0, stage::layers};
  cpu::device device(2);
  const auto work = [&](cpu::context& ctx) {
    const weights<fp32> values{w.data()};
    const gradients<fp32> sums{out.gradients.data()};
    if (by_table) {
      stage_ends<fp32> ends;
      ends.features = {out.inferred.data(), 5, 4, 4};
      ends.d_features = {slopes.data(), 5, 4, 4};
      kept_views kept = net.views();
      net.infer(ctx, all, values, *parts, 0, ends);
      ends.features = {out.features.data(), 5, 4, 4};
      net.reserve(ctx, all, *parts, 0, kept, {});
      net.forward(ctx, all, values, *parts, 0, ends, kept);
      if (!in_two) return net.backward(ctx, all, values, *parts, 0, ends, kept, sums);
      net.backward_input(ctx, all, values, *parts, 0, ends, kept);
      synchronize(ctx);
      net.backward_weight(ctx, all, values, *parts, 0, ends, kept, sums);
    } else {
      stage::ends<fp32> ends;
      ends.features = {out.inferred.data(), 5};
      ends.d_features = {slopes.data(), 5};
      stage::saved<fp32> kept;
      stage::infer(ctx, all, values, whole, ends);
      ends.features = {out.features.data(), 5};
      stage::reserve<fp32>(ctx, all, whole, kept);
      stage::forward(ctx, all, values, whole, ends, kept);
      if (!in_two) return stage::backward(ctx, all, values, whole, ends, kept, sums);
      stage::backward_input(ctx, all, values, whole, ends, kept);
      synchronize(ctx);
      stage::backward_weight(ctx, all, values, whole, ends, kept, sums);
    }
  };
  device.prepare(device.dry_run(work));
  device.run(work);
  return out;
}

}  // namespace

TEST_CASE("a net's table does what its type does, to the last bit") {
  for (const bool in_two : {false, true}) {
    const outcome typed = run(false, in_two), found = run(true, in_two);
    CHECK(found.features == typed.features);
    CHECK(found.inferred == typed.inferred);
    CHECK(found.gradients == typed.gradients);
    CHECK(found.features == found.inferred);
  }
}

TEST_CASE("copies of kept views are views of the same memory") {
  struct two {
    float* a = nullptr;
    motet::isize b = 0;
  };
  float number = 3;
  kept_views one = kept_views::of<two>();
  CHECK(one.as<two>().a == nullptr);
  one.as<two>() = {&number, 7};
  kept_views same = one;
  CHECK(same.as<two>().a == &number);
  same.as<two>().b = 8;
  CHECK(one.as<two>().b == 7);
}
