// SPDX-License-Identifier: Apache-2.0
// expect: only a vit or a text_tower tells what it costs
#include <motet/plan/describe/tower_of.hpp>

using namespace motet;

// A net that says nothing of its blocks.
struct mixer {
  static constexpr int config = 0;
};

#ifdef MOTET_BREAK
constexpr tower_outline of = outline_of<mixer>("mixer");
#else
constexpr tower_outline of = outline_of<vit<vit_config{}>>("picture");
#endif
static_assert(of.layers > 0);
int main() {}
