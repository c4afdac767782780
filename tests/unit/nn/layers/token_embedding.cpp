// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/token_embedding.hpp>

#include "layer_laws.hpp"

using namespace motet;

static_assert(check(token_config{.vocabulary = 5, .context = 0, .width = 4}).why == reason::not_positive);

namespace {

template <token_config Config>
void check_tokens() {
  for (const std::vector<motet::isize>& offsets :
       {std::vector<motet::isize>{0}, {0, 1}, {0, 3, 3, 4, 11, 11}, {0, 0, 7}}) {
    const laws::token_batch batch(offsets, Config.vocabulary);
    laws::check_laws(laws::embedding_subject<token_embedding<Config>>{batch.input});
  }
}

}  // namespace

TEST_CASE("token embedding with and without learned positions") {
  check_tokens<token_config{.vocabulary = 5, .context = 7, .width = 3}>();
  check_tokens<token_config{.vocabulary = 2, .context = 7, .width = 33, .position = false}>();
}
