// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/profiled_module.hpp>

#include <doctest/doctest.h>

#include <stdexcept>

using namespace motet;

TEST_CASE("the first module of a name is found, and where none has it all are named") {
  const list<module_facts> known{
      {.name = "eye", .layers = 4}, {.name = "talk"}, {.name = "eye", .layers = 2}};
  const auto refuse = [](const std::string& what) { throw std::runtime_error(what); };
  CHECK(&profiled_module(known, "eye", refuse) == &known[0]);
  CHECK(&profiled_module(known, "talk", refuse) == &known[1]);
  CHECK_THROWS_WITH(profiled_module(known, "ear", refuse), ", wanted one of eye, talk, eye");
}
