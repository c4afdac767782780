// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/token_embedding.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

constexpr refused<token_config> wrong[] = {
    {{.vocabulary = 5, .context = 0, .width = 4}, reason::not_positive, 0, 1},
    {{.vocabulary = 5, .context = 3, .width = -4}, reason::not_positive, -4, 1},
};
static_assert(are_refused(wrong));

TEST_CASE("tables of tokens that have no rows, or no columns") { check_refused(wrong); }

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
