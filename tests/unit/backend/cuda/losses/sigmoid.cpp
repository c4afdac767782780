// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/losses/sigmoid.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/sigmoid.hpp>

#include <cuda_pair_loss.hpp>
#include <pair_parts.hpp>

namespace motet {
namespace {

// Runs the loss of the backend that the context belongs to.
struct run {
  template <class C, class S, class M>
  auto operator()(C& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale, const M* bias,
                  double share, matrix<S> da, matrix<S> db, M* dlog_scale, M* dbias) const {
    return pairwise_sigmoid_loss(ctx, a, b, log_scale, bias, share, da, db, dlog_scale, dbias);
  }
};

// Rows of one side count, as when ranks share the loss; the others see its rows pass by.
struct in_parts {
  template <class S, class M>
  motet::cuda::real operator()(motet::cuda::context& ctx, matrix<const S> a, matrix<const S> b,
                               const M* log_scale, const M* bias, double share, matrix<S> da, matrix<S> db,
                               M* dlog_scale, M* dbias) const {
    const laws::pair_cut cut(a.rows);
    motet::cuda::real loss;
    cut.each(a, b, [&](const pair_part<S>& part, interval own) {
      loss += pairwise_sigmoid_part(ctx, part, log_scale, bias, share,
                                    da ? da.slice(own.begin, own.size()) : da, dlog_scale, dbias);
    });
    cut.each_piece(b, a, [&](const pair_part<S>& part, interval own) {
      M* const nobody = nullptr;
      if (db)
        pairwise_sigmoid_part(ctx, part, log_scale, bias, share, db.slice(own.begin, own.size()), nobody,
                              nobody);
    });
    return loss;
  }
};

}  // namespace

TEST_CASE("pairwise_sigmoid on a GPU is that of the CPU, whole and in parts") {
  for (const auto& p : laws::pair_problems()) {
    laws::compare_on_gpu<double>(p, run{}, run{}, 1e-11);
    laws::compare_on_gpu<float>(p, run{}, run{}, 2e-5);
    laws::compare_on_gpu<double>(p, in_parts{}, run{}, 1e-11);
    laws::compare_on_gpu<float>(p, in_parts{}, run{}, 2e-5);
  }
}

TEST_CASE("pairwise_sigmoid of more rows than a panel has") {
  const laws::pair_problem p(1091, 2, 1.5, 1);
  laws::compare_on_gpu<float>(p, run{}, run{}, 2e-5);
}

TEST_CASE("pairwise_sigmoid on a GPU stays finite and right where logits are ten thousand") {
  laws::pair_problem p(70, 24, 4.6, 1);
  for (auto& x : p.a) x *= 10;
  for (auto& x : p.b) x *= -10;
  laws::compare_on_gpu<double>(p, run{}, run{}, 1e-9);
  laws::compare_on_gpu<float>(p, run{}, run{}, 1e-4);
}

}  // namespace motet
