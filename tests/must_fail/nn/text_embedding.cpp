// SPDX-License-Identifier: Apache-2.0
// expect: motet: the embedding of a tower that is continued lacks text_embedding, which reads the tokens after its first input [MT-N11]
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/last_logits.hpp>

constexpr motet::decoder_config little{.vocabulary = 8, .context = 8, .width = 8, .layers = 1, .heads = 2};
using of_tokens = motet::token_embedding<little.tokens()>;

struct more_than_tokens : motet::tokens {
  int more = 0;
};
struct mine : of_tokens {
  using input = more_than_tokens;
#ifndef MOTET_BREAK
  using text_embedding = of_tokens;
#endif
};

using all_rows = motet::tower<mine, little.tower(), motet::logits_tail<motet::rms_norm<8>, 8>>;
static_assert(motet::continued<all_rows>::later::parameter_size == all_rows::parameter_size);
