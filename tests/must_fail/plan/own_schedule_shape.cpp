// SPDX-License-Identifier: Apache-2.0
// expect: a plan is played by a schedule with a name, check\(\) and write\(\) of a pipeline_shape
#include <motet/plan/describe/plan.hpp>

using namespace motet;

// A plan knows of a module what pipeline_shape has, and not the numbers of this one.
struct mine {
  static constexpr const char* name = "mine";
#ifdef MOTET_BREAK
  struct shape {
    int rounds = 1;
  };
#else
  using shape = pipeline_shape;
#endif
  static constexpr verdict check(const shape&) { return {}; }
  static constexpr score write(const shape&) { return {}; }
};

int main() { return own_schedule_of<mine>() ? 0 : 1; }
