// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/plan_of.hpp>

// Plans for an eye, its glue and a language model, some with an ear beside and some with a drawer behind
// these, by name: what --plan chooses from, and what a plan of one's own may begin with (--explain prints
// each as JSON). They fit every model here: at most four stages of the eye and two of the language model, at
// most four parts of a layer. Two chunks on each of two ranks want four layers of the language model, which
// say-quick has not; experts to share, and an eye in halves of blocks, say-quick-experts alone has.
namespace motet::train_vlm {

namespace seeing_plans {

// A module's stages, and on which ranks they are: of each stage those of all replicas and parts of layers.
constexpr module_plan placed(label name, degrees split, std::initializer_list<std::int32_t> ranks,
                             int microbatches) {
  module_plan out;
  out.name = name;
  list<std::int32_t> all;
  for (const std::int32_t rank : ranks) all.push(rank);
  out.on = mesh(split, static_cast<list<std::int32_t>&&>(all));
  out.microbatches = microbatches;
  out.group = 1;
  return out;
}
constexpr plan of_ranks(std::int32_t ranks, label schedule, module_plan eye, module_plan glue,
                        module_plan talk) {
  plan out;
  out.cluster.ranks = ranks;
  out.schedule = schedule;
  out.modules.push(eye);
  out.modules.push(glue);
  out.modules.push(talk);
  return out;
}
// All of it on each rank of one row.
constexpr plan together(degrees split, int microbatches = 1, int zero = 0) {
  plan out;
  out.cluster.ranks = static_cast<std::int32_t>(split.size());
  out.schedule = "1f1b";
  for (const label name : {label("eye"), label("glue"), label("talk")}) {
    module_plan own = on_ranks(name, 0, split, microbatches);
    own.group = 1;
    own.zero = zero;
    out.modules.push(own);
  }
  return out;
}
constexpr plan remade(plan of) {
  for (module_plan& each : of.modules) each.remade.resize(each.stages(), 1);
  return of;
}

constexpr plan one() { return together({}); }
constexpr plan parts_4() { return together({}, 4); }
constexpr plan data_2() { return together(degrees{.data = 2}); }
constexpr plan data_4() { return together(degrees{.data = 4}, 2); }
constexpr plan zero_1() { return together(degrees{.data = 2}, 1, 1); }
constexpr plan zero_2() { return together(degrees{.data = 4}, 2, 2); }
constexpr plan zero_3() { return together(degrees{.data = 4}, 2, 3); }
// Replicas share the language model's experts, in one row or in two.
constexpr plan experts_4() {
  plan out = data_4();
  out.modules[2].experts = 4;
  return out;
}
constexpr plan experts_2x2() {
  plan out = zero_2();
  out.modules[2].experts = 2;
  return out;
}
// Attention is cut in tensor groups, and experts by all ranks of two replicas.
constexpr plan experts_tensor(int zero) {
  plan out = together(degrees{.data = 2, .tensor = 2}, 2, zero);
  out.modules[2].experts = 2;
  return out;
}
constexpr plan experts_tensor_0() { return experts_tensor(0); }
constexpr plan experts_tensor_3() { return experts_tensor(3); }
constexpr plan tensor_2() { return together(degrees{.tensor = 2}); }
// The glue works row by row, on whole samples.
constexpr plan context_2() {
  return of_ranks(2, "1f1b", placed("eye", {.context = 2}, {0, 1}, 1), placed("glue", {}, {0}, 1),
                  placed("talk", {.context = 2}, {0, 1}, 1));
}
constexpr plan context_tensor() {
  return of_ranks(4, "1f1b", placed("eye", {.context = 2, .tensor = 2}, {0, 1, 2, 3}, 2),
                  placed("glue", {.data = 2}, {0, 3}, 2),
                  placed("talk", {.context = 2, .tensor = 2}, {0, 1, 2, 3}, 2));
}
constexpr plan tensor_4() { return together(degrees{.tensor = 4}); }
constexpr plan remade_1() { return remade(together({}, 4)); }
constexpr plan apart() {
  return of_ranks(2, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4),
                  placed("talk", {}, {1}, 4));
}
constexpr plan apart_gpipe() {
  plan out = apart();
  out.schedule = "gpipe";
  return out;
}
constexpr plan glue_there() {
  return of_ranks(2, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {1}, 4),
                  placed("talk", {}, {1}, 4));
}
constexpr plan apart_3() {
  return of_ranks(3, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {1}, 4),
                  placed("talk", {}, {2}, 4));
}
constexpr plan apart_remade() { return remade(apart()); }
constexpr plan pipeline_3() {
  const degrees two{.stages = 2};
  return of_ranks(3, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4),
                  placed("talk", two, {1, 2}, 4));
}
constexpr plan pipeline_4() {
  const degrees two{.stages = 2};
  return of_ranks(4, "1f1b", placed("eye", two, {0, 1}, 8), placed("glue", {}, {1}, 8),
                  placed("talk", two, {2, 3}, 8));
}
// Of the microbatches that its first ranks keep two stay, the others wait in the host's memory.
constexpr plan offloaded_4() {
  plan out = pipeline_4();
  for (module_plan& each : out.modules) each.offload_beyond = 2;
  return out;
}
constexpr plan deep_6() {
  const degrees four{.stages = 4}, two{.stages = 2};
  return of_ranks(6, "1f1b", placed("eye", four, {0, 1, 2, 3}, 8), placed("glue", {}, {4}, 8),
                  placed("talk", two, {4, 5}, 8));
}
constexpr plan on_part() {
  const degrees two{.stages = 2};
  return of_ranks(2, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4),
                  placed("talk", two, {0, 1}, 4));
}
constexpr plan on_last() {
  const degrees two{.stages = 2};
  return of_ranks(2, "1f1b", placed("eye", {}, {1}, 4), placed("glue", {}, {1}, 4),
                  placed("talk", two, {0, 1}, 4));
}
constexpr plan apart_data() {
  const degrees two{.data = 2};
  return of_ranks(4, "1f1b", placed("eye", two, {0, 1}, 2), placed("glue", two, {0, 1}, 2),
                  placed("talk", two, {2, 3}, 2));
}
constexpr plan apart_tensor() {
  const degrees two{.tensor = 2};
  return of_ranks(4, "1f1b", placed("eye", two, {0, 1}, 4), placed("glue", two, {0, 1}, 4),
                  placed("talk", two, {2, 3}, 4));
}
constexpr plan apart_zero() {
  plan out = apart_data();
  for (module_plan& each : out.modules) each.zero = 1;
  return out;
}
constexpr plan nodes_8() {
  const degrees pairs{.data = 2, .tensor = 2};
  plan out = of_ranks(8, "1f1b", placed("eye", pairs, {0, 1, 2, 3}, 2),
                      placed("glue", pairs, {4, 5, 6, 7}, 2), placed("talk", pairs, {4, 5, 6, 7}, 2));
  out.cluster.ranks_per_node = 4;
  return out;
}
constexpr plan idle_4() {
  return of_ranks(4, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4),
                  placed("talk", {}, {3}, 4));
}

