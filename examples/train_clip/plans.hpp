// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/plan_of.hpp>

// Plans for two towers, "picture" and "caption", by name: what --plan chooses from, and what a plan of one's
// own may begin with (--explain prints each as JSON). They fit every model here: at most four stages of
// pictures and two of captions, at most two parts of a layer.
namespace motet::train_clip {

namespace catalogue {

constexpr plan of_ranks(std::int32_t ranks, label schedule, module_plan picture, module_plan caption) {
  plan out;
  out.cluster.ranks = ranks;
  out.schedule = schedule;
  out.modules.push(picture);
  out.modules.push(caption);
  return out;
}
constexpr module_plan picture(std::int32_t first, degrees split, int microbatches = 1) {
  return on_ranks("picture", first, split, microbatches);
}
constexpr module_plan caption(std::int32_t first, degrees split, int microbatches = 1) {
  return on_ranks("caption", first, split, microbatches);
}
// batch_sync: microbatches of a loss, and how many of them are kept from their first forward.
constexpr module_plan grouped(module_plan of, int group, int stash) {
  of.group = group;
  of.stash = stash;
  return of;
}
constexpr module_plan sharded(module_plan of, int level = 1) {
  of.zero = level;
  return of;
}
constexpr module_plan remade(module_plan of) {
  of.remade.resize(of.stages(), 1);
  return of;
}

constexpr plan one() { return of_ranks(1, "batch_sync", picture(0, {}), caption(0, {})); }
constexpr plan apart() { return of_ranks(2, "batch_sync", picture(0, {}), caption(1, {})); }
constexpr plan data_2() {
  return of_ranks(2, "batch_sync", picture(0, degrees{.data = 2}), caption(0, degrees{.data = 2}));
}
constexpr plan data_4() {
  return of_ranks(4, "batch_sync", picture(0, degrees{.data = 4}), caption(0, degrees{.data = 4}));
}
constexpr plan zero_1() {
  return of_ranks(2, "batch_sync", sharded(picture(0, degrees{.data = 2})),
                  sharded(caption(0, degrees{.data = 2})));
}
constexpr plan zero_2() {
  return of_ranks(4, "batch_sync", sharded(picture(0, degrees{.data = 4}, 2), 2),
                  sharded(caption(0, degrees{.data = 4}, 2), 2));
}
constexpr plan tensor_2() {
  return of_ranks(2, "batch_sync", picture(0, degrees{.tensor = 2}), caption(0, degrees{.tensor = 2}));
}
constexpr plan context_2() {
  return of_ranks(2, "batch_sync", picture(0, degrees{.context = 2}), caption(0, degrees{.context = 2}));
}
constexpr plan gpipe_3() {
  return of_ranks(3, "gpipe", picture(0, degrees{.stages = 2}, 4), caption(2, {}, 4));
}
constexpr plan one_f_one_b_3() {
  return of_ranks(3, "1f1b", grouped(picture(0, degrees{.stages = 2}, 4), 1, -1),
                  grouped(caption(2, {}, 4), 1, -1));
}
constexpr plan sync_3() {
  return of_ranks(3, "batch_sync", grouped(picture(0, degrees{.stages = 2}, 8), 4, 2),
                  grouped(caption(2, {}, 8), 4, 2));
}
constexpr plan remade_3() {
  return of_ranks(3, "gpipe", remade(picture(0, degrees{.stages = 2}, 4)), remade(caption(2, {}, 4)));
}
constexpr plan shared_3() {
  return of_ranks(3, "batch_sync", picture(0, degrees{.data = 2}, 2), caption(1, degrees{.data = 2}));
}
constexpr plan shared_4() {
  return of_ranks(4, "batch_sync", picture(0, degrees{.stages = 2, .tensor = 2}, 4),
                  caption(0, degrees{.data = 2, .tensor = 2}, 2));
}
constexpr plan idle_4() {
  return of_ranks(4, "batch_sync", picture(0, degrees{.data = 2}, 2), caption(3, {}, 2));
}
constexpr plan mixed_6() {
  return of_ranks(6, "batch_sync", sharded(picture(0, degrees{.data = 2, .context = 2}, 2)),
                  caption(4, degrees{.stages = 2}, 4));
}
constexpr plan heavy_7() {
  return of_ranks(7, "batch_sync", grouped(picture(0, degrees{.stages = 2, .tensor = 2}, 8), 4, 2),
                  grouped(caption(4, degrees{.data = 3}, 4), 2, -1));
}
constexpr plan nodes_16() {
  plan out = of_ranks(16, "batch_sync", sharded(picture(0, degrees{.stages = 2, .data = 2, .tensor = 2}, 4)),
                      sharded(caption(8, degrees{.data = 6})));
  out.cluster.ranks_per_node = 8;
  return out;
}

}  // namespace catalogue

inline constexpr named_plan plans[] = {
    {"one", "both towers on one rank", catalogue::one},
    {"apart", "each tower on a rank of its own", catalogue::apart},
    {"data-2", "both towers on two ranks, each with half of the samples", catalogue::data_2},
    {"data-4", "both towers on four ranks, each with a quarter of the samples", catalogue::data_4},
    {"zero-1", "data-2, and each rank keeps half of the optimizer's state", catalogue::zero_1},
    {"zero-2", "data-4, and each rank keeps a quarter of the optimizer's state and of the gradients",
     catalogue::zero_2},
    {"tensor-2", "both towers on two ranks, each with half of every layer's columns", catalogue::tensor_2},
    {"context-2", "both towers on two ranks, each with half of every sample's rows", catalogue::context_2},
    {"gpipe", "pictures in a pipeline of two, captions beside it, all forwards before all backwards",
     catalogue::gpipe_3},
    {"1f1b", "the pipeline of gpipe, one forward one backward: each microbatch has a loss of its own",
     catalogue::one_f_one_b_3},
    {"sync",
     "the pipeline of gpipe by batch_sync: a loss for four microbatches (G=4), two of them kept (h=2)",
     catalogue::sync_3},
    {"remade", "gpipe, and backward makes again what it needs, for less memory", catalogue::remade_3},
    {"shared-3", "pictures on ranks 0 and 1, captions on 1 and 2, each with data 2: partly shared",
     catalogue::shared_3},
    {"shared-4", "all four ranks hold both: pictures pipeline 2 x tensor 2, captions data 2 x tensor 2",
     catalogue::shared_4},
    {"idle", "pictures data 2 on ranks 0 and 1, captions on rank 3; rank 2 has nothing to do",
     catalogue::idle_4},
    {"mixed", "pictures data 2 x context 2 with sharded optimizer, captions in a pipeline of two",
     catalogue::mixed_6},
    {"heavy", "pictures tensor 2 x pipeline 2, captions data 3 on other ranks, batch_sync with G=4 and h=2",
     catalogue::heavy_7},
    {"nodes",
     "two nodes of eight: pictures pipeline 2 x data 2 x tensor 2, captions data 6 and two idle ranks, "
     "sharded optimizer",
     catalogue::nodes_16},
};

}  // namespace motet::train_clip
