// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/layer.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/rows/elementwise.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Hands its rows through and counts its calls; it has the parts that the contract asks for and nothing else.
template <bool Learns>
struct counting {
  static constexpr motet::isize in = 2, out = 2, parameter_size = Learns ? 16 : 0;
  static inline int forwards = 0, inputs = 0, weight_parts = 0;
  static void parameters(parameter_list& list) {
    if constexpr (Learns) list.vector("weight", 2, {});
  }
  template <class N>
  struct saved {
    view<typename N::value, 2> kept;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.kept = ctx.memory.template take_rows<typename N::value, 2>(seq.rows());
  }
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, 2> x, view<Y, 2> y, saved<N>&) {
    ++forwards;
    copy(ctx, seq, x, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, 2>, view<DY, 2> dy,
                             view<DX, 2> dx, saved<N>&) {
    ++inputs;
    ctx.memory.template take_rows<typename N::value, 2>(seq.rows());
    copy(ctx, seq, dy, dx);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C&, weights<N>, const sequences&, view<X, 2>, view<DY, 2>, saved<N>&,
                              gradients<N>)
    requires Learns
  {
    ++weight_parts;
  }
};

template <class L>
void check_default_parts(int weight_parts) {
  buffer<std::byte> memory(4096);
  cpu::context ctx;
  ctx.memory = arena(memory.data(), memory.size());
  const sequences seq{3, 1, nullptr};
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {}, dx[6] = {};
  const view<const float, 2> from(x, 3);
  layer::infer<L>(ctx, weights<fp32>{}, seq, from, view<float, 2>(y, 3));
  CHECK_EQ(ctx.memory.mark(), 0);
  CHECK_EQ(y[5], 6);
  typename L::template saved<fp32> s;
  layer::backward<L>(ctx, weights<fp32>{}, seq, from, from, view<float, 2>(dx, 3), s, gradients<fp32>{});
  CHECK_EQ(ctx.memory.mark(), 0);
  CHECK(ctx.memory.peak() > 0);
  CHECK_EQ(dx[5], 6);
  CHECK_EQ(L::forwards, 1);
  CHECK_EQ(L::inputs, 1);
  CHECK_EQ(L::weight_parts, weight_parts);
}

}  // namespace

static_assert(has_parameters<counting<true>> && !has_parameters<counting<false>>);

TEST_CASE("infer and backward follow from the parts, and give all memory back") {
  check_default_parts<counting<true>>(1);
  check_default_parts<counting<false>>(0);
}

TEST_CASE("parameters are listed under a prefix, or under none") {
  CHECK(layer::parameters_of<counting<true>>()[0].name == "weight");
  CHECK(layer::parameters_of<counting<true>>("part")[0].name == "part.weight");
  CHECK(layer::parameters_of<counting<false>>("part").empty());
}

namespace {

// Says what a part of it holds, and wants to know the part when it takes memory.
struct shared_out : counting<true> {
  static constexpr motet::isize size(tensor_cut cut) { return 16 * cut.share(3).size(); }
  template <class N, class C>
  static void reserve(C& ctx, const sequences&, saved<N>& s, tensor_cut cut = {}) {
    s.kept = ctx.memory.template take_rows<typename N::value, 2>(cut.share(3).size());
  }
};

}  // namespace

TEST_CASE("a layer that may be cut sees the cut, another does not") {
  const tensor_cut cut{2, 1};
  CHECK_EQ(layer::size<shared_out>(cut), 16);
  CHECK_EQ(layer::size<shared_out>({}), 48);
  CHECK_EQ(layer::size<counting<true>>(cut), 16);
  CHECK_EQ(layer::size<counting<false>>(cut), 0);
  const float data[3] = {1, 2, 3};
  const weights<fp32> w{data, cut};
  CHECK_EQ(*layer::part<shared_out>(w, 2).data, 3);
  CHECK_EQ(layer::part<shared_out>(w).cut.shards, 2);
  CHECK(layer::part<counting<true>>(w, 1).cut.whole());
  cpu::context dry;
  shared_out::saved<fp32> cut_saved;
  counting<true>::saved<fp32> saved;
  layer::reserve<shared_out, fp32>(dry, {5, 1, nullptr}, cut_saved, cut);
  layer::reserve<counting<true>, fp32>(dry, {5, 1, nullptr}, saved, cut);
  CHECK_EQ(cut_saved.kept.rows, 1);
  CHECK_EQ(saved.kept.rows, 5);
  CHECK(layer::parameters_of<shared_out>("part", cut)[0].name == "part.weight");
}
