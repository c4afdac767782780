// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cpu/experts/grouped.hpp>
#include <motet/backend/cuda/experts/grouped.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance, laws::on_gpu, laws::flat_on_gpu;

namespace {

template <class T>
grid<double> precise(const grid<T>& x, isize rows) {
  grid<double> made(rows, x.width);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < x.width; ++c) made.at(r, c) = x(r, c);
  return made;
}
template <class T>
grid<T> first_rows(const grid<T>& x, isize rows) {
  grid<T> made(rows, x.width);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < x.width; ++c) made.at(r, c) = x.at(r, c);
  return made;
}
// Says whether no row from `first` on was written.
template <class T>
bool left_alone(const grid<T>& x, isize first) {
  for (isize r = first; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c)
      if (!std::isnan(x(r, c))) return false;
  return true;
}

template <class N>
void check_experts(std::vector<isize> starts, isize spare, isize in, isize out, isize gap, activation kind) {
  using value = typename N::value;
  using master = typename N::master;
  CAPTURE(in);
  CAPTURE(out);
  const auto keys = static_cast<isize>(starts.size()) - 1;
  const isize filled = starts.back(), rows = filled + spare, top_k = 2;
  // Positions that nobody has hold what does not count as a number.
  auto x = grid<value>(rows, in, gap).random(1), dy = grid<value>(rows, out, gap).random(2),
       h = grid<value>(rows, in, gap).random(3);
  for (isize r = filled; r < rows; ++r) {
    for (isize c = 0; c < in; ++c) x.at(r, c) = value(NAN);
    for (isize c = 0; c < out; ++c) dy.at(r, c) = value(NAN);
  }
  const auto weight = grid<master>(keys * out, in).random(4),
             dweight0 = grid<master>(keys * out, in).random(5);
  std::vector<std::int32_t> source(static_cast<std::size_t>(rows));
  std::vector<choice<master>> chosen(static_cast<std::size_t>(rows * top_k));
  const isize step = rows % 7 == 0 ? 5 : 7;
  for (isize p = 0; p < rows; ++p)
    source[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(p * step % (rows * top_k));
  for (isize p = 0; p < rows * top_k; ++p)
    chosen[static_cast<std::size_t>(p)].gate = master(0.1) * static_cast<master>(p % 11);

  const auto x64 = precise(x, filled), dy64 = precise(dy, filled), weight64 = precise(weight, keys * out);
  auto h64 = precise(h, filled), t64 = precise(x, filled), dweight64 = precise(dweight0, keys * out);
  grid<double> plain(filled, out), pre(filled, out), active(filled, out), dx(filled, in), d_gate(1, filled);
  std::vector<choice<double>> chosen64(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen64[i].gate = static_cast<double>(chosen[i].gate);
  grouping by;
  by.keys = keys, by.starts = starts.data(), by.source = source.data(), by.count = filled;
  const double flops =
      laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
        grouped_linear_forward(ctx, by, x64.view(), weight64.view(), plain.view());
        grouped_linear_forward(ctx, by, x64.view(), weight64.view(), kind, pre.view(), active.view());
        grouped_linear_backward_input(ctx, by, dy64.view(), weight64.view(), dx.view());
        grouped_linear_backward_weight(ctx, by, x64.view(), dy64.view(), dweight64.view());
        gate_backward(ctx, by, matrix<choice<double>>{chosen64.data(), filled, top_k, top_k}, h64.view(),
                      t64.view(), d_gate.data.data());
      }).flops();

  const on_gpu<value> x_(x), dy_(dy), h_(h), t_(x), plain_(rows, out, out + gap), pre_(rows, out, out + gap),
      active_(rows, out, out + gap), dx_(rows, in, in + gap);
  const on_gpu<master> weight_(weight), dweight_(dweight0), d_gate_(1, rows);
  const flat_on_gpu<isize> starts_(starts);
  const flat_on_gpu<std::int32_t> source_(source);
  const flat_on_gpu<choice<master>> chosen_(chosen);
  grouping there;
  there.keys = keys, there.starts = starts_.data(), there.source = source_.data(), there.count = rows;
  const double noted = laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
                         const matrix<const master> w = weight_.all();
                         grouped_linear_forward(ctx, there, x_.all(), w, plain_.all());
                         grouped_linear_forward(ctx, there, x_.all(), w, kind, pre_.all(), active_.all());
                         grouped_linear_backward_input(ctx, there, dy_.all(), w, dx_.all());
                         grouped_linear_backward_weight(ctx, there, x_.all(), dy_.all(), dweight_.all());
                         gate_backward(ctx, there, matrix<choice<master>>{chosen_.data(), rows, top_k, top_k},
                                       h_.all(), t_.all(), d_gate_.data());
                       }).flops();
  if (spare == 0) CHECK(noted == flops);

  const double most = 3 * tolerance<value>;
  CHECK(distance(first_rows(plain_.back(), filled), plain) < most);
  CHECK(distance(first_rows(pre_.back(), filled), pre) < most);
  CHECK(distance(first_rows(active_.back(), filled), active) < most);
  CHECK(distance(first_rows(dx_.back(), filled), dx) < most);
  CHECK(distance(dweight_.back(), dweight64) < most);
  CHECK(distance(first_rows(h_.back(), filled), h64) < most);
  CHECK(distance(first_rows(t_.back(), filled), t64) < most);
  grid<master> got(1, filled);
  const auto gates = d_gate_.back();
  for (isize p = 0; p < filled; ++p) got.at(0, p) = gates.at(0, p);
  CHECK(distance(got, d_gate) < tolerance<master> * 10);
  CHECK((left_alone(plain_.back(), filled) && left_alone(pre_.back(), filled) &&
         left_alone(active_.back(), filled) && left_alone(dx_.back(), filled)));
  CHECK(laws::all_intact({plain_.untouched(), pre_.untouched(), active_.untouched(), dx_.untouched(),
                          h_.untouched(), t_.untouched()}));
}

}  // namespace

TEST_CASE_TEMPLATE("products of experts on a GPU against the CPU", N, fp32, mixed_bf16, fp64) {
  check_experts<N>({0, 3, 3, 11, 12}, 5, 24, 16, 0, activation::gelu);
  check_experts<N>({0, 0, 0, 7}, 0, 7, 19, 1, activation::silu);
  check_experts<N>({0, 20, 66, 66, 71}, 9, 40, 72, 8, activation::gelu_tanh);
  check_experts<N>({0, 0}, 4, 8, 8, 0, activation::relu);
}

TEST_CASE("experts with several tiles of places, outputs and inputs") {
  check_experts<mixed_bf16>({0, 1, 140, 140, 150}, 20, 136, 144, 8, activation::none);
  check_experts<fp32>({0, 1, 140, 140, 150}, 20, 70, 66, 0, activation::none);
}

}  // namespace motet
