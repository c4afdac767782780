// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/losses/info_nce_part.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/info_nce.hpp>

#include <cuda_pair_loss.hpp>
#include <pair_parts.hpp>

namespace motet {
namespace {

struct whole {
  template <class S, class M>
  double operator()(cpu::context& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale, const M*,
                    double share, matrix<S> da, matrix<S> db, M* dlog_scale, M*) const {
    return info_nce_loss(ctx, a, b, log_scale, share, da, db, dlog_scale);
  }
};

// All sums of one side in the order of its columns.
template <class S, class M>
motet::cuda::real tell(motet::cuda::context& ctx, const laws::pair_cut& cut, matrix<const S> rows,
                       matrix<const S> others, const M* log_scale, double share, S* in_order, M* dlog_scale) {
  motet::cuda::real loss;
  isize next = 0;
  const auto all = cut.pieces(others);
  for (const std::size_t p : laws::pair_cut::order) {
    const interval own = cut.parts[p];
    const pair_part<S> part{rows.slice(own.begin, own.size()), cut.columns.data() + own.begin, all,
                            others.rows};
    loss += info_nce_sums(ctx, part, log_scale, share, in_order + next, dlog_scale);
    next += own.size();
  }
  return loss;
}

struct in_parts {
  template <class S, class M>
  motet::cuda::real operator()(motet::cuda::context& ctx, matrix<const S> a, matrix<const S> b,
                               const M* log_scale, const M*, double share, matrix<S> da, matrix<S> db,
                               M* dlog_scale, M*) const {
    const laws::pair_cut cut(a.rows);
    const isize mark = ctx.memory.mark();
    S* const rows = ctx.memory.take<S>(a.rows);
    S* const columns = ctx.memory.take<S>(a.rows);
    motet::cuda::real loss = tell(ctx, cut, a, b, log_scale, share, rows, dlog_scale);
    loss += tell(ctx, cut, b, a, log_scale, share, columns, dlog_scale);
    const auto turn = [&](matrix<const S> own_side, matrix<const S> other, const S* own_sums,
                          const S* other_sums, matrix<S> d) {
      cut.each(own_side, other, [&](const pair_part<S>& part, interval own) {
        const isize at = own.size() > 0 ? part.matches[0] : 0;
        if (d)
          info_nce_gradients(ctx, part, log_scale, share, own_sums + at, other_sums,
                             d.slice(own.begin, own.size()));
      });
    };
    turn(a, b, rows, columns, da);
    turn(b, a, columns, rows, db);
    release(ctx, mark);
    return loss;
  }
};

}  // namespace

TEST_CASE("info_nce in parts on a GPU is info_nce of the CPU") {
  for (const auto& p : laws::pair_problems()) {
    laws::compare_on_gpu<double>(p, in_parts{}, whole{}, 1e-12);
    laws::compare_on_gpu<float>(p, in_parts{}, whole{}, p.log_scale > 4 ? 2e-5 : 2e-6);
  }
}

TEST_CASE("info_nce in parts on a GPU stays finite and right where logits are ten thousand") {
  laws::pair_problem p(70, 24, 4.6, 1);
  for (auto& x : p.a) x *= 10;
  for (auto& x : p.b) x *= -10;
  laws::compare_on_gpu<double>(p, in_parts{}, whole{}, 1e-9);
  laws::compare_on_gpu<float>(p, in_parts{}, whole{}, 3e-2);
}

}  // namespace motet