// The eye's samples are cut otherwise than the language model's: rows change ranks in pieces.
constexpr plan uneven_6() {
  return of_ranks(6, "1f1b", placed("eye", {.data = 4}, {0, 1, 2, 3}, 2),
                  placed("glue", {.data = 2}, {4, 5}, 2), placed("talk", {.data = 2}, {4, 5}, 2));
}
constexpr plan grouped_2() {
  return of_ranks(2, "1f1b", placed("eye", {}, {0}, 2), placed("glue", {}, {0}, 2),
                  placed("talk", {}, {1}, 8));
}
constexpr plan fan_4() {
  const degrees two{.data = 2, .tensor = 2};
  return of_ranks(5, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4),
                  placed("talk", two, {1, 2, 3, 4}, 4));
}
constexpr plan nested_4() {
  const degrees two{.stages = 2, .data = 1, .tensor = 2};
  return of_ranks(4, "1f1b", placed("eye", {.data = 4}, {0, 1, 2, 3}, 1),
                  placed("glue", {.data = 4}, {0, 1, 2, 3}, 1), placed("talk", two, {0, 1, 2, 3}, 4));
}

// The eye and its glue compute where the language model's ranks would wait.
constexpr plan filling(plan of) {
  for (isize k = 0; k < 2; ++k) of.modules[k].fills = true;
  return of;
}
constexpr plan beside_2() {
  return of_ranks(2, "1f1b", placed("eye", {.data = 2}, {0, 1}, 2), placed("glue", {.data = 2}, {0, 1}, 2),
                  placed("talk", {.stages = 2}, {0, 1}, 4));
}
constexpr plan filled_2() { return filling(beside_2()); }
constexpr plan filled_zero_bubble() {
  plan out = filled_2();
  out.schedule = "zb_h1";
  return out;
}
// Half of the eye goes into shorter gaps than all of it.
constexpr plan filled_slices() {
  plan out = filled_2();
  out.modules[0].chunks = 2;
  return out;
}
constexpr plan filled_interleaved() {
  plan out = filled_2();
  out.schedule = "interleaved";
  out.modules[2].chunks = 2;
  return out;
}
// They have a lane of their own there, with a quarter of each rank while the language model computes too.
constexpr plan beside_lane() { return beside_2().beside({"eye", "glue"}, 0.25); }
constexpr plan filled_lane() { return filled_2().beside({"eye", "glue"}, 0.25); }
constexpr plan filled_room() {
  plan out = filled_2();
  out.modules[0].room = out.modules[1].room = 1;
  return out;
}
constexpr plan filled_4() {
  return filling(of_ranks(4, "1f1b", placed("eye", {.data = 4}, {0, 1, 2, 3}, 1),
                          placed("glue", {.data = 4}, {0, 1, 2, 3}, 1),
                          placed("talk", {.stages = 2, .data = 1, .tensor = 2}, {0, 1, 2, 3}, 4)));
}
constexpr plan filled_deep() {
  return filling(of_ranks(2, "1f1b", placed("eye", {.stages = 2}, {0, 1}, 4), placed("glue", {}, {1}, 4),
                          placed("talk", {.stages = 2}, {0, 1}, 4)));
}
// Of the eye's eight halves of blocks the second rank, which has the glue and the words too, has three.
constexpr plan filled_halves() {
  plan out = filled_deep();
  for (const isize halves : {5, 3}) out.modules[0].layers.push(halves);
  return out;
}

