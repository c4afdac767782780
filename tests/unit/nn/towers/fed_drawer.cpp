// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/fed_drawer.hpp>

#include "drawn_batch.hpp"
#include "fed_subject.hpp"
#include "goldens.hpp"

using namespace motet;

namespace {

constexpr drawer_config of{
    .image = 8, .patch = 4, .channels = 3, .width = 16, .layers = 2, .heads = 2, .hidden = 24, .classes = 0};
using net = fed_drawer<of, 10, 4>;
using subject = laws::fed_subject<laws::tower_subject<net>, 10>;

}  // namespace

static_assert(net::parameter_size == drawer<of>::parameter_size + parameter_space(16 * 10));

TEST_CASE("a drawer that is fed has the gradients that differences have, and so have the rows that enter") {
  const laws::drawn_batch three(3, of.noised());
  const motet::isize offsets[] = {0, 4, 4, 6};
  laws::check_laws(subject{{fed_pictures{three.input, offsets}}}, {.half = 6e-2, .samples_of_tensor = 2});
}

TEST_CASE("its losses and gradients are PyTorch's, those of the rows that enter too") {
  const laws::golden_file file("drawings");
  const std::vector<float> pixels = file.values<float>("fed/pixels");
  const motet::isize offsets[] = {0, 2, 2, 6, 7};
  const drawn_pictures drawn{{pixels.data(), 4}, nullptr, {.seed = 11, .step = 2, .first = 3}, 0.25};
  laws::check_golden(file, "fed", subject{{fed_pictures{drawn, offsets}}});
}
