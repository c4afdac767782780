// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/vit_rows.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/picture_rows.hpp>

#include "cpu_run.hpp"
#include "deviation.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4,
                           .patch = 2,
                           .channels = 1,
                           .width = 8,
                           .layers = 2,
                           .heads = 2,
                           .hidden = 6,
                           .pool = pool_kind::first,
                           .pre_norm = true};
constexpr motet::isize shown = 3, rows = shown * 5;

std::vector<double> drawn(motet::isize count, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < count; ++i) out.push_back(draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}
std::vector<float> pixels() {
  std::vector<float> out;
  for (const double each : drawn(shown * 16, "pixels")) out.push_back(static_cast<float>(each));
  return out;
}

struct outcome {
  std::vector<double> y, g;
  friend bool operator==(const outcome&, const outcome&) = default;
};
// Forward and backward of the module, whole or in two parts, and of the eye that a decoder has inside.
template <class Net>
outcome of_module(const std::vector<double>& w, const std::vector<double>& dy, bool split) {
  constexpr motet::isize given = shown * Net::rows_of_picture;
  outcome out{std::vector<double>(dy.size()), std::vector<double>(w.size())};
  const std::vector<float> data = pixels();
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const seen_pictures batch{{data.data(), shown}, 2, nullptr};
    using stage = typename Net::stage;
    typename stage::template ends<fp64> ends;
    ends.features = {out.y.data(), given};
    ends.d_features = {dy.data(), given};
    typename Net::template saved<fp64> s;
    const weights<fp64> of{w.data()};
    Net::template reserve<fp64>(ctx, batch, s);
    stage::forward(ctx, Net::whole, of, batch, ends, s);
    if (split) {
      stage::backward_input(ctx, Net::whole, of, batch, ends, s);
      synchronize(ctx);
      stage::backward_weight(ctx, Net::whole, of, batch, ends, s, gradients<fp64>{out.g.data()});
    } else {
      stage::backward(ctx, Net::whole, of, batch, ends, s, gradients<fp64>{out.g.data()});
    }
  });
  return out;
}
template <class Eye>
outcome of_eye(const std::vector<double>& w, const std::vector<double>& dy) {
  outcome out{std::vector<double>(dy.size()), std::vector<double>(w.size())};
  const std::vector<float> data = pixels();
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const pictures batch{data.data(), shown};
    typename Eye::template saved<fp64> s;
    const weights<fp64> of{w.data()};
    Eye::template reserve<fp64>(ctx, Eye::rows(batch), s);
    Eye::forward(ctx, of, batch, view<double, 8>(out.y.data(), rows), s);
    Eye::backward(ctx, of, batch, view<const double, 8>(dy.data(), rows), s, gradients<fp64>{out.g.data()});
  });
  return out;
}

}  // namespace

static_assert(vit_rows<sight>::gives_rows && vit_rows<sight>::rows_of_picture == 5);
static_assert(vit_rows<sight>::parameter_size == picture_rows<sight>::parameter_size);
static_assert(vit_rows<sight, false>::parameter_size == picture_rows<sight, false>::parameter_size);

TEST_CASE("its rows and gradients are those of the eye inside a language model") {
  const std::vector<double> w = drawn(vit_rows<sight>::parameter_size, "weights"), dy = drawn(rows * 8, "dy");
  const outcome wanted = of_eye<picture_rows<sight>>(w, dy);
  CHECK(of_module<vit_rows<sight>>(w, dy, false) == wanted);
  CHECK(of_module<vit_rows<sight>>(w, dy, true) == wanted);
  const std::vector<double> bare(w.begin(), w.begin() + vit_rows<sight, false>::parameter_size);
  CHECK(of_module<vit_rows<sight, false>>(bare, dy, false) == of_eye<picture_rows<sight, false>>(bare, dy));
}

