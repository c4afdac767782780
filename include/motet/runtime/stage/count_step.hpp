// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/runtime/state/optimizer.hpp>

#include <type_traits>
#include <vector>

namespace motet {

// FLOPs and bytes of a step of a model on one rank by section, nothing computed twice: forward and backward
// of every module, the loss, and the update. Dry runs count them, over these inputs, module after module, or,
// where there are none, over `samples` samples as long as any can be. It allocates a little, and no memory
// for rows.
template <class Context, class Numbers>
auto count_step(const model_table<Context, Numbers>& model, index samples,
                std::span<const void* const> inputs = {}) {
  using master = typename Numbers::master;
  using rows = matrix<master>;
  std::remove_pointer_t<decltype(Context{}.costs)> costs;
  Context ctx;
  ctx.costs = &costs;
  const model_outline& of = *model.of;
  master* const any = nowhere<master>();
  const weights<Numbers> w{any};
  const gradients<Numbers> g{any};
  const auto features = [&] { return rows{any, samples, of.embedding, of.embedding}; };
  for (std::size_t k = 0; k < model.nets.size(); ++k) {
    const auto& net = *model.nets[k];
    const auto parts = net.of->microbatches({samples, 1, 1, 1}, 0, {}, {}, {}, 0);
    const index m = inputs.empty() ? any_microbatches::largest : 0;
    if (m == 0) parts->cut(inputs[k]);
    const auto section = enter(ctx, of.names[k].data());
    const stage_range all{0, net.of->layers};
    stage_ends<Numbers> ends;
    ends.features = features();
    ends.d_features = features();
    if (of.frozen[k]) {
      net.infer(ctx, all, w, *parts, m, ends);
      continue;
    }
    kept_views kept = net.views();
    net.reserve(ctx, all, *parts, m, kept, {});
    net.forward(ctx, all, w, *parts, m, ends, kept);
    net.backward(ctx, all, w, *parts, m, ends, kept, g);
  }
  {
    const auto section = enter(ctx, "loss");
    for (std::size_t i = 0; i < of.size(); ++i)
      for (std::size_t j = i + 1; j < of.size(); ++j)
        model.loss.pair(ctx, any, any, features(), features(), of.share, of.frozen[i] ? rows{} : features(),
                        of.frozen[j] ? rows{} : features());
  }
  const auto section = enter(ctx, "optimizer");
  std::vector<adamw_run<master>> moved;
  for (const parameter_run& each : decay_runs(of.parameters(), of.trainable_size))
    moved.push_back({any, any, any, any, each.size, each.decay});
  sum_of_squares(ctx, any, of.trainable_size);
  adamw(ctx, typename Context::template adamw_list<master>(std::move(moved)), {});
  return costs;
}

}  // namespace motet
