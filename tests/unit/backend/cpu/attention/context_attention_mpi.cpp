// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3
// Attention over rows that lie on several processes, both ways, against a process that has all.
#include <mpi_ranks.hpp>

#include <motet/backend/cpu/attention/heads_exchange.hpp>
#include <motet/backend/cpu/attention/ring_attention.hpp>
#include <motet/backend/transport/mpi/mpi_group.hpp>

#include <doctest/doctest.h>

#include <context_attention_laws.hpp>

using namespace motet;

namespace {

template <class T>
void check(const attention_shape& shape, const sequences& whole, bool balanced, double tolerance) {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  std::vector<std::vector<std::int32_t>> all(1);
  for (std::int32_t r = 0; r < here.ranks(); ++r) all[0].push_back(r);
  mpi::group_set set(world, all);
  mpi::group group(set, 0, end);
  spread_rows rows({1, 0, here.ranks(), here.rank(), balanced}, whole.samples);
  microbatch_spread is;
  is.context = any_group(group);
  rows.fill(whole, is);
  const laws::attention_problem<T, T> p(shape, whole);
  CHECK(laws::error_on_rank(p, is, 1, false,
                            [](cpu::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y, matrix<T>,
                               matrix<const T> dy) {
                              exchanged_heads<T, T> kept;
                              reserve_exchanged(ctx, problem.shape, kept);
                              heads_attention_forward(ctx, problem.shape, matrix<const T>(qkv), kept, y);
                              heads_attention_backward(ctx, problem.shape, kept, dy, qkv);
                            }) <= tolerance);
  CHECK(laws::error_on_rank(p, is, 1, true,
                            [](cpu::context& ctx, const auto& problem, matrix<T> qkv, matrix<T> y,
                               matrix<T> lse, matrix<const T> dy) {
                              const auto q = problem.queries(qkv), k = problem.keys(qkv),
                                         v = problem.values(qkv);
                              ring_attention_forward(ctx, problem.shape, q, k, v, y, lse);
                              ring_attention_backward(ctx, problem.shape, q, k, v, y, lse, dy, q, k, v);
                            }) <= tolerance);
}

TEST_CASE("attention over the rows of several processes is that of one") {
  const sequences ragged = laws::ragged_rows();
  for (const attention_shape& shape :
       {attention_shape{6, 2, 8, mask_kind::causal, 0}, attention_shape{1, 1, 8, mask_kind::full, 0}}) {
    check<double>(shape, ragged, shape.mask == mask_kind::causal, 1e-12);
    check<float>(shape, ragged, false, 1e-5);
  }
}

// Messages that are not sent in haste.
TEST_CASE("long samples") { check<float>({4, 4, 32, mask_kind::causal, 0}, {2, 700, nullptr}, true, 1e-5); }

}  // namespace
