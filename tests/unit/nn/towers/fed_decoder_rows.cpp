// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/fed_decoder_rows.hpp>

#include "fed_subject.hpp"

using namespace motet;

namespace {

constexpr decoder_config of{.vocabulary = 9, .context = 6, .width = 8, .layers = 2, .heads = 2, .hidden = 12};
using net = fed_decoder_rows<of, 3>;

}  // namespace

static_assert(net::gives_rows && net::takes_rows == 8 && net::most_rows == 3 && net::embedding == 8);
static_assert(net::with_sources<2>::sources == 2);
static_assert(net::parameter_size == decoder_rows<of>::parameter_size);

TEST_CASE("rows come in over one edge and go out over another, and gradients go back over both") {
  // A row between two words, two rows of which the first one has no place, and a sample of nothing.
  const std::vector<std::int32_t> ids{1, -1, 2, -1, 3}, places{1, -1, 3};
  const std::vector<motet::isize> offsets{0, 3, 5, 5}, row_offsets{0, 1, 3, 3};
  const placed_tokens batch{
      {{ids.data(), {3, 0, offsets.data()}}, nullptr, 1}, row_offsets.data(), places.data()};
  laws::check_laws(laws::fed_subject<laws::tower_subject<net>, 8>{{batch}},
                   {.half = 6e-2, .samples_of_tensor = 2});
}