// Each rank of the language model has the eye for its part of every microbatch, and its computations stand
// between the language model's, by their distance in the pipeline.
constexpr plan multiplexing_eye(plan of) {
  for (isize k = 0; k < 2; ++k) of.modules[k].multiplexed = true;
  return of;
}
constexpr plan multiplexed_2() {
  return multiplexing_eye(of_ranks(2, "1f1b", placed("eye", {.data = 2}, {0, 1}, 4),
                                   placed("glue", {.data = 2}, {0, 1}, 4),
                                   placed("talk", {.stages = 2}, {0, 1}, 4)));
}
constexpr plan multiplexed_4() {
  return multiplexing_eye(of_ranks(4, "1f1b", placed("eye", {.data = 2, .tensor = 2}, {0, 1, 2, 3}, 4),
                                   placed("glue", {.data = 4}, {0, 1, 2, 3}, 2),
                                   placed("talk", {.stages = 2, .data = 1, .tensor = 2}, {0, 1, 2, 3}, 4)));
}

// A drawer behind the language model.
constexpr plan drawing(plan of, module_plan draw) {
  of.modules.push(draw);
  return of;
}
constexpr plan draws_data_2() {
  module_plan draw = on_ranks("draw", 0, degrees{.data = 2}, 1);
  draw.group = 1;
  return drawing(data_2(), draw);
}
constexpr plan draws_apart() {
  return drawing(
      of_ranks(3, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4), placed("talk", {}, {1}, 4)),
      placed("draw", {}, {2}, 4));
}
// The drawer computes where the first half of the language model would wait.
constexpr plan draws_filled() {
  module_plan draw = placed("draw", {}, {0}, 2);
  draw.fills = true;
  return drawing(of_ranks(2, "1f1b", placed("eye", {}, {0}, 2), placed("glue", {}, {0}, 2),
                          placed("talk", {.stages = 2}, {0, 1}, 2)),
                 draw);
}

