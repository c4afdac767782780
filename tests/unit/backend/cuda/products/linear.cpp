// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cpu/products/linear.hpp>
#include <motet/backend/cuda/products/linear.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

#include <algorithm>
#include <limits>

namespace motet {
using laws::grid, laws::distance, laws::tolerance, laws::on_gpu, laws::flat_on_gpu;

namespace {

// Our own kernels multiply, the library with weights that are converted for each product, or with copies of
// them that are kept.
enum class by { own, library, copies };

template <class T>
grid<double> precise(const grid<T>& x) {
  grid<double> made(x.rows, x.width, x.stride - x.width);
  for (isize r = 0; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c) made.at(r, c) = x(r, c);
  return made;
}

void choose(motet::cuda::context& ctx, by who) {
  if (ctx.on != nullptr) ctx.on->part<motet::cuda::product_settings>().library = who != by::own;
}
template <class M>
void keep(motet::cuda::context& ctx, by who, const on_gpu<M>& weight) {
  if constexpr (std::is_same_v<M, float>) {
    if (ctx.on == nullptr || who != by::copies) return;
    const auto all = weight.all();
    ctx.on->part<motet::cuda::weight_copies>().keep(all.data, all.rows * all.stride);
  }
}

struct layer {
  isize in, out, gap;
  bool with_bias;
  activation kind;
};

template <class N>
void check_layer(const sequences& seq, const layer& l, by who) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  const auto [in, out, gap, with_bias, kind] = l;
  CAPTURE(in);
  CAPTURE(out);
  CAPTURE(static_cast<int>(who));
  CAPTURE(static_cast<int>(kind));
  const isize rows = seq.rows();
  const auto x = grid<value>(rows, in, gap).random(1), pre_in = grid<value>(rows, in, gap).random(10, 3);
  const auto weight = grid<master>(out, in, gap).random(2), bias = grid<master>(1, out).random(3);
  const auto residual = grid<stream>(rows, out, gap).random(4),
             dx_residual = grid<stream>(rows, in, gap).random(5);
  const auto dy = grid<value>(rows, out, gap).random(6);
  const auto dy_stream = grid<stream>(rows, out, gap).random(7);
  const auto dweight0 = grid<master>(out, in, gap).random(8), dbias0 = grid<master>(1, out).random(9);

