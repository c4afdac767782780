// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/gradients/program_ownership.hpp>

#include <motet/model/join.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/strategy/mesh.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using picture = motet::module<
    "picture",
    vit<vit_config{
        .image = 8, .patch = 4, .width = 24, .layers = 3, .heads = 3, .hidden = 50, .embedding = 8}>>;
using caption = motet::module<
    "caption",
    text_tower<text_config{
        .vocabulary = 20, .context = 6, .width = 16, .layers = 2, .heads = 2, .hidden = 21, .embedding = 8}>>;
using small = motet::model<join<info_nce, picture, caption>>;

// Pictures in `stages` stages and captions in one, each module on ranks of its own choice.
program program_on(const mesh& pictures, const mesh& captions, std::int32_t ranks) {
  batch_sync::shape shape{{{pictures.split().stages, 2, 2}, {captions.split().stages, 2, 2}}, 2};
  const score seats = batch_sync::write(shape);
  list<voice_spread> spreads;
  for (const mesh* each : {&pictures, &captions})
    spreads.push({each->split().data, each->split().context * each->split().tensor});
  return compile(
      placed(seats, spreads, ranks,
             [&](std::int32_t v, std::int32_t replica, std::int32_t shard, std::int32_t stage) {
               const mesh& own = v == 0 ? pictures : captions;
               return own.rank({stage, replica, shard / own.split().tensor, shard % own.split().tensor});
             }));
}

}  // namespace

TEST_CASE(
    "every gradient of a model is summed once, whatever the degrees of its modules and the ranks they "
    "share") {
  struct layout {
    degrees pictures, captions;
    std::int32_t first_of_captions;  // of its ranks: apart, shared in part, or wholly
  };
  for (const layout& each : {layout{{2, 1, 1, 2}, {1, 3, 1, 1}, 4}, layout{{1, 2, 1, 3}, {1, 2, 2, 1}, 3},
                             layout{{3, 1, 2, 1}, {1, 2, 1, 2}, 0}, layout{{1, 2, 2, 2}, {1, 1, 1, 1}, 7},
                             layout{{1, 1, 1, 1}, {1, 1, 1, 1}, 0}})
    for (const bool shards : {false, true}) {
      const mesh pictures = mesh::from(0, each.pictures),
                 captions = mesh::from(each.first_of_captions, each.captions);
      const auto ranks = static_cast<std::int32_t>(
          std::max(pictures.split().size(), each.first_of_captions + captions.split().size()));
      const program of = program_on(pictures, captions, ranks);
      const stage_groups groups(of, {each.pictures.tensor, each.captions.tensor});
      std::vector<module_choice> choices(2);
      for (module_choice& one : choices) one.shard_optimizer = shards;
      const ownership_finding found = ownership_of<small>(of, groups, choices).check();
      CHECK_MESSAGE(found.ok(), found.what);
      // Were tensor degrees other than those the groups were made for, a rank would sum with the wrong ones.
      if (each.pictures.tensor * each.pictures.context < 2) continue;
      const stage_groups wrong(of, {each.pictures.tensor == 1 ? 2 : 1, each.captions.tensor});
      gradient_ownership mixed;
      for (const auto& members : wrong.reduce()) mixed.add_group(members);
      using stage = picture::net::stage;
      for (const voice& sings : of.voices) {
        if (sings.module != 0 || sings.stages > 1) continue;
        const tensor_cut cut{groups.tensor_of(sings), groups.tensor_member(sings)};
        const auto own = stage::parameters_of("picture", {0, 3}, cut);
        const std::int32_t rank = of.place(sings, 0);
        mixed.add_stage(rank, own,
                        reduction_of_stage(own, stage::parameter_end({0, 3}, cut), wrong, sings, 0, rank, {}),
                        wrong.of(sings, 0).sums);
      }
      if (each.pictures.stages == 1) CHECK(!mixed.check().ok());
    }
}

TEST_CASE("weights are kept in shares only where they come together layer by layer") {
  const mesh both = mesh::from(0, {.data = 2});
  const program of = program_on(both, both, 2);
  const stage_groups groups(of, {1, 1});
  std::vector<module_choice> choices(2);
  const model_outline& whole = outline_of_model<small>;
  const auto refused = [&](const model_outline& model, bool lends) {
    try {
      require_lent_weights(model, of, groups, choices, lends);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(refused(whole, false) == "");
  choices[1].shard_weights = true;
  CHECK(refused(whole, true) == "");
  std::string said = refused(whole, false);
  CHECK_MESSAGE((said.find("MT-R66") != said.npos && said.find("caption: zero = 3") != said.npos), said);
  net_outline other = *whole.nets[1];
  std::vector<const net_outline*> nets(whole.nets.begin(), whole.nets.end());
  nets[1] = &other;
  model_outline changed = whole;
  changed.nets = nets;
  other.resting_size = [](stage_range, tensor_cut) { return motet::isize{3}; };
  said = refused(changed, true);
  CHECK_MESSAGE((said.find("MT-R67") != said.npos && said.find("caption learns by adapters") != said.npos),
                said);
  other = *whole.nets[1];
  other.weight_parts = [](stage_range, tensor_cut) { return std::vector<interval>{}; };
  said = refused(changed, true);
  CHECK_MESSAGE((said.find("MT-R67") != said.npos && said.find("without weight_parts") != said.npos), said);
}
