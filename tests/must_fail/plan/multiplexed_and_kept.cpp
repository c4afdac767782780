// SPDX-License-Identifier: Apache-2.0
// expect: a multiplexed module keeps what its distance asks for.*MT-S33
#include <motet/plan/prove/check_plan.hpp>

using namespace motet;

constexpr verdict prove_chain() {
  list<module_facts> facts;
  facts.push({.name = "eye", .layers = 4, .meets = false});
  facts.push({.name = "talk", .layers = 2});
  facts[1].from.push(0);
  plan of{{.ranks = 3}, "1f1b", {}};
  module_plan eye = on_ranks("eye", 0, {.data = 2}, 4), talk = on_ranks("talk", 0, {.stages = 2}, 4);
  eye.group = talk.group = 1;
  eye.multiplexed = true;
#ifdef MOTET_BREAK
  eye.fills = true;
#endif
  of.modules = {eye, talk};
  return prove_plan(of, facts, 8);
}

static_assert(require<prove_chain()>);
int main() {}
