// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_plain_kernel.hpp>

#include <doctest/doctest.h>

#include "attention_reference.hpp"
#include "cuda_run.hpp"

namespace motet {
namespace {

using laws::grid, laws::on_gpu;

// An odd shape: samples of which some have no rows, more than a tile of queries and keys, two heads for each
// of keys, and a causal mask under which some queries see no key.
struct problem {
  attention_shape shape{4, 2, 20, mask_kind::causal};
  std::vector<isize> q_at{0, 0, 3, 73, 73, 78}, k_at{0, 2, 3, 70, 70, 79};
  sequences q_seq{5, 1, q_at.data()}, kv_seq{5, 1, k_at.data()};
};

template <class Kernel>
void run(motet::cuda::context& ctx, const sequences& seq, isize tile, isize heads, const Kernel& kernel) {
  const isize blocks = motet::cuda::detail::tile_slots(seq, seq.rows(), tile) * heads;
  motet::cuda::launch(ctx.stream(), {blocks, Kernel::most_threads, Kernel::shared_bytes}, kernel);
}

TEST_CASE_TEMPLATE("an odd shape against the definition", T, float, double) {
  using real = T;
  constexpr double allowed = sizeof(T) == 8 ? 1e-12 : 1e-5;
  constexpr bool packed = false;
  const problem of;
  const isize q_width = of.shape.heads * of.shape.head_width,
              k_width = of.shape.kv_heads * of.shape.head_width;
  const auto q = grid<T>(78, q_width, 3).random(1), k = grid<T>(79, k_width, 3).random(2),
             v = grid<T>(79, k_width, 3).random(3), dy = grid<T>(78, q_width, 3).random(4);
  const on_gpu<T> q_there(q), k_there(k), v_there(v), dy_there(dy);
  const on_gpu<T> y(78, q_width, q_width + 3), dq(78, q_width, q_width + 3), dk(79, k_width, k_width + 3),
      dv(79, k_width, k_width + 3);
  const on_gpu<real> lse(78, 4), delta(78, 4);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) return;
    motet::cuda::detail::attention_batch batch =
        motet::cuda::detail::batch_of(ctx, of.q_seq, of.kv_seq, of.shape);
    batch.packed = packed;
    const matrix<const T> mq = q_there.all(), mk = k_there.all(), mv = v_there.all(), my = y.all(),
                          md = dy_there.all(), ml = lse.all();
    using forward = motet::cuda::detail::attention_forward_plain<T, 64>;
    using for_queries = motet::cuda::detail::attention_dq_plain<T, 64>;
    using for_keys = motet::cuda::detail::attention_dkv_plain<T, 64>;
    run(ctx, of.q_seq, forward::queries, 4, forward{batch, mq, mk, mv, y.all(), lse.all()});
    run(ctx, of.q_seq, for_queries::queries, 4,
        for_queries{batch, mq, mk, mv, my, ml, md, dq.all(), delta.data()});
    run(ctx, of.kv_seq, for_keys::keys, 2,
        for_keys{batch, mq, mk, mv, ml, md, dk.all(), dv.all(), delta.data()});
  });
  const auto want = laws::define_attention(of.shape, of.q_at, of.k_at, q, k, v, dy);
  CHECK(laws::distance(y.back(), want.y) < allowed);
  CHECK(laws::distance(lse.back(), want.lse) < allowed);
  CHECK(laws::distance(dq.back(), want.dq) < allowed);
  CHECK(laws::distance(dk.back(), want.dk) < allowed);
  CHECK(laws::distance(dv.back(), want.dv) < allowed);
  for (const on_gpu<T>* each : {&y, &dq, &dk, &dv}) CHECK(each->untouched());
}

TEST_CASE("tiles leave room for a second block, and are a multiple of 16") {
  CHECK(motet::cuda::detail::plain_tile<float>(64, 3, 1) == 64);
  CHECK(motet::cuda::detail::plain_tile<double>(256, 4, 2) == 16);
  for (const int columns : {64, 128, 256}) {
    const int tile = motet::cuda::detail::plain_tile<double>(columns, 4, 2);
    CHECK(tile % 16 == 0);
    CHECK(motet::cuda::detail::plain_bytes<double>(tile, columns, 4, 2) <= 227 * 1024);
  }
}

}  // namespace
}  // namespace motet
