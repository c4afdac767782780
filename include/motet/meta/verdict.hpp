// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>

// Every rule that a type can break. One line a rule: X(reason, code, sentence, cause, remedy). The same rows make the enumeration, the
// compiler's sentences, the run-time errors and docs/errors.md.
#define MOTET_REASONS(X)                                                                                                                             \
  X(heads_do_not_divide, "MT-N01", "the head count must divide the width, unless head_width is given",                                               \
    "width / heads is not a whole number, and the config leaves head_width at 0", "choose a head count that divides the width, or set .head_width")  \
  X(patch_does_not_divide, "MT-N02", "the patch side must divide the picture side", "picture side / patch side is not a whole number",               \
    "choose a patch that divides .image, or resize the pictures")                                                                                    \
  X(kv_heads_do_not_divide, "MT-N03", "the key-value head count must divide the head count",                                                         \
    "grouped-query attention shares each key-value head among the same number of query heads", "choose .kv_heads that divides .heads")               \
  X(not_positive, "MT-N04", "sizes of a net must be positive", "a width, depth, head count or context is zero or negative",                          \
    "give every size of the config")                                                                                                                 \
  X(widths_do_not_chain, "MT-N05", "a layer's input width must be the output width of the layer before it",                                          \
    "two neighbours of a sequential composition disagree", "match the widths, or put a linear layer between")                                        \
  X(odd_rotary_width, "MT-N06", "rotary embedding needs an even head width", "rotary embedding turns pairs of columns", "choose an even head width") \
  X(sine_width, "MT-N07", "2-D sine positions need a width that is a multiple of 4",                                                                 \
    "sines and cosines of a patch's row and column take a quarter of the columns each", "choose such a width, or learned positions")                 \
  X(join_widths_differ, "MT-M01", "modules that meet in a join must have equal embedding widths",                                                    \
    "one tower projects to another width than the first", "set the same .embedding in every config of the join")                                     \
  X(join_too_small, "MT-M02", "a join needs at least two modules", "a contrastive loss compares modules", "name two or more modules in the join")    \
  X(unknown_module, "MT-M03", "no module of the model has this name", "the name is misspelt, or the module is in another model",                     \
    "use a name that the model declares")                                                                                                            \
  X(duplicate_module, "MT-M04", "two modules of a model have the same name", "names address parameters and strategies, so they must differ",         \
    "rename one of them")

namespace motet {

enum class reason : std::uint8_t {
  none,
#define MOTET_REASON_NAME(name, code, sentence, cause, remedy) name,
  MOTET_REASONS(MOTET_REASON_NAME)
#undef MOTET_REASON_NAME
};

inline constexpr message reason_messages[] = {{"MT-N00", "nothing is wrong", "", ""},
#define MOTET_REASON_ROW(name, code, sentence, cause, remedy) {code, sentence, cause, remedy},
                                              MOTET_REASONS(MOTET_REASON_ROW)
#undef MOTET_REASON_ROW
};

// The answer of a rule. `where` is the position (layer, module, field) that broke it.
struct verdict {
  reason why = reason::none;
  index where = 0;
  index got = 0;
  index wanted = 0;
  constexpr bool ok() const { return why == reason::none; }
};

// Instantiated with the numbers of the failure, so that the compiler prints them beside the sentence.
template <reason Why, index Where, index Got, index Wanted>
struct the_model_is_wrong {
#define MOTET_REASON_ASSERT(name, code, sentence, cause, remedy) \
  static_assert(Why != reason::name, "motet: " sentence "; see the numbers in the_model_is_wrong<why, where, got, wanted> [" code "]");
  MOTET_REASONS(MOTET_REASON_ASSERT)
#undef MOTET_REASON_ASSERT
  static constexpr bool value = true;
};

// One funnel for typed code: `static_assert(require<check(config)>);`
template <verdict Verdict>
inline constexpr bool require = the_model_is_wrong<Verdict.why, Verdict.where, Verdict.got, Verdict.wanted>::value;

// The same rule for values that arrive at run time.
inline void enforce(const verdict& found, const std::string& what) {
  if (found.ok()) return;
  fail(reason_messages[static_cast<int>(found.why)],
       what + " (at " + std::to_string(found.where) + ": got " + std::to_string(found.got) + ", wanted " + std::to_string(found.wanted) + ")");
}

}  // namespace motet
