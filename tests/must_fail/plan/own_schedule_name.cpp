// SPDX-License-Identifier: Apache-2.0
// expect: the library has a schedule of this name; give your own another one
#include <motet/plan/describe/plan.hpp>

using namespace motet;

struct mine {
#ifdef MOTET_BREAK
  static constexpr const char* name = "gpipe";
#else
  static constexpr const char* name = "mine";
#endif
  static constexpr verdict check(const pipeline_shape&) { return {}; }
  static constexpr score write(const pipeline_shape&) { return {}; }
};

int main() { return own_schedule_of<mine>() ? 0 : 1; }
