// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/decoder_rows.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr decoder_config of{.vocabulary = 9, .context = 6, .width = 8, .layers = 2, .heads = 2, .hidden = 12};
using net = decoder_rows<of>;

}  // namespace

static_assert(net::gives_rows && net::embedding == 8);
// The head alone is left out.
static_assert(net::parameter_size == decoder<of>::parameter_size - parameter_space(9 * 8));

TEST_CASE("a language model's rows have the gradients that differences have") {
  const std::vector<std::int32_t> ids{1, 4, 2, 8, 3, 3};
  const std::vector<motet::isize> offsets{0, 1, 1, 6};
  laws::check_laws(laws::tower_subject<net>{{ids.data(), {3, 0, offsets.data()}}},
                   {.half = 1e-1, .samples_of_tensor = 2});
}