  // The CPU computes what is wanted, in double.
  const auto x64 = precise(x), pre64 = precise(pre_in), weight64 = precise(weight), bias64 = precise(bias),
             residual64 = precise(residual);
  const auto dx_residual64 = precise(dx_residual), dy64 = precise(dy), dy_stream64 = precise(dy_stream);
  grid<double> plain(rows, out), added(rows, out), pre(rows, out), active(rows, out), dx(rows, in),
      dx_stream(rows, in), dx_active(rows, in), replayed(rows, in);
  auto dweight = precise(dweight0), dbias = precise(dbias0), bias_alone = precise(dbias0);
  const double* const b64 = with_bias ? bias64.data.data() : nullptr;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    linear_forward(ctx, seq, x64.view(), weight64.view(), b64, plain.view());
    linear_forward(ctx, seq, x64.view(), weight64.view(), b64, residual64.view(), added.view());
    linear_forward(ctx, seq, x64.view(), weight64.view(), b64, kind, pre.view(), active.view());
    linear_backward_input(ctx, seq, dy64.view(), weight64.view(), dx.view());
    linear_backward_input(ctx, seq, dy_stream64.view(), weight64.view(), dx_residual64.view(),
                          dx_stream.view());
    linear_backward_input(ctx, seq, dy64.view(), weight64.view(), kind, pre64.view(), replayed.view(),
                          dx_active.view());
    linear_backward_weight(ctx, x64.view(), dy64.view(), dweight.view(),
                           with_bias ? dbias.data.data() : nullptr);
    linear_backward_weight(ctx, x64.view(), dy_stream64.view(), dweight.view(),
                           with_bias ? dbias.data.data() : nullptr);
    linear_backward_bias(ctx, dy64.view(), with_bias ? bias_alone.data.data() : nullptr);
  });

  const on_gpu<value> x_(x), pre_in_(pre_in), dy_(dy);
  const on_gpu<master> weight_(weight), bias_(bias), dweight_(dweight0), dbias_(dbias0), bias_alone_(dbias0);
  const on_gpu<stream> residual_(residual), dx_residual_(dx_residual), dy_stream_(dy_stream),
      in_place_(residual), dx_in_place_(dx_residual);
  const on_gpu<value> over_pre_(pre_in);
  const on_gpu<value> plain_(rows, out, out + gap), pre_(rows, out, out + gap), active_(rows, out, out + gap),
      bare_(rows, out, out + gap);
  const on_gpu<stream> added_(rows, out, out + gap), dx_stream_(rows, in, in + gap);
  const on_gpu<value> dx_(rows, in, in + gap), dx_active_(rows, in, in + gap), dx_bare_(rows, in, in + gap),
      dx_over_(rows, in, in + gap), replayed_(rows, in, in + gap);
  const master* const b = with_bias ? bias_.all().data : nullptr;
  master* const db = with_bias ? dbias_.all().data : nullptr;
  master* const db_alone = with_bias ? bias_alone_.all().data : nullptr;
  const auto w = [&] { return matrix<const master>(weight_.all()); };
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    choose(ctx, who);
    keep(ctx, who, weight_);
    if (with_bias) keep(ctx, who, bias_);
    refresh_weights(ctx);
    linear_forward(ctx, seq, x_.all(), w(), b, plain_.all());
    linear_forward(ctx, seq, x_.all(), w(), b, residual_.all(), added_.all());
    linear_forward(ctx, seq, x_.all(), w(), b, in_place_.all(), in_place_.all());
    linear_forward(ctx, seq, x_.all(), w(), b, kind, pre_.all(), active_.all());
    linear_forward(ctx, seq, x_.all(), w(), b, kind, matrix<value>{}, bare_.all());
    linear_backward_input(ctx, seq, dy_.all(), w(), dx_.all());
    linear_backward_input(ctx, seq, dy_stream_.all(), w(), dx_residual_.all(), dx_stream_.all());
    linear_backward_input(ctx, seq, dy_stream_.all(), w(), dx_in_place_.all(), dx_in_place_.all());
    linear_backward_input(ctx, seq, dy_.all(), w(), kind, pre_in_.all(), replayed_.all(), dx_active_.all());
    linear_backward_input(ctx, seq, dy_.all(), w(), kind, pre_in_.all(), matrix<value>{}, dx_bare_.all());
    linear_backward_input(ctx, seq, dy_.all(), w(), kind, over_pre_.all(), over_pre_.all(), dx_over_.all());
    linear_backward_weight(ctx, x_.all(), dy_.all(), dweight_.all(), db);
    linear_backward_weight(ctx, x_.all(), dy_stream_.all(), dweight_.all(), db);
    linear_backward_bias(ctx, dy_.all(), db_alone);
  });
  if constexpr (std::is_same_v<master, float>) {
    laws::gpu().part<motet::cuda::weight_copies>().drop(weight_.data());
    laws::gpu().part<motet::cuda::weight_copies>().drop(bias_.data());
  }

  const double most = 3 * tolerance<value>;
#if defined(__CUDACC__)
  // The library may take another kernel for a sum in place.
  const double same = who == by::own ? 0 : 1e-6;
#else
  const double same = 0;
