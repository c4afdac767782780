// SPDX-License-Identifier: Apache-2.0
// expect: motet: modules that meet in a join must have equal embedding widths; see the words of the_rule_is_broken [MT-M01]
// words: the_rule_is_broken<.*join_widths_differ,.*"at 1: its embedding has 768",.*"columns, that of the first 512"
// computed: equal embedding widths: at 1: its embedding has 768 columns, that of the first 512. set the same .embedding in every config of the join [MT-M01]
#include <motet/model/rules.hpp>

constexpr motet::verdict check_widths(motet::isize first, motet::isize second) {
  if (first == second) return {};
  return {motet::reason::join_widths_differ, 1, second, first};
}

#ifdef MOTET_BREAK
static_assert(motet::require<check_widths(512, 768)>);
#else
static_assert(motet::require<check_widths(512, 512)>);
#endif
