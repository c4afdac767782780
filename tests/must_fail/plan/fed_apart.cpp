// SPDX-License-Identifier: Apache-2.0
// expect: modules of an edge have context 1.*MT-S19
#include <motet/plan/prove/check_plan.hpp>

using namespace motet;

constexpr verdict prove_chain() {
  list<module_facts> facts;
  facts.push({.name = "eye", .meets = false});
  facts.push({.name = "talk"});
  facts[1].from.push(0);
  plan of{{.ranks = 6}, "1f1b", {}};
  of.modules.push(on_ranks("eye", 0, {.data = 3}));
#ifdef MOTET_BREAK
  of.modules.push(on_ranks("talk", 3, {.context = 2}));
  return prove_plan(of, facts, 12);
#else
  of.modules.push(on_ranks("talk", 3, {.data = 2}));
  return prove_plan(of, facts, 12);
#endif
}

static_assert(require<prove_chain()>);
int main() {}
