// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>
#include <motet/meta/fixed_string.hpp>
#include <motet/meta/short_text.hpp>

#include <string>
#include <utility>

// A rule is a row of a table of messages, and a floor keeps its own in rules.hpp, so that a rule stands
// beside what it holds for. The same rows make the compiler's sentences, the run-time errors and
// docs/errors.md.
namespace motet {

using broken_rule = const message*;

namespace reason {

inline constexpr broken_rule none = nullptr;

}

// `said_of` is what the compiler says of a broken rule. MOTET_RULES_OF makes one for each.
template <broken_rule Why>
struct said_of;

namespace detail {

template <fixed_string...>
inline constexpr bool is_kept = false;

}

}  // namespace motet

#define MOTET_RULE(name, code, sentence, cause, remedy, ...)                                        \
  namespace motet::rules {                                                                          \
  inline constexpr message name{code, sentence, cause, remedy __VA_OPT__(, ) __VA_ARGS__};          \
  }                                                                                                 \
  namespace motet::reason {                                                                         \
  inline constexpr broken_rule name = &rules::name;                                                 \
  }                                                                                                 \
  template <>                                                                                       \
  struct motet::said_of<&motet::rules::name> {                                                      \
    /* Instantiated with the words of the failure, a few to an argument, so that compilers which */ \
    /* cannot say a computed text print them beside the sentence. */                                \
    template <motet::fixed_string... Words>                                                         \
    struct the_rule_is_broken {                                                                     \
      static_assert(motet::detail::is_kept<Words...>,                                               \
                    "motet: " sentence "; see the words of the_rule_is_broken [" code "]");         \
      static constexpr bool value = true;                                                           \
    };                                                                                              \
  };
#define MOTET_RULE_ROW(name, code, sentence, cause, remedy, ...) \
  {code, sentence, cause, remedy __VA_OPT__(, ) __VA_ARGS__},

// List(X) says X(name, code, sentence, cause, remedy) for each rule of a floor, and behind the remedy what
// its numbers count, where somebody who is told a bare number would ask: reason::name is what verdicts hold,
// and `table` has all rows for docs/errors.md.
#define MOTET_RULES_OF(List, table) \
  List(MOTET_RULE) namespace motet { inline constexpr message table[] = {List(MOTET_RULE_ROW)}; }

namespace motet {

// The answer of a rule. `where` is the position (layer, module, field) that broke it.
struct verdict {
  broken_rule why = reason::none;
  isize where = 0;
  isize got = 0;
  isize wanted = 0;
  constexpr bool ok() const { return why == reason::none; }
};

// The name with number `where` of those between bars: a position in a config is told by its name.
constexpr std::string_view name_at(std::string_view names, isize where) {
  for (; where > 0; --where) {
    const std::size_t bar = names.find('/');
    names.remove_prefix(bar == names.npos ? names.size() : bar + 1);
  }
  return names.substr(0, names.find('/'));
}

// A broken rule says this beside its sentence, at run time and to the compiler: "at 1: got 768, wanted 512";
// with the name of what is there, "caption: got 768, wanted 512". A rule may have words of its own, in which
// {where}, {got} and {wanted} stand for these, and other words in braces are an ending that a 1 before them
// does not have: "{where}: {got} rank{s}". Where a position is a part of a config, its names stand in order:
// "{where/.rank/.alpha}".
constexpr short_text numbers_of(const verdict& found, std::string_view name = {}) {
  short_text out;
  std::string_view words = "{where}: got {got}, wanted {wanted}";
  if (!found.ok() && found.why->numbers != nullptr) words = found.why->numbers;
  for (isize last = 0; !words.empty();) {
    const std::size_t begin = words.find('{');
    out += words.substr(0, begin);
    if (begin == words.npos) break;
    const std::size_t end = words.find('}', begin);
    const std::string_view word = words.substr(begin + 1, end - begin - 1);
    if (word == "got") out += last = found.got;
    else if (word == "wanted") out += last = found.wanted;
    else if (word.starts_with("where/")) out += name_at(word.substr(6), found.where);
    else if (word != "where") out += last == 1 ? std::string_view() : word;
    else if (name.empty()) (out += "at ") += found.where;
    else out += name;
    words = words.substr(end + 1);
  }
  return out;
}

// The whole message of a rule, the same words as an error's.
constexpr short_text message_of(broken_rule why, std::string_view detail) {
  short_text out;
  put_message(out, *why, detail);
  return out;
}

namespace detail {

template <broken_rule Why, class Text, std::size_t... Piece>
constexpr bool is_broken(std::index_sequence<Piece...>) {
  return said_of<Why>::template the_rule_is_broken<piece_of<Text, Piece>()...>::value;
}

template <verdict Verdict>
struct numbers_text {
  static constexpr short_text value = numbers_of(Verdict);
};

}  // namespace detail

// One funnel for typed code that has words of its own for what is wrong: Text::value is what an error would
// have as its detail.
template <broken_rule Why, class Text>
constexpr bool require_said() {
  if constexpr (Why == reason::none) return true;
  else {
#if MOTET_SAYS_COMPUTED_TEXT
    static_assert(Why == reason::none, message_of(Why, Text::value.view()));
    return false;
#else
    return detail::is_broken<Why, Text>(std::make_index_sequence<pieces(Text::value.view())>());
#endif
  }
}

// A rule of numbers alone is asked so: `static_assert(require<check(config)>);`
template <verdict Verdict>
inline constexpr bool require = require_said<Verdict.why, detail::numbers_text<Verdict>>();

// This asks the rule of values that arrive at run time.
inline void enforce(const verdict& found, const std::string& what) {
  if (found.ok()) return;
  const short_text numbers = numbers_of(found);
  fail(*found.why, numbers.length == 0 ? what : what + " (" + std::string(numbers.view()) + ")");
}

}  // namespace motet
