// SPDX-License-Identifier: Apache-2.0
// expect: motet: only a causal net goes on row by row; see the words of the_rule_is_broken [MT-N13]
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/last_logits.hpp>

constexpr motet::decoder_config little{.vocabulary = 8, .context = 8, .width = 8, .layers = 1, .heads = 2};

constexpr motet::tower_config blocks() {
  motet::tower_config c = little.tower();
#ifdef MOTET_BREAK
  c.attention.mask = motet::mask_kind::full;
#endif
  return c;
}

using all_rows = motet::tower<motet::token_embedding<little.tokens()>, blocks(),
                              motet::logits_tail<motet::rms_norm<8>, 8>>;
static_assert(motet::continued<all_rows>::vocabulary == 8);
