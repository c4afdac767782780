// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/drawer.hpp>

#include "drawn_batch.hpp"
#include "goldens.hpp"
#include "refused_configs.hpp"

using namespace motet;

static_assert(check(drawer_config{}).ok(), "DiT-S/2");
constexpr refused<drawer_config> wrong[] = {
    {{.layers = 0}, reason::not_positive, 0, 1},
    {{.hidden = -1}, reason::not_positive, -1, 0},
    {{.width = 100}, reason::heads_do_not_divide, 6, 100},
    {{.patch = 3}, reason::patch_does_not_divide, 3, 32},
    {{.classes = -2}, reason::not_positive, -2, 0},
};
static_assert(are_refused(wrong));
// 32.7 million: a class table and a product for latents beside what DiT's paper counts as 33.
static_assert(drawer<drawer_config{}>::parameter_size > 32'000'000 &&
              drawer<drawer_config{}>::parameter_size < 34'000'000);

TEST_CASE("nets that cannot draw") { check_refused(wrong); }

namespace {

constexpr drawer_config of{.image = 8,
                           .patch = 4,
                           .channels = 3,
                           .width = 16,
                           .layers = 2,
                           .heads = 2,
                           .hidden = 24,
                           .classes = 4,
                           .forgotten = 0.4f};

const laws::golden_file& file() {
  static const laws::golden_file opened("drawings");
  return opened;
}

}  // namespace

TEST_CASE("a net that draws has the gradients that differences have") {
  for (const motet::isize samples : {0, 3}) {
    const laws::drawn_batch batch(samples, of.noised());
    laws::check_laws(laws::tower_subject<drawer<of>>{batch.input}, {.half = 6e-2, .samples_of_tensor = 2});
  }
}

TEST_CASE("its losses and gradients are PyTorch's, with the noise of its seed, step and place") {
  const std::vector<float> pixels = file().values<float>("net/pixels");
  const std::vector<std::int32_t> classes = file().values<std::int32_t>("net/classes");
  const drawn_pictures batch{{pixels.data(), 6}, classes.data(), {.seed = 11, .step = 2, .first = 3}, 0.2};
  laws::check_golden(file(), "net", laws::tower_subject<drawer<of>>{batch});
}

TEST_CASE("what it says of pictures that came noised is what PyTorch's net says") {
  using net = drawer<of>::velocity;
  const std::vector<float> pixels = file().values<float>("velocity/pixels"),
                           times = file().values<float>("net/times");
  const std::vector<std::int32_t> told = file().values<std::int32_t>("net/told");
  drawn_pictures batch{{pixels.data(), 6}, told.data(), {.times = times.data()}, 1};
  std::vector<std::int32_t> classes = told;
  for (std::int32_t& each : classes) each = each == 4 ? -1 : each;
  batch.classes = classes.data();
  const laws::reals w = file().flat(layer::parameters_of<net>(), net::parameter_size, "net/w/");
  std::vector<double> said(6 * 4 * 48);
  buffer<std::byte> room;
  trial::run(room, [&](cpu::context& ctx) {
    net::infer(ctx, weights<fp64>{w.data()}, batch, view<double, 48>(said.data(), 6 * 4));
  });
  CHECK_LE(laws::apart(said, file().at("velocity/y")), 1e-6);
}

TEST_CASE("a picture's loss does not depend on which pictures are beside it") {
  const laws::drawn_batch all(5, of.noised());
  const auto losses = [&](motet::isize first, motet::isize count, const std::int32_t* places) {
    drawn_pictures some = all.input;
    some.pixels += first * 3 * 64;
    some.classes += first;
    some.samples = count;
    some.draws.first += first;
    some.draws.places = places;
    const auto list = layer::parameters_of<drawer<of>>();
    const laws::reals w = laws::random_weights(list, drawer<of>::parameter_size);
    return laws::evaluate<fp64>(laws::tower_subject<drawer<of>>{some}, laws::way::infer, 2, w, {},
                                laws::reals(as_size(count), 0.0), laws::reals(w.size(), 0.0))
        .y;
  };
  const laws::reals whole = losses(0, 5, nullptr);
  const std::int32_t places[] = {10, 11, 12};
  CHECK_LE(laws::apart(losses(3, 2, nullptr), {whole[3], whole[4]}), 1e-12);
  CHECK_LE(laws::apart(losses(3, 2, places), {whole[3], whole[4]}), 1e-12);
  CHECK(laws::apart(losses(3, 2, places + 1), {whole[3], whole[4]}) > 1e-3);
}
