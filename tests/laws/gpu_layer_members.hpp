// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu_members.hpp"
#include "tensor_members.hpp"

// A layer on one rank of the CPU, and its parts on one or several ranks of a GPU, must do the same.

namespace motet::laws {

template <class L, class N>
whole_outcome run_on_gpu_ranks(const sequences& whole, way how, std::int32_t members) {
  using master = typename N::master;
  using stream = typename N::stream;
  const auto all = layer::parameters_of<L>({}, {});
  const reals flat = in_bf16(random_weights(all, layer::size<L>({})));
  const auto x = narrowed<stream>(random_reals(whole.rows() * L::in, "x")),
             dy = narrowed<stream>(random_reals(whole.rows() * L::out, "dy"));
  std::vector<stream> y(dy.size(), stream(not_written)), dx(x.size(), stream(not_written)), inferred = y;
  whole_outcome out;
  std::map<std::string, reals> holders;
  std::mutex mutex;
  std::vector<std::function<void()>> sums(static_cast<std::size_t>(members));
  const std::string thrown = run_gpu_shards(
      members, 1, false, whole, [&](cuda::engine& on, microbatch_spread& is, const spread_seat& at) {
        const tensor_cut cut =
            members > 1 ? tensor_cut{members, static_cast<std::int32_t>(at.tensor_member)} : tensor_cut{};
        const interval samples = share(whole.samples, members, at.tensor_member);
        const auto held = layer::parameters_of<L>({}, cut);
        const isize size = layer::size<L>(cut), first = whole.begin(samples.begin), rows = is.own.rows();
        const auto w = [&] {
          const std::lock_guard lock(mutex);  // doctest counts
          return held_part<master>(all, flat, held, size);
        }();
        const auto some = [&](const std::vector<stream>& from, isize width) {
          return std::vector<stream>(from.begin() + first * width, from.begin() + (first + rows) * width);
        };
        const flat_on_gpu<master> w_there(w), g_there(std::vector<master>(w.size(), master(0)));
        const flat_on_gpu<stream> x_there(some(x, L::in)), dy_there(some(dy, L::out)), y_there(rows * L::out),
            dx_there(rows * L::in), inferred_there(rows * L::out);
        gpu_run_foretold_on(on, is, [&](cuda::context& ctx) {
          const weights<N> weight{w_there.data(), cut};
          const gradients<N> gradient{g_there.data(), cut};
          const view<stream, L::in> from(x_there.data(), rows), d_from(dx_there.data(), rows);
          const view<stream, L::out> to(y_there.data(), rows), d_to(dy_there.data(), rows);
          layer::infer<L>(ctx, weight, is.own, from, view<stream, L::out>(inferred_there.data(), rows));
          const isize mark = ctx.memory.mark();
          typename L::template saved<N> s;
          layer::reserve<L, N>(ctx, is.own, s, cut);
          L::forward(ctx, weight, is.own, from, to, s);
          if (how == way::whole) {
            layer::backward<L>(ctx, weight, is.own, from, d_to, d_from, s, gradient);
          } else {
            L::backward_input(ctx, weight, is.own, from, d_to, d_from, s);
            layer::backward_weight<L>(ctx, weight, is.own, from, d_to, s, gradient);
          }
          release(ctx, mark);
        });
        const auto back = [&](std::vector<stream>& to, const flat_on_gpu<stream>& from, isize width) {
          const auto found = from.back();
          std::copy(found.begin(), found.end(), to.begin() + first * width);
        };
        const auto g = g_there.back();
        const std::lock_guard lock(mutex);
        back(y, y_there, L::out), back(dx, dx_there, L::in), back(inferred, inferred_there, L::out);
        sums[static_cast<std::size_t>(at.tensor_member)] = [&out, &holders, held, g] {
          add_part(held, g, out.gradients, holders);
        };
      });
  REQUIRE_EQ(thrown, "");
  for (const auto& each : sums) each();
  out.rows = {{"y", widened(y)}, {"dx", widened(dx)}, {"inferred", widened(inferred)}};
  return out;
}

// Members are compared with one rank of the CPU, which computes in the numbers `Reference`.
template <class L, class N, class Reference = N>
void check_gpu_members(const sequences& whole, std::initializer_list<std::int32_t> counts, double tolerance) {
  const whole_outcome want = run_spread<Reference>(layer_part<L>{whole}, way::whole, 0);
  for (const std::int32_t members : counts)
    for (const way how : {way::whole, way::split}) {
      CAPTURE(members);
      CAPTURE(static_cast<int>(how));
      check_same(run_on_gpu_ranks<L, N>(whole, how, members), want, tolerance);
    }
}

}  // namespace motet::laws
