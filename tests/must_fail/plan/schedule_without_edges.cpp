// SPDX-License-Identifier: Apache-2.0
// expect: this schedule has no order for modules that feed others.*MT-S18
#include <motet/plan/prove/check_plan.hpp>

using namespace motet;

constexpr verdict prove_chain() {
  list<module_facts> facts;
  facts.push({.name = "eye", .meets = false});
  facts.push({.name = "talk"});
  facts[1].from.push(0);
#ifdef MOTET_BREAK
  plan of{{.ranks = 2}, "batch_sync", {}};
#else
  plan of{{.ranks = 2}, "zb_h1", {}};
#endif
  of.modules.push(on_ranks("eye", 0, {}));
  of.modules.push(on_ranks("talk", 1, {}));
  return prove_plan(of, facts, 8);
}

static_assert(require<prove_chain()>);
int main() {}
