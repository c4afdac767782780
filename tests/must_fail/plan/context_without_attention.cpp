// SPDX-License-Identifier: Apache-2.0
// expect: context parallelism needs a net with attention.*MT-S07
#include <motet/plan/prove/check_plan.hpp>

using namespace motet;

// A module that works on each row alone.
constexpr verdict prove_mixer() {
  list<module_facts> facts;
  facts.push({.name = "mixer", .layers = 2, .attends = false});
  plan of{{.ranks = 2}, "gpipe", {}};
#ifdef MOTET_BREAK
  of.modules.push(on_ranks("mixer", 0, degrees{.context = 2}));
#else
  of.modules.push(on_ranks("mixer", 0, degrees{.data = 2}));
#endif
  return prove_plan(of, facts, 8);
}

static_assert(require<prove_mixer()>);
int main() {}
