// SPDX-License-Identifier: Apache-2.0
// expect: modules of an edge have equal data and tensor degrees and microbatches.*MT-S19
#include <motet/plan/prove/check_plan.hpp>

using namespace motet;

constexpr verdict prove_chain() {
  list<module_facts> facts;
  facts.push({.name = "eye", .meets = false});
  facts.push({.name = "talk"});
  facts[1].from.push(0);
  plan of{{.ranks = 4}, "1f1b", {}};
  of.modules.push(on_ranks("eye", 0, {.data = 2}));
#ifdef MOTET_BREAK
  of.modules.push(on_ranks("talk", 2, {.stages = 1, .data = 1}));
#else
  of.modules.push(on_ranks("talk", 2, {.data = 2}));
#endif
  return prove_plan(of, facts, 8);
}

static_assert(require<prove_chain()>);
int main() {}