#endif
  CHECK(distance(plain_.back(), plain) < most);
  CHECK(distance(added_.back(), added) < most);
  CHECK(distance(in_place_.back(), precise(added_.back())) <= same);
  CHECK(distance(pre_.back(), pre) < most);
  CHECK(distance(active_.back(), active) < most);
  CHECK(distance(bare_.back(), active) < most);
  CHECK(distance(dx_.back(), dx) < most);
  CHECK(distance(dx_stream_.back(), dx_stream) < most);
  CHECK(distance(dx_in_place_.back(), precise(dx_stream_.back())) <= same);
  CHECK(distance(replayed_.back(), replayed) < most);
  CHECK(distance(over_pre_.back(), replayed) < most);
  CHECK(distance(dx_active_.back(), dx_active) < most);
  CHECK(distance(dx_bare_.back(), precise(dx_active_.back())) == 0);
  CHECK(distance(dx_over_.back(), precise(dx_active_.back())) == 0);
  CHECK(distance(dweight_.back(), dweight) < most);
  CHECK(distance(dbias_.back(), dbias) < most);
  CHECK(distance(bias_alone_.back(), bias_alone) < 1e-5);
  CHECK(laws::all_intact({plain_.untouched(), added_.untouched(), in_place_.untouched(), pre_.untouched(),
                          active_.untouched(), bare_.untouched()}));
  CHECK(laws::all_intact({dx_.untouched(), dx_stream_.untouched(), dx_active_.untouched(),
                          replayed_.untouched(), dweight_.untouched()}));
}

}  // namespace

TEST_CASE_TEMPLATE("linear layers on a GPU against the CPU", N, fp32, mixed_bf16, fp64) {
  const isize ragged[] = {0, 3, 3, 4, 11, 11};
  const sequences batches[] = {{0, 5, nullptr}, {1, 1, nullptr}, {5, 1, ragged}, {2, 9, nullptr}};
  const layer layers[] = {{1, 1, 0, true, activation::relu},        {7, 19, 1, true, activation::silu},
                          {24, 16, 0, true, activation::gelu_tanh}, {16, 40, 8, false, activation::gelu_tanh},
                          {8, 72, 0, true, activation::gelu},       {40, 8, 4, true, activation::quick_gelu},
                          {16, 24, 0, false, activation::none},     {32, 16, 16, true, activation::relu}};
  int turn = 0;
  for (const by who : {by::own, by::library, by::copies})
    for (const auto& l : layers) check_layer<N>(batches[turn++ % 4], l, who);
}

TEST_CASE("layers larger than a tile") {
  const sequences seq{1, 150, nullptr};
  check_layer<fp32>(seq, {70, 130, 2, true, activation::gelu}, by::own);
  check_layer<mixed_bf16>(seq, {64, 136, 0, true, activation::gelu_tanh}, by::copies);
  check_layer<mixed_bf16>(seq, {136, 64, 8, true, activation::gelu}, by::library);
}

// A rank that holds no head or hidden unit of a layer still takes part with the others.
TEST_CASE_TEMPLATE("products of no inputs are what is added to them, and those of no outputs are nothing", N,
                   fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  const sequences seq{3, 3, nullptr};
  const isize rows = seq.rows(), width = 35;
  const auto bias = grid<master>(1, width).random(1);
  const auto residual = grid<stream>(rows, width, 1).random(2);
  const on_gpu<master> bias_(bias), dbias_(bias);
  const on_gpu<stream> residual_(residual), bare_(rows, width, width + 2), added_(rows, width),
      back_(rows, width, width + 1);
  const matrix<const value> none{nullptr, rows, 0, 0};
  const matrix<value> nothing{nullptr, rows, 0, 0};
  const matrix<const master> narrow{nullptr, width, 0, 0}, flat{nullptr, 0, width, width};
  const matrix<master> dnarrow{nullptr, width, 0, 0}, dflat{nullptr, 0, width, width};
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    linear_forward(ctx, seq, none, narrow, nullptr, bare_.all());
    linear_forward(ctx, seq, none, narrow, bias_.all().data, residual_.all(), added_.all());
    linear_forward(ctx, seq, residual_.all(), flat, nullptr, activation::gelu, nothing, nothing);
    linear_backward_input(ctx, seq, none, flat, back_.all());
    linear_backward_weight(ctx, none, residual_.all(), dnarrow, dbias_.all().data);
    linear_backward_weight(ctx, residual_.all(), none, dflat, nullptr);
  });
  grid<double> zeros(rows, width), want(rows, width), want_dbias(1, width);
  for (isize c = 0; c < width; ++c) {
    want_dbias.at(0, c) = bias(0, c);
    for (isize r = 0; r < rows; ++r) {
      zeros.at(r, c) = 0;
      want.at(r, c) = bias(0, c) + residual(r, c);
      want_dbias.at(0, c) += residual(r, c);
    }
  }
  CHECK(distance(bare_.back(), zeros) == 0);
  CHECK(distance(back_.back(), zeros) == 0);
  CHECK(distance(added_.back(), want) < tolerance<stream>);
  CHECK(distance(dbias_.back(), want_dbias) < tolerance<master>);
  CHECK(laws::all_intact({bare_.untouched(), back_.untouched()}));
}

