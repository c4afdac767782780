// SPDX-License-Identifier: Apache-2.0
// expect: a module that fills gaps stands before or behind one that leaves them.*MT-S21
#include <motet/plan/prove/check_plan.hpp>

using namespace motet;

constexpr verdict prove_chain() {
  list<module_facts> facts;
  facts.push({.name = "eye", .layers = 4, .meets = false});
  facts.push({.name = "talk", .layers = 2});
  facts[1].from.push(0);
  plan of{{.ranks = 2}, "1f1b", {}};
  module_plan eye = on_ranks("eye", 0, {.data = 2}, 2), talk = on_ranks("talk", 0, {.stages = 2}, 4);
  eye.group = talk.group = 1;
  eye.fills = true;
#ifdef MOTET_BREAK
  talk.fills = true;
#endif
  of.modules = {eye, talk};
  return prove_plan(of, facts, 8);
}

static_assert(require<prove_chain()>);
int main() {}
