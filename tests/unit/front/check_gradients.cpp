// SPDX-License-Identifier: Apache-2.0
#include <motet/front/check_gradients.hpp>
#include <motet/model/join.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace motet;

namespace {

using right = linear<5, 3>;

// Two wrong layers: one number of the bias is doubled; one of dx is no number.
struct wrong_bias : right {
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, saved<N>& s,
                              gradients<N> g) {
    right::backward_weight(ctx, w, seq, x, dy, s, g);
    if (g.data != nullptr && !ctx.measuring()) right::bias(g.data)[1] *= 2;
  }
};
struct wrong_input : right {
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, DX dx, saved<N>& s) {
    right::backward_input(ctx, w, seq, x, dy, dx, s);
    if (!ctx.measuring()) dx.data[0] = NAN;
  }
};
// This one adds to dx what it keeps and never wrote.
struct unwritten : right {
  template <class N>
  struct saved : right::saved<N> {
    typename N::value* never = nullptr;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    right::reserve<N>(ctx, seq, s);
    s.never = ctx.memory.template take<typename N::value>(1);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, DX dx, saved<N>& s) {
    right::backward_input(ctx, w, seq, x, dy, dx, s);
    if (!ctx.measuring()) dx.data[0] += *s.never;
  }
};

// Ranks that share it forget their part of the loss.
struct wrong_share : pairwise_sigmoid {
  template <class C, class M, class S>
  static typename C::real part(C& ctx, const M* w, M* g, const pair_part<S>& of, double share, const S* own,
                               const S* others, matrix<S> d_rows) {
    return pairwise_sigmoid::part(ctx, w, g, of, share, own, others, d_rows) / 2;
  }
};

constexpr vit_config small{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 2, .embedding = 6};

}  // namespace

TEST_CASE("gradients of a layer, an embedding and a net are right") {
  const gradient_report of_layer = check_gradients<right>(sequences{2, 4, nullptr});
  CHECK_MESSAGE(of_layer.ok(), of_layer.text());
  CHECK_EQ(of_layer.text(), "all 32 compared gradients are right");
  const std::vector<float> pixels(2 * 3 * 8 * 8, 0.5f);
  const pictures batch{pixels.data(), 2};
  const gradient_report of_embedding = check_gradients<patch_embedding<small.patches()>>(batch);
  CHECK_MESSAGE(of_embedding.ok(), of_embedding.text());
  const gradient_report of_net = check_gradients<vit<small>>(batch);
  CHECK_MESSAGE(of_net.ok(), of_net.text());
}

TEST_CASE("a wrong gradient is told by the name of its parameter, its element, and both numbers") {
  const gradient_report bias = check_gradients<wrong_bias>(sequences{2, 4, nullptr});
  REQUIRE_EQ(bias.wrong.size(), 1u);
  CHECK_EQ(bias.wrong[0].of, "bias");
  CHECK_EQ(bias.wrong[0].at, 1);
  CHECK(bias.wrong[0].got == doctest::Approx(2 * bias.wrong[0].wanted));
  CHECK_EQ(bias.text(), bias.wrong[0].text());
  CHECK_EQ(bias.text().find("bias, element 1: got "), 0u);
  const gradient_report input = check_gradients<wrong_input>(sequences{1, 1, nullptr});
  REQUIRE_EQ(input.wrong.size(), 1u);
  CHECK_EQ(input.wrong[0].text().find("x, element 0: got nan, wanted "), 0u);
  const gradient_report memory = check_gradients<unwritten>(sequences{1, 1, nullptr});
  REQUIRE_EQ(memory.wrong.size(), 1u);
  CHECK(std::isnan(memory.wrong[0].got));
}

TEST_CASE("a loss is right whole, and as ranks share it") {
  const gradient_report of_softmax = check_loss_gradients<info_nce>();
  CHECK_MESSAGE(of_softmax.ok(), of_softmax.text());
  const gradient_report of_sigmoid = check_loss_gradients<pairwise_sigmoid>(5, 3);
  CHECK_MESSAGE(of_sigmoid.ok(), of_sigmoid.text());
  const gradient_report halved = check_loss_gradients<wrong_share>();
  REQUIRE_EQ(halved.wrong.size(), 1u);
  CHECK_EQ(halved.wrong[0].of, "shared loss");
}