TEST_CASE("a dry run notes the FLOPs that the CPU notes, and each copy and pass that the GPU's memory sees") {
  const sequences seq{2, 9, nullptr};
  grid<bf16> x(18, 24), y(18, 40);
  grid<float> weight(40, 24), stream(18, 40), dweight(40, 24), dbias(1, 40);
  const auto body = [&](auto& ctx) {
    linear_forward(ctx, seq, x.view(), weight.view(), dbias.data.data(), y.view());
    linear_backward_input(ctx, seq, stream.view(), weight.view(), x.view());
    linear_backward_weight(ctx, x.view(), stream.view(), dweight.view(), dbias.data.data());
    linear_backward_bias(ctx, stream.view(), dbias.data.data());
  };
  cpu::profile of_cpu;
  cpu::context on_cpu;
  on_cpu.costs = &of_cpu;
  body(on_cpu);
  motet::cuda::profile of_gpu;
  motet::cuda::context on_gpu;
  on_gpu.costs = &of_gpu;
  body(on_gpu);
  CHECK(of_gpu.flops() == of_cpu.flops());
  const auto bytes = [&](const std::string& name, long calls) {
    double sum = 0;
    for (const operation_cost& each : of_gpu.operations())
      if (each.name == name) sum += static_cast<double>(each.calls) * each.bytes, calls -= each.calls;
    CHECK(calls == 0);
    return sum;
  };
  CHECK(bytes("linear_forward", 1) == 2 * (18 * 24 + 40 * 24 + 18 * 40));
  CHECK(bytes("linear_backward_input", 1) == 2 * (18 * 40 + 40 * 24 + 18 * 24));
  CHECK(bytes("linear_backward_weight", 1) == 2 * (18 * 40 + 18 * 24) + 8 * 40 * 24);
  CHECK(bytes("cast", 2) == 2 * (4 + 2) * 18 * 40);
  CHECK(bytes("linear_backward_bias", 2) == 2 * 4 * 18 * 40);
  CHECK(bytes("sum_of_chunks", 0) == 0);
}

