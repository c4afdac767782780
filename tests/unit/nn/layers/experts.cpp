// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/experts.hpp>

#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "layer_laws.hpp"

namespace motet {
namespace {

constexpr expert_config plain{.width = 5, .experts = 3, .hidden = 7, .act = activation::silu};
constexpr expert_config gated{.width = 5, .experts = 3, .hidden = 7, .gated = true};

// The rows of each expert through a dense layer with its weights, and through all experts at once.
template <expert_config Config, class Dense>
void check_like_dense() {
  using L = experts<Config>;
  const isize starts_of[] = {0, 4, 4, 9}, rows = 9;  // the second expert has none
  const laws::reals w = laws::random_weights(layer::parameters_of<L>(), L::parameter_size),
                    x = laws::random_reals(rows * 5, "x"), dy = laws::random_reals(rows * 5, "dy");
  std::vector<double> y(x.size()), dx(x.size()), g(w.size()), d_gate(rows);
  std::vector<choice<double>> chosen(rows);
  std::vector<std::int32_t> source(rows);
  std::vector<isize> starts(starts_of, starts_of + 4);
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::int32_t>(source.size() - 1 - i);  // rows came in another order
    chosen[i].gate = 0.5 + 0.1 * static_cast<double>(i);
  }
  const grouping by{3, starts.data(), {}, source.data(), rows};
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    typename L::template saved<fp64> s;
    const view<const double, 5> from(x.data(), rows), d(dy.data(), rows);
    const view<double, 5> to(y.data(), rows), to_dx(dx.data(), rows);
    const weights<fp64> weight{w.data()};
    L::template reserve<fp64>(ctx, rows, s);
    const auto copied = ctx.memory.take_rows<double, 5>(rows),
               d_copied = ctx.memory.take_rows<double, 5>(rows);
    copy(ctx, by.each(), from, copied);
    copy(ctx, by.each(), d, d_copied);
    L::forward(ctx, weight, by, copied, to, s);
    L::template reserve_backward<fp64>(ctx, s);
    L::backward_input(ctx, weight, by, matrix<choice<double>>{chosen.data(), rows, 1, 1}, d_copied, to_dx,
                      d_gate.data(), s);
    synchronize(ctx);
    L::backward_weight(ctx, by, copied, d_copied, s, gradients<fp64>{g.data()});
    release(ctx, 0);
  });

  for (isize e = 0; e < 3; ++e) {
    INFO("expert " << e);
    const sequences own{starts[static_cast<std::size_t>(e) + 1] - starts[static_cast<std::size_t>(e)], 1,
                        nullptr};
    const auto at = static_cast<std::ptrdiff_t>(starts[static_cast<std::size_t>(e)] * 5),
               end = at + static_cast<std::ptrdiff_t>(own.rows() * 5);
    const laws::reals x_own(x.begin() + at, x.begin() + end), y_own(y.begin() + at, y.begin() + end),
        dx_own(dx.begin() + at, dx.begin() + end);
    laws::reals dy_own(dy.begin() + at, dy.begin() + end),
        w_own(static_cast<std::size_t>(Dense::parameter_size), 0.0), none = w_own;
    const auto gate = [&](isize row) {
      return chosen[static_cast<std::size_t>(
                        source[static_cast<std::size_t>(starts[static_cast<std::size_t>(e)] + row)])]
          .gate;
    };
    for (std::size_t i = 0; i < dy_own.size(); ++i) dy_own[i] *= gate(static_cast<isize>(i) / 5);
    const isize up = L::wide * 5, down = 5 * 7;
    for (isize i = 0; i < up; ++i)
      w_own[static_cast<std::size_t>(i)] = w[static_cast<std::size_t>(e * up + i)];
    for (isize i = 0; i < down; ++i)
      w_own[static_cast<std::size_t>(Dense::narrow_at({}) + i)] =
          w[static_cast<std::size_t>(L::narrow_at({}) + e * down + i)];
    const auto want = laws::evaluate<fp64>(laws::layer_subject<Dense>{own, own}, laws::way::whole, 1, w_own,
                                           x_own, dy_own, none);
    CHECK_LE(laws::apart(y_own, want.y), 1e-14);
    CHECK_LE(laws::apart(dx_own, want.dx), 1e-14);
    laws::reals g_own(w_own.size(), 0.0);
    for (isize i = 0; i < up; ++i)
      g_own[static_cast<std::size_t>(i)] = g[static_cast<std::size_t>(e * up + i)];
    for (isize i = 0; i < down; ++i)
      g_own[static_cast<std::size_t>(Dense::narrow_at({}) + i)] =
          g[static_cast<std::size_t>(L::narrow_at({}) + e * down + i)];
    CHECK_LE(laws::apart(g_own, want.g), 1e-14);
    for (isize r = 0; r < own.rows(); ++r) {
      double along = 0;
      for (isize c = 0; c < 5; ++c)
        along += want.y[static_cast<std::size_t>(5 * r + c)] * dy_own[static_cast<std::size_t>(5 * r + c)] /
                 gate(r);
      CHECK(d_gate[static_cast<std::size_t>(starts[static_cast<std::size_t>(e)] + r)] ==
            doctest::Approx(along).epsilon(1e-12));
    }
  }
}
}  // namespace

TEST_CASE("experts are dense layers side by side, and the gradient of a gate is its output along dy") {
  check_like_dense<plain, mlp<5, 7, activation::silu, false>>();
  check_like_dense<gated, gated_mlp<5, 7, false>>();
}

TEST_CASE("a rank holds whole experts, and all ranks hold each once") {
  using L = experts<gated>;
  for (std::int32_t shards = 1; shards <= 5; ++shards) {
    isize up = 0, down = 0;
    for (std::int32_t shard = 0; shard < shards; ++shard) {
      const tensor_cut cut{shards, shard};
      parameter_list list(cut);
      L::parameters(list);
      REQUIRE(list.items().size() == 2);
      CHECK(list.used() == L::size(cut));
      CHECK(list.items()[0].name == "gate_up.weight");
      CHECK(list.items()[0].rows == 3 * 14);
      CHECK(list.items()[1].offset == L::narrow_at(cut));
      CHECK(list.items()[0].by == cut_by::experts);
      const auto next = [](const parameter& item, isize& end) {
        for (const interval& rows : item.held_rows) {
          CHECK(rows.begin == end);
          end = rows.end;
        }
        CHECK(item.held() == (item.held_rows.empty() ? 0 : item.held_rows[0].size() * item.width));
      };
      next(list.items()[0], up);
      next(list.items()[1], down);
      CHECK(up % 14 == 0);
    }
    CHECK(up == 3 * 14);
    CHECK(down == 3 * 5);
  }
}

}  // namespace motet
