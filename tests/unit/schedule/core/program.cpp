// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/program.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// Two voices of two and one stages on three ranks, the middle one with nothing to do.
program small() {
  program made;
  voice first, second;
  first.stages = 2;
  first.microbatches = 3;
  second.module = 1;
  second.microbatches = 4;
  second.first_place = 2;
  second.first_cell = 6;
  made.voices = {first, second};
  made.places = {0, 2, 2};
  made.slots = {0, 0, 0};
  made.instructions = {{op::forward}, {op::backward}, {op::forward, 0, false, 0, 1}};
  made.starts = {0, 2, 2, 3};
  return made;
}
}  // namespace

TEST_CASE("roles are views of the list of a rank") {
  const program made = small();
  CHECK(made.ranks() == 3);
  CHECK(made.role(0).size() == 2);
  CHECK(made.role(1).size() == 0);
  CHECK(made.role(2)[0].voice == 1);
  int count = 0;
  for (const instruction& each : made.role(0))
    count += each.what == op::forward || each.what == op::backward ? 1 : 0;
  CHECK(count == 2);
}

TEST_CASE("the rank of an instruction, beside ranks with none") {
  const program made = small();
  CHECK(made.rank_of(0) == 0);
  CHECK(made.rank_of(1) == 0);
  CHECK(made.rank_of(2) == 2);
  program many;
  many.instructions.resize(100);
  many.starts = {0, 0, 10, 10, 10, 60, 60, 100, 100};
  for (int r = 0; r < many.ranks(); ++r)
    for (int i = many.starts[r]; i < many.starts[r + 1]; ++i) CHECK(many.rank_of(i) == r);
}

TEST_CASE("replicas meet in what adds to gradients, or in all that they compute") {
  voice sings;
  CHECK_FALSE(meets_replicas(sings, op::backward));
  sings.sums_each = true;
  for (const op what : {op::backward, op::backward_weight}) CHECK(meets_replicas(sings, what));
  for (const op what : {op::forward, op::backward_input}) CHECK_FALSE(meets_replicas(sings, what));
  sings.meets_each = true;
  for (const op what : {op::forward, op::forward_only, op::re_forward, op::backward_input, op::backward})
    CHECK(meets_replicas(sings, what));
  for (const op what : {op::join, op::send_forward, op::optimizer_step})
    CHECK_FALSE(meets_replicas(sings, what));
}

TEST_CASE("places and cells") {
  const program made = small();
  CHECK(made.place(made.voices[0], 1) == 2);
  CHECK(made.place(made.voices[1], 0) == 2);
  CHECK(made.cells() == 10);
  CHECK(program().cells() == 0);
  CHECK(program().ranks() == 0);
}

TEST_CASE("programs are values") {
  const program one = small();
  program other = one;
  CHECK(one == other);
  other.instructions[1].microbatch = 1;
  CHECK_FALSE(one == other);
}