TEST_CASE("an activation that the library's epilogues lack is a pass of its own, a residual rides along") {
  const sequences seq{1, 32, nullptr};
  grid<bf16> x(32, 64), pre(32, 64), y(32, 64);
  grid<float> weight(64, 64), bias(1, 64), stream(32, 64);
  const auto noted = [&](auto&& body) {
    motet::cuda::profile found;
    motet::cuda::context ctx;
    ctx.costs = &found;
    body(ctx);
    std::string names;
    double bytes = 0;
    for (const operation_cost& each : found.operations())
      names += std::string(each.name) + ' ', bytes = each.bytes;
    return std::pair{names, bytes};
  };
  for (const auto& [kind, passes] :
       {std::pair{activation::gelu, true}, {activation::quick_gelu, true}, {activation::gelu_tanh, false}}) {
    const auto forward = noted([&](auto& ctx) {
      linear_forward(ctx, seq, x.view(), weight.view(), bias.data.data(), kind, pre.view(), y.view());
    });
    CHECK(forward.first == (passes ? "linear_forward activation_forward " : "linear_forward "));
    if (passes) CHECK(forward.second == (2 + 2) * 32 * 64);
    const auto backward = noted([&](auto& ctx) {
      linear_backward_input(ctx, seq, y.view(), weight.view(), kind, pre.view(), pre.view(), x.view());
    });
    CHECK(backward.first == (passes ? "linear_backward_input activation_backward "
                                    : "linear_backward_input activation_forward "));
    CHECK(backward.second == (passes ? 4 : 2) * 2 * 32 * 64);
  }
  const auto added = noted([&](auto& ctx) {
    linear_forward(ctx, seq, x.view(), weight.view(), bias.data.data(), matrix<const float>(stream.view()),
                   stream.view());
  });
  CHECK(added.first == "linear_forward ");
  CHECK(added.second == 2 * (32 * 64 + 64 * 64) + (4 + 4) * 32 * 64);
}

TEST_CASE("rows that are padded with zeros give what they give without") {
  constexpr isize rows = 11, in = 18, out = 10;
  const sequences seq{rows, 1, nullptr};
  grid<bf16> x(rows, 24);
  x.fill(0);
  const auto narrow = grid<bf16>(rows, in).random(1);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < in; ++c) x.at(r, c) = narrow.at(r, c);
  const auto before = grid<float>(out, in).random(3), bias = grid<float>(1, out).random(4);
  // Behind the last weight stands no number, and nothing there may be read.
  grid<float> with_end(1, out * in + 64);
  with_end.fill(std::numeric_limits<double>::quiet_NaN());
  const auto weights = grid<float>(1, out * in).random(5);
  std::copy_n(weights.data.begin(), out * in, with_end.data.begin());
  const flat_on_gpu<float> held(with_end.data);
  const matrix<const float> weight{held.data(), out, in, in};
  const on_gpu<bf16> wide(x), plain(narrow), dy(grid<bf16>(rows, out).random(6));
  const on_gpu<float> bias_(bias);
  grid<bf16> y_of[2];
  for (const by who : {by::own, by::library, by::copies}) {
    grid<float> dw_of[2], db_of[2];
    for (const bool padded : {false, true}) {
      const on_gpu<bf16> y(rows, out);
      const on_gpu<float> dweight(before), dbias(bias);
      const matrix<const bf16> own =
          padded ? matrix<const bf16>(wide.all()) : matrix<const bf16>(plain.all());
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
        choose(ctx, who);
        if (ctx.on != nullptr && who == by::copies)
          ctx.on->part<motet::cuda::weight_copies>().keep(held.data(), out * in + 64);
        if (ctx.on != nullptr) refresh_weights(ctx);
        linear_forward(ctx, seq, own, weight, bias_.data(), y.all());
        linear_backward_weight(ctx, own, matrix<const bf16>(dy.all()), dweight.all(), dbias.data());
        if (ctx.on != nullptr) ctx.on->part<motet::cuda::weight_copies>().drop(held.data());
      });
      y_of[padded] = y.back(), dw_of[padded] = dweight.back(), db_of[padded] = dbias.back();
    }
    CAPTURE(static_cast<int>(who));
    CHECK(distance(y_of[0], y_of[1]) < 1e-2);
    CHECK(distance(dw_of[0], dw_of[1]) < 1e-5);
    CHECK(distance(db_of[0], db_of[1]) < 1e-5);
  }
  motet::cuda::engine& on = laws::gpu();
  on.part<motet::cuda::product_settings>().library = true;
}

}  // namespace motet