TEST_CASE("squares of its rows are joined, and its weights and their gradients stay what they are") {
  using joined = vit_rows<sight, true, 1, 2>;
  static_assert(joined::rows_of_picture == 1 && joined::embedding == 32);
  static_assert(joined::parameter_size == vit_rows<sight>::parameter_size);
  CHECK(layer::parameters_of<joined>().back().name == layer::parameters_of<vit_rows<sight>>().back().name);
  const std::vector<double> w = drawn(joined::parameter_size, "weights"), dy = drawn(shown * 32, "dy");
  // One square is a whole picture here: its rows lie one behind the other, and the class token's is left out.
  std::vector<double> of_rows(rows * 8, 0.0);
  for (motet::isize k = 0; k < shown; ++k) std::copy_n(dy.begin() + 32 * k, 32, of_rows.begin() + 40 * k + 8);
  const outcome plain = of_module<vit_rows<sight>>(w, of_rows, false),
                whole = of_module<joined>(w, dy, false);
  for (motet::isize k = 0; k < shown; ++k)
    CHECK(std::equal(whole.y.begin() + 32 * k, whole.y.begin() + 32 * (k + 1), plain.y.begin() + 40 * k + 8));
  CHECK(whole.g == plain.g);
  CHECK(of_module<joined>(w, dy, true) == whole);
  const std::vector<double> bare(w.begin(), w.begin() + vit_rows<sight, false>::parameter_size);
  CHECK(of_module<vit_rows<sight, false, 1, 2>>(bare, dy, false).g ==
        of_module<vit_rows<sight, false>>(bare, of_rows, false).g);
}

TEST_CASE("pictures of unlike shapes together are each of them by itself") {
  constexpr vit_config any = [] {
    vit_config c = sight;
    c.most_patches = 6;
    return c;
  }();
  using eye = vit_rows<any>;
  using stage = eye::stage;
  static_assert(eye::rows_of_picture == 7 && eye::parameter_size == vit_rows<sight>::parameter_size);
  const std::vector<std::pair<int, int>> shapes{{1, 6}, {3, 2}, {2, 2}, {1, 1}};
  const std::vector<double> w = drawn(eye::parameter_size, "weights");
  const std::vector<float> data = [] {
    std::vector<float> out;
    for (const double each : drawn(17 * 4, "pixels")) out.push_back(static_cast<float>(each));
    return out;
  }();
  const auto run = [&](const pictures& seen, const std::vector<double>& dy) {
    outcome out{std::vector<double>(dy.size()), std::vector<double>(w.size())};
    laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
      const seen_pictures batch{seen, seen.samples, nullptr};
      stage::ends<fp64> ends;
      ends.features = {out.y.data(), static_cast<motet::isize>(dy.size()) / 8};
      ends.d_features = {dy.data(), static_cast<motet::isize>(dy.size()) / 8};
      eye::saved<fp64> s;
      eye::reserve<fp64>(ctx, batch, s);
      stage::forward(ctx, eye::whole, weights<fp64>{w.data()}, batch, ends, s);
      stage::backward(ctx, eye::whole, weights<fp64>{w.data()}, batch, ends, s,
                      gradients<fp64>{out.g.data()});
    });
    return out;
  };
  picture_grids together(4, 1), one(4, 1);
  for (const auto& [down, across] : shapes) together.add(down, across);
  const std::vector<double> dy = drawn((17 + 4) * 8, "dy");
  const outcome all = run(together.with(data.data()), dy);
  std::vector<double> g(w.size()), y;
  const float* pixel = data.data();
  auto slope = dy.begin();
  for (const auto& [down, across] : shapes) {
    one.clear();
    one.add(down, across);
    const outcome own = run(one.with(pixel), std::vector<double>(slope, slope + (down * across + 1) * 8));
    y.insert(y.end(), own.y.begin(), own.y.end());
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += own.g[i];
    pixel += down * across * 4, slope += (down * across + 1) * 8;
  }
  CHECK(laws::off_by(all.y, y) <= 1e-12);
  CHECK(laws::off_by(all.g, g) <= 1e-11);
}

TEST_CASE("a sample has the pictures that its offsets say, or one") {
  const std::vector<motet::isize> offsets{0, 0, 2, 3};
  const seen_pictures some{{nullptr, 3}, 3, offsets.data()}, one_each{{nullptr, 3}, 3, nullptr};
  CHECK_EQ(some.before(2), 2);
  CHECK_EQ(one_each.before(2), 2);
  CHECK_EQ(some.before(1), 0);
}
