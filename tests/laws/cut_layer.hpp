// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>

#include "layer_laws.hpp"

namespace motet::laws {

struct problem {
  reals w, x, dy;
};
template <class L>
problem random_problem(const sequences& seq) {
  const auto list = layer::parameters_of<L>();
  return {random_weights(list, L::parameter_size), random_reals(seq.rows() * L::in, "x"),
          random_reals(seq.rows() * L::out, "dy")};
}

// One rank's part of a layer that the tensor group cuts, and of a batch: its rows, its parameters, and a step
// with them.
template <class L>
struct cut_layer {
  using N = fp64;
  const microbatch_spread& is;
  tensor_cut cut;
  std::vector<parameter> list = layer::parameters_of<L>(), held;
  std::vector<isize> rows;  // of the batch
  reals w, g, x, dy, y, dx;
  double flops = 0;  // that the dry run of the last step counted

  cut_layer(const microbatch_spread& shared, const spread_seat& seat, const sequences& whole,
            const problem& given)
      : is(shared),
        cut{static_cast<std::int32_t>(seat.tensor), static_cast<std::int32_t>(seat.tensor_member)},
        held(layer::parameters_of<L>({}, cut)) {
    w.assign(static_cast<std::size_t>(L::size(cut)), not_written);
    g.assign(w.size(), 0);
    each_held([&](std::size_t global, std::size_t here) { w[here] = given.w[global]; });
    const interval samples = share(whole.samples, seat.tensor, seat.tensor_member);
    for (isize s = samples.begin; s < samples.end; ++s)
      for (isize at = 0; at < is.cut.rows_of(whole.rows_of(s), seat.context_member); ++at)
        rows.push_back(whole.begin(s) + is.cut.position(whole.rows_of(s), seat.context_member, at));
    each_number([&](std::size_t global, std::size_t) {
      x.push_back(given.x[global]);
      dy.push_back(given.dy[global]);
    });
    y.assign(x.size(), not_written);
    dx = y;
  }
  // Calls move(element of the whole net, element held here).
  template <class Move>
  void each_held(Move&& move) const {
    for (std::size_t p = 0; p < held.size(); ++p)
      for (const parameter_slice& slice : held[p].slices())
        for (isize i = 0; i < slice.size(); ++i)
          move(static_cast<std::size_t>(list[p].offset + slice.rows.begin * list[p].width + i),
               static_cast<std::size_t>(slice.offset + i));
  }
  // Calls move(number of the batch, number here) for those of this rank's rows.
  template <class Move>
  void each_number(Move&& move) const {
    const auto width = static_cast<std::size_t>(L::in);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t c = 0; c < width; ++c)
        move(static_cast<std::size_t>(rows[i]) * width + c, i * width + c);
  }
  // Runs the layer in exactly the memory that a dry run asks for; whether that was right.
  bool step(way how, int threads) {
    const auto run = [&](cpu::context& ctx) {
      ctx.shared = &is;
      const weights<N> weight{w.data(), cut};
      const gradients<N> gradient{g.data(), cut};
      const sequences& seq = is.own;
      const view<const double, L::in> from(x.data(), seq.rows()), d(dy.data(), seq.rows());
      const view<double, L::in> to(y.data(), seq.rows()), d_from(dx.data(), seq.rows());
      const isize mark = ctx.memory.mark();
      typename L::template saved<N> s;
      L::template reserve<N>(ctx, seq, s, cut);
      L::forward(ctx, weight, seq, from, to, s);
      if (how == way::whole) layer::backward<L>(ctx, weight, seq, from, d, d_from, s, gradient);
      if (how == way::split) {
        L::backward_input(ctx, weight, seq, from, d, d_from, s);
        synchronize(ctx);
        L::backward_weight(ctx, weight, seq, from, d, s, gradient);
      }
      release(ctx, mark);
    };
    cpu::profile costs;
    cpu::context dry;
    dry.costs = &costs;
    run(dry);
    flops = costs.flops();
    isize used = 0;
    cpu_run(threads, dry.memory.peak(), dry.scratch.peak(), [&](cpu::context& ctx) {
      run(ctx);
      if (ctx.thread == 0) used = ctx.memory.peak();
    });
    return used == dry.memory.peak() && static_cast<isize>(rows.size()) == is.own.rows();
  }
};

}  // namespace motet::laws
