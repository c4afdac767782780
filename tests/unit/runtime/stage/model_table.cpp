// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/model_table.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/nn/towers/text.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
using ear = text_tower<text_config{
    .vocabulary = 9, .context = 3, .width = 8, .layers = 1, .heads = 1, .embedding = 4}>;
using wide = text_tower<text_config{
    .vocabulary = 9, .context = 3, .width = 16, .layers = 2, .heads = 1, .embedding = 4}>;
template <class Loss>
using both = model<join<Loss, motet::module<"left", frozen<ear>>, motet::module<"right", wide>>>;
}  // namespace

TEST_CASE("an outline is the model as data") {
  using of = both<pairwise_sigmoid>;
  const model_outline& found = outline_of_model<of>;
  CHECK(found.size() == 2);
  CHECK(found.names[1] == "right");
  CHECK(found.frozen[0]);
  CHECK_FALSE(found.frozen[1]);
  CHECK(found.nets[0] == &outline_of_net<frozen<ear>>);
  CHECK(found.nets[1]->layers == 2);
  REQUIRE_EQ(found.joins.size(), 1);
  CHECK_EQ(found.joins[0].facts.embedding, 4);
  CHECK(found.joins[0].still[0]);
  CHECK(found.loss_at == of::loss_at);
  CHECK(found.loss_numbers == pairwise_sigmoid::parameter_size);
  CHECK(found.trainable_size == of::trainable_size);
  CHECK(found.parameter_size == of::parameter_size);
  CHECK(found.parameters().size() == of::parameters().size());
  CHECK(found.loss_parameters().front().name == "join.log_scale");
  CHECK(found.joins[0].numbers.size() == pairwise_sigmoid::parameter_size);
  CHECK(found.joins[0].limit.number == -1);
  CHECK(outline_of_model<both<info_nce>>.joins[0].limit.number == 0);
  CHECK(outline_of_model<both<info_nce>>.joins[0].limit.most == largest_log_scale);
}

TEST_CASE("inputs lie where the batch has them") {
  const std::vector<std::int32_t> ids(12, 1);
  const both<info_nce>::batch whole{tokens{ids.data(), {2, 3, nullptr}},
                                    tokens{ids.data() + 6, {2, 3, nullptr}}};
  const auto found = inputs_of<both<info_nce>>(whole);
  CHECK(static_cast<const tokens*>(found[0])->ids == ids.data());
  CHECK(static_cast<const tokens*>(found[1])->ids == ids.data() + 6);
}

TEST_CASE("a loss's table finds what the loss finds") {
  const auto& table = table_of_model<both<info_nce>, cpu::context, fp32>;
  CHECK(table.losses[0].tells);
  CHECK_FALSE((table_of_model<both<pairwise_sigmoid>, cpu::context, fp32>.losses[0].tells));
  // The compiler made it; what a program makes has the same calls.
  const auto made = detail::make_loss_table<info_nce, false, cpu::context, fp32>();
  CHECK(made.tells);
  CHECK((made.pair == table.losses[0].pair));
  CHECK((made.tell == table.losses[0].tell));
  CHECK((made.part == table.losses[0].part));
  CHECK((made.sum == nullptr));
  const auto own = detail::make_loss_table<next_token, true, cpu::context, fp32>();
  CHECK((own.sum != nullptr));
  CHECK((own.pair == nullptr));
  std::vector<float> a(5 * 4), b(a), da(a), db(a), ea(a), eb(a);
  const random_stream draw(2, "rows");
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(draw.normal(i));
    b[i] = static_cast<float>(draw.normal(i + 100));
  }
  const auto rows = [](std::vector<float>& of) { return matrix<float>{of.data(), 5, 4, 4}; };
  const float scale[16] = {1};
  float g[16] = {}, h[16] = {};
  double by_table = 0, by_type = 0;
  cpu::device device(1);
  const auto work = [&](cpu::context& ctx) {
    by_table = table.losses[0].pair(ctx, scale, g, rows(a), rows(b), 1, rows(da), rows(db));
    by_type = info_nce::pair(ctx, static_cast<const float*>(scale), static_cast<float*>(h), rows(a), rows(b),
                             1, rows(ea), rows(eb));
  };
  device.prepare(device.dry_run(work));
  device.run(work);
  CHECK(by_table == by_type);
  CHECK(by_table > 0);
  CHECK(da == ea);
  CHECK(db == eb);
  CHECK(g[0] == h[0]);
}

TEST_CASE("a loss without a limit has none") { CHECK(limit_of<int>.number == -1); }
