// SPDX-License-Identifier: Apache-2.0
// An eye that joins squares of its rows inside a language model is the same as a module of its own.
#include <motet/nn/towers/joined_picture_rows.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>

#include "layer_laws.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config sight{.image = 8,
                           .patch = 2,
                           .channels = 1,
                           .width = 8,
                           .layers = 1,
                           .heads = 2,
                           .hidden = 6,
                           .pool = pool_kind::first};
using eye = joined_picture_rows<sight, true, 2>;
using apart = vit_rows<sight, true, 1, 2>;
constexpr motet::isize shown = 3, rows = shown * eye::rows_of_picture;

std::vector<double> drawn(motet::isize count, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < count; ++i) out.push_back(draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}
std::vector<float> pixels() {
  std::vector<float> out;
  for (const double each : drawn(shown * 64, "pixels")) out.push_back(static_cast<float>(each));
  return out;
}
enum class run { whole, split, infer };
struct outcome {
  std::vector<double> y, g;
  friend bool operator==(const outcome&, const outcome&) = default;
};
outcome inside(const std::vector<double>& w, const std::vector<double>& dy, run how) {
  outcome out{std::vector<double>(dy.size()), std::vector<double>(w.size())};
  const std::vector<float> data = pixels();
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const pictures batch{data.data(), shown};
    const weights<fp64> of{w.data()};
    const gradients<fp64> to{out.g.data()};
    const view<double, 32> y(out.y.data(), rows);
    const view<const double, 32> d(dy.data(), rows);
    if (how == run::infer) return eye::infer(ctx, of, batch, y);
    typename eye::template saved<fp64> s;
    eye::template reserve<fp64>(ctx, eye::rows(batch), s);
    eye::forward(ctx, of, batch, y, s);
    if (how == run::whole) return eye::backward(ctx, of, batch, d, s, to);
    eye::backward_input(ctx, of, batch, d, s);
    synchronize(ctx);
    eye::backward_weight(ctx, of, batch, d, s, to);
  });
  return out;
}
outcome as_module(const std::vector<double>& w, const std::vector<double>& dy) {
  outcome out{std::vector<double>(dy.size()), std::vector<double>(w.size())};
  const std::vector<float> data = pixels();
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const seen_pictures batch{{data.data(), shown}, shown, nullptr};
    typename apart::stage::template ends<fp64> ends;
    ends.features = {out.y.data(), rows};
    ends.d_features = {dy.data(), rows};
    typename apart::template saved<fp64> s;
    const weights<fp64> of{w.data()};
    apart::template reserve<fp64>(ctx, batch, s);
    apart::stage::forward(ctx, apart::whole, of, batch, ends, s);
    apart::stage::backward(ctx, apart::whole, of, batch, ends, s, gradients<fp64>{out.g.data()});
  });
  return out;
}

}  // namespace

static_assert(eye::parameter_size == apart::parameter_size && eye::out == apart::embedding);

TEST_CASE("rows and gradients are those of the eye that is a module, whole and in parts") {
  const std::vector<double> w = drawn(eye::parameter_size, "weights"), dy = drawn(rows * 32, "dy");
  const outcome wanted = as_module(w, dy);
  CHECK(inside(w, dy, run::whole) == wanted);
  CHECK(inside(w, dy, run::split) == wanted);
  CHECK(inside(w, dy, run::infer).y == wanted.y);
}

TEST_CASE("a decoder that sees by it has the gradients of its loss") {
  constexpr decoder_config words{
      .vocabulary = 11, .context = 12, .width = 8, .layers = 1, .heads = 2, .hidden = 6};
  using say = seeing_decoder<eye, projector<32, 8>, words>;
  pictured_text text{eye::rows_of_picture};
  text.clear();
  for (std::int32_t s = 0; s < shown; ++s) {
    const std::int32_t both[]{s, s + 5};
    text.say(std::span(both).first(1), pictured_text::said::given);
    text.show();
    text.say(std::span(both).last(1), pictured_text::said::asked);
    text.end();
  }
  const std::vector<float> data = pixels();
  laws::check_laws(laws::tower_subject<say>{text.with({data.data(), shown})}, {.half = 8e-2});
}
