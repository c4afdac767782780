// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>

// A model of two small towers, and a plan that fits it; each test breaks one thing.

using picture =
    motet::module<"picture",
                  motet::vit<motet::vit_config{
                      .image = 8, .patch = 4, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using caption_net = motet::text_tower<motet::text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>;
using towers = motet::model<motet::join<motet::info_nce, picture, motet::module<"caption", caption_net>>>;

constexpr motet::plan good_plan() {
  motet::plan of{{.ranks = 4}, "batch_sync", {}};
  of.modules.push(motet::on_ranks("picture", 0, motet::degrees{.stages = 2}, 2));
  of.modules.push(motet::on_ranks("caption", 2, motet::degrees{.tensor = 2}, 2));
  return of;
}
