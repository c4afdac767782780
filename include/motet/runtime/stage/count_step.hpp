// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/runtime/state/optimizer.hpp>

#include <type_traits>
#include <vector>

namespace motet {

// FLOPs and bytes of a step of a model on one rank by section, nothing computed twice: its inputs on the way
// to memory of another kind than the host's, forward and backward of every module, the loss, and the update.
// Dry runs count them, over these inputs, module after module, or, where there are none, over `samples`
// samples as long as any can be. ahead: inputs come during the step before. keep_outputs: of norms and
// activations, so that backward does not make them again. It allocates a little, and no memory for rows.
template <class Context, class Numbers>
auto count_step(const model_table<Context, Numbers>& model, isize samples,
                std::span<const void* const> inputs = {}, bool ahead = false, const learning& how = {},
                bool keep_outputs = false) {
  using master = typename Numbers::master;
  using rows = matrix<master>;
  std::remove_pointer_t<decltype(Context{}.costs)> costs;
  Context ctx;
  ctx.costs = &costs;
  ctx.keep_outputs = keep_outputs;
  const model_outline& of = *model.of;
  master* const any = nowhere<master>();
  const weights<Numbers> w{any};
  const gradients<Numbers> g{any};
  const isize m = inputs.empty() ? any_microbatches::largest : 0;
  std::vector<std::unique_ptr<any_microbatches>> parts;
  std::vector<kept_views> kept;
  const auto position = [&](std::size_t k) {
    stage_position at;
    at.range = {0, model.nets[k]->of->layers};
    at.fixed = of.frozen[k];
    at.feeds_back = of.feeds_back(k);
    at.targets = of.targets(k);
    return at;
  };
  for (std::size_t k = 0; k < of.size(); ++k) {
    parts.push_back(model.nets[k]->of->microbatches({samples, 1, 1, 1}, 0, {}, {}, {}, 0));
    kept.push_back(model.nets[k]->views());
    if (m == 0) parts[k]->cut(inputs[k]);
    if constexpr (!works_on_host<Context>) {
      const auto section = enter(ctx, "inputs");
      constexpr auto brings = [](void* to, const std::byte* from, std::byte* at, isize bytes) {
        bring(*static_cast<Context*>(to), from, at, bytes);
      };
      constexpr auto moves = [](void* to, const std::byte* from, std::byte* at, isize bytes) {
        copy(*static_cast<Context*>(to), from, at, bytes);
      };
      parts[k]->bring(m, nowhere<std::byte>(), {&ctx, brings});
      if (ahead) parts[k]->bring(m, nowhere<std::byte>(), {&ctx, moves});
    }
  }
  for (std::size_t k = 0; k < of.size(); ++k) {
    const auto& net = *model.nets[k];
    const stage_range all = position(k).range;
    const auto section = enter(ctx, of.names[k].data());
    const stage_ends<Numbers> ends = dry_ends(net, position(k), *parts[k], m);
    if (!of.goes_back(k)) {
      net.infer(ctx, all, w, *parts[k], m, ends);
    } else {
      net.reserve(ctx, all, *parts[k], m, kept[k], {});
      net.forward(ctx, all, w, *parts[k], m, ends, kept[k]);
    }
  }
  {
    const auto section = enter(ctx, "loss");
    double* const loss = nowhere<double>();
    zero(ctx, loss, 1);
    for (std::size_t join = 0; join < of.joins.size(); ++join) {
      const auto& by = model.losses[join];
      const join_outline& own = of.joins[join];
      // Its numbers go to where features meet, and to where they are compared, if rows tell nothing before.
      zero(ctx, any, own.numbers.size());
      copy(ctx, any, any, own.numbers.size());
      if (!by.tells) copy(ctx, any, any, own.numbers.size());
      const auto features = [&, width = own.facts.embedding] { return rows{any, samples, width, width}; };
      if (by.sum != nullptr) {
        add_number(ctx, by.sum(ctx, features(), features(), own.facts.weight), loss);
        continue;
      }
      const std::size_t size = own.members.size();
      const auto slopes = [&](std::size_t k) { return of.frozen[own.members[k]] ? rows{} : features(); };
      for (std::size_t i = 0; i < size; ++i)
        if (slopes(i)) zero(ctx, sequences{samples, 1, nullptr}, features());
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = i + 1; j < size; ++j)
          add_number(ctx,
                     by.pair(ctx, any, any, features(), features(), own.facts.share, slopes(i), slopes(j)),
                     loss);
    }
  }
  for (std::size_t k = of.size(); k-- > 0;) {
    if (!of.goes_back(k)) continue;
    const auto section = enter(ctx, of.names[k].data());
    const stage_ends<Numbers> ends = dry_ends(*model.nets[k], position(k), *parts[k], m);
    run_backward(ctx, *model.nets[k], position(k), w, *parts[k], m, ends, kept[k], g);
  }
  const auto section = enter(ctx, "optimizer");
  bool copied = false;  // weights, in the precision of products
  if constexpr (requires { weight_copy_bytes<typename Numbers::value, master>(ctx, isize{1}); })
    copied = weight_copy_bytes<typename Numbers::value, master>(ctx, isize{1}) > 0;
  std::vector<update_run<master>> moved;
  std::vector<matrix_run<master>> matrices;
  std::vector<average_run<master>> followed;
  // The loss's numbers are no weights of products.
  const interval of_loss{of.loss_at, of.loss_at + of.loss_numbers};
  for (const parameter_run& each : update_runs(of.parameters(), of.trainable_size, how.optimizer.kind)) {
    if (how.ema > 0) followed.push_back({any, any, each.size});
    if (each.rows > 0) {
      matrices.push_back({any, any, any, each.rows / each.stacked, each.size / each.rows, each.stacked});
      continue;
    }
    const isize own = intersection({each.offset, each.offset + each.size}, of_loss).size();
    for (const auto& [size, copies] : {std::pair(each.size - own, copied), std::pair(own, false)})
      if (size > 0) moved.push_back({any, any, any, any, size, each.decay, false, copies});
  }
  const typename Context::real whole{};
  const auto squares = sum_of_squares(ctx, any, of.trainable_size);
  begin_numbers(ctx, whole, squares);
  const typename Context::template update_list<master> list(std::move(moved));
  if (how.optimizer.kind == optimizer_kind::lion) lion(ctx, list, {}, whole, squares, 0);
  else adamw(ctx, list, {}, whole, squares, 0);
  if constexpr (moves_matrices<Context, master>)
    if (!matrices.empty()) muon(ctx, std::span<const matrix_run<master>>(matrices), {}, whole, squares, 0);
  for (const join_outline& each : of.joins)
    if (each.limit.number >= 0) clamp_to(ctx, any, master(1), whole, squares);
  if (how.ema > 0)
    average(ctx, typename Context::template average_list<master>(std::move(followed)), how.ema, whole,
            squares);
  return costs;
}

}  // namespace motet
