// SPDX-License-Identifier: Apache-2.0
#include <motet/run/training_program.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

TEST_CASE("a model by its name, and the first one by any other") {
  CHECK(motet::find_model(scripted_program, "absent").name == "absent");
  CHECK((motet::find_model(scripted_program, "scripted").make == &make_scripted));
  CHECK(motet::find_model(scripted_program, "").name == "scripted");
}
