// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/seeing_decoder_rows.hpp>

#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/fed_decoder_rows.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4,
                           .patch = 2,
                           .channels = 1,
                           .width = 6,
                           .layers = 1,
                           .heads = 1,
                           .hidden = 5,
                           .pool = pool_kind::mean};
constexpr decoder_config words{
    .vocabulary = 9, .context = 12, .width = 8, .layers = 1, .heads = 2, .hidden = 6};
using glue = projector<6, 8, 7>;
using net = seeing_decoder_rows<picture_rows<sight>, glue, words, 2>;

}  // namespace

static_assert(net::gives_rows && net::embedding == 8 && net::most_pictures == 2);
// It has the weights of three modules.
static_assert(net::parameter_size == vit_rows<sight>::parameter_size + glue::parameter_size +
                                         fed_decoder_rows<words>::parameter_size);

TEST_CASE("rows of words and pictures have the gradients that differences have") {
  pictured_text text(4);
  text.clear();
  const std::vector<std::int32_t> said{3, 1, 4};
  text.say(said, pictured_text::said::given);
  text.show();
  text.end();
  text.end();
  text.show();
  text.show();
  text.say(said, pictured_text::said::given);
  text.end();
  std::vector<float> pixels;
  const random_stream draw(3, "pixels");
  for (std::uint64_t i = 0; i < 3 * 16; ++i) pixels.push_back(static_cast<float>(draw.normal(i)));
  laws::check_laws(laws::tower_subject<net>{text.with({pixels.data(), 3})},
                   {.half = 1e-1, .samples_of_tensor = 2});
}
