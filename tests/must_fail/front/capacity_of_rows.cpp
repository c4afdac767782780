// SPDX-License-Identifier: Apache-2.0
// expect: motet: experts of limited capacity do not go on row by row; see the words of the_rule_is_broken [MT-N14]
#include <motet/front/trained/speaker.hpp>

#ifdef MOTET_BREAK
constexpr float capacity = 1.5f;
#else
constexpr float capacity = 0;
#endif
using talk = motet::decoder<motet::decoder_config{.vocabulary = 8,
                                                  .context = 8,
                                                  .width = 8,
                                                  .layers = 1,
                                                  .heads = 2,
                                                  .mix = {.experts = 2, .capacity = capacity}}>;

void say(motet::speaker<talk>& says, std::span<const std::int32_t> prompt) {
  says.next(prompt);  // all rows at once are the rows of training
  says.say(prompt);
}