// An ear and its projector, where and as the eye and its glue are.
constexpr plan hearing(plan of) {
  const module_plan talk = of.modules.back();
  of.modules.pop();
  module_plan ear = of.modules[0], tune = of.modules[1];
  ear.name = "ear";
  tune.name = "tune";
  of.modules.push(ear);
  of.modules.push(tune);
  of.modules.push(talk);
  return of;
}
constexpr plan hears_data_2() { return hearing(data_2()); }
constexpr plan hears_apart() {
  plan out = hearing(
      of_ranks(3, "1f1b", placed("eye", {}, {0}, 4), placed("glue", {}, {0}, 4), placed("talk", {}, {2}, 4)));
  for (const isize k : {2, 3}) out.modules[k].on = mesh(degrees{}, {1});
  return out;
}
// Two encoders in the gaps of one language model.
constexpr plan hears_filled() { return hearing(filled_2()); }
constexpr plan hears_multiplexed() { return hearing(multiplexed_2()); }

}  // namespace seeing_plans

inline constexpr named_plan plans[] = {
    {"one", "all of it on one rank", seeing_plans::one},
    {"parts", "one rank, a quarter of the samples at a time", seeing_plans::parts_4},
    {"remade", "one, and backward makes again what it needs, for less memory", seeing_plans::remade_1},
    {"data-2", "two ranks, each with half of the samples", seeing_plans::data_2},
    {"data-4", "four ranks, each with a quarter of the samples", seeing_plans::data_4},
    {"zero-1", "data-2, and each rank keeps half of the optimizer's state", seeing_plans::zero_1},
    {"zero-2", "data-4, and each rank keeps a quarter of the optimizer's state and of the gradients",
     seeing_plans::zero_2},
    {"zero-3", "data-4, and each rank keeps a quarter of the weights, too", seeing_plans::zero_3},
    {"experts", "of models with experts: data-4, and each rank has a quarter of the experts",
     seeing_plans::experts_4},
    {"experts-zero", "likewise: zero-2, and each rank has half of the experts", seeing_plans::experts_2x2},
    {"experts-tensor",
     "likewise: two replicas cut attention in two, and each rank has a quarter of the experts",
     seeing_plans::experts_tensor_0},
    {"experts-tensor-zero", "experts-tensor, and ranks that hold the same keep shares of it",
     seeing_plans::experts_tensor_3},
    {"tensor-2", "two ranks, each with half of every layer's columns", seeing_plans::tensor_2},
    {"tensor-4", "four ranks, each with a quarter of every layer's columns", seeing_plans::tensor_4},
    {"context-2", "two ranks, each with half of the rows of each sample and picture",
     seeing_plans::context_2},
    {"context-tensor", "four ranks, each with half of the columns for half of the rows",
     seeing_plans::context_tensor},
    {"apart", "the eye and its glue on one rank, the language model on another, as one pipeline",
     seeing_plans::apart},
    {"apart-gpipe", "apart, all forwards before all backwards", seeing_plans::apart_gpipe},
    {"apart-remade", "apart, and backward makes again what it needs", seeing_plans::apart_remade},
    {"glue-there", "the eye on one rank, the glue with the language model", seeing_plans::glue_there},
    {"apart-3", "each of the three on a rank of its own", seeing_plans::apart_3},
    {"pipeline-3", "the eye on one rank, the language model in two stages behind it",
     seeing_plans::pipeline_3},
    {"pipeline-4", "the eye and the language model in two stages each", seeing_plans::pipeline_4},
    {"offloaded", "pipeline-4, and what backward needs of more than two microbatches waits elsewhere",
     seeing_plans::offloaded_4},
    {"deep", "the eye in four stages, the glue with the first of two stages of the language model",
     seeing_plans::deep_6},
    {"on-part", "the language model in two stages, the eye on the rank of the first", seeing_plans::on_part},
    {"on-last", "the language model in two stages, the eye on the rank of the last", seeing_plans::on_last},
    {"apart-data", "the eye on two ranks, the language model on two others, each with half of the samples",
     seeing_plans::apart_data},
    {"apart-zero", "apart-data, and each rank keeps half of its module's optimizer state",
     seeing_plans::apart_zero},
    {"apart-tensor", "the eye on two ranks, the language model on two others, each with half of the columns",
     seeing_plans::apart_tensor},
    {"nodes", "two nodes of four: the eye on one, the rest on the other, data 2 x tensor 2",
     seeing_plans::nodes_8},
    {"uneven", "the eye on four ranks, the rest on two others, each with its share of the samples",
     seeing_plans::uneven_6},
    {"grouped", "apart, and the eye sees at once what the language model reads in four microbatches",
     seeing_plans::grouped_2},
    {"fan-out", "the eye on one rank, the language model on four, data 2 x tensor 2", seeing_plans::fan_4},
    {"nested", "the eye on all ranks of the language model, data 4 beside stages 2 x tensor 2",
     seeing_plans::nested_4},
    {"beside", "the language model in two stages, the eye on both ranks with half of the samples each",
     seeing_plans::beside_2},
    {"beside-lane", "beside, and the eye computes at once with the language model, on a quarter of each rank",
     seeing_plans::beside_lane},
    {"filled", "beside, and the eye computes where the language model would wait", seeing_plans::filled_2},
    {"filled-slices", "filled, and each rank has the eye in two slices, which fit into shorter gaps",
     seeing_plans::filled_slices},
    {"filled-zero-bubble", "filled, and the language model's weight gradients fill what is left",
     seeing_plans::filled_zero_bubble},
    {"filled-interleaved",
     "filled, and each rank has two chunks of the language model, which needs four layers (say-small)",
     seeing_plans::filled_interleaved},
    {"filled-lane",
     "filled, and the eye computes at once with the language model, on a quarter of each rank, until it "
     "waits",
     seeing_plans::filled_lane},
    {"filled-room", "filled, and the eye keeps one microbatch at a time", seeing_plans::filled_room},
    {"filled-tensor", "nested, and the eye computes where the language model would wait",
     seeing_plans::filled_4},
    {"filled-deep", "eye and language model in two stages each on the same two ranks, the eye in the gaps",
     seeing_plans::filled_deep},
    {"filled-halves",
     "filled-deep, and the eye's first stage ends within a block, which wants halves (say-quick-experts)",
     seeing_plans::filled_halves},
    {"multiplexed",
     "the language model in two stages, the eye between its computations on both, with half of each "
     "microbatch",
     seeing_plans::multiplexed_2},
    {"multiplexed-tensor", "multiplexed, with half of every layer's columns on each of four ranks",
     seeing_plans::multiplexed_4},
    {"idle", "apart, on the first and the last of four ranks", seeing_plans::idle_4},
    {"draws-data-2", "of models that draw: two ranks, each with half of the samples",
     seeing_plans::draws_data_2},
    {"draws-apart", "likewise: the eye and its glue, the language model and the drawer on a rank each",
     seeing_plans::draws_apart},
    {"draws-filled", "likewise: the language model in two stages, and the drawer in the gaps of the first",
     seeing_plans::draws_filled},
    {"hears-data-2", "of models that hear, too: two ranks, each with half of the samples",
     seeing_plans::hears_data_2},
    {"hears-apart", "likewise: eye, ear and language model on a rank each", seeing_plans::hears_apart},
    {"hears-filled", "likewise: filled, with eye and ear in the gaps of the language model",
     seeing_plans::hears_filled},
    {"hears-multiplexed", "likewise: multiplexed, eye and ear between the language model's computations",
     seeing_plans::hears_multiplexed},
};

}  // namespace motet::train_vlm
