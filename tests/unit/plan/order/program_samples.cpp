// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/program_samples.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Voices alone: of each module its replicas and microbatches, and a join if it has one.
program voices_of(std::initializer_list<std::pair<int, int>> modules, std::int32_t join = -1) {
  program out;
  std::int32_t module = 0;
  for (const auto& [replicas, microbatches] : modules) {
    for (int r = 0; r < replicas; ++r) {
      voice own;
      own.module = module;
      own.replica = r;
      own.microbatches = microbatches;
      own.join = join;
      out.voices.push(own);
    }
    ++module;
  }
  return out;
}

}  // namespace

TEST_CASE("blocks are what no module cuts, and hands what the same replicas have") {
  const program of = voices_of({{4, 1}, {1, 3}});
  const program_samples samples(of, {sample_split{12, 1, 4, 1, {}}, sample_split{12, 3, 1, 1, {}}});
  // Cuts at 3, 6 and 9 of one, 4 and 8 of the other.
  const motet::isize ends[] = {3, 4, 6, 8, 9, 12};
  REQUIRE_EQ(samples.blocks().size(), 6);
  for (motet::isize b = 0; b < 6; ++b) CHECK_EQ(samples.blocks()[b].places.end, ends[b]);
  REQUIRE_EQ(samples.hands().size(), 4);
  for (motet::isize h = 0; h < 4; ++h) {
    CHECK_EQ(samples.hands()[h].places, 3);
    CHECK_EQ(samples.hands()[h].replicas, list<std::int32_t>{static_cast<std::int32_t>(h), 0});
  }
  CHECK_EQ(samples.hands()[1].blocks, list<std::int32_t>{1, 2});
  CHECK_EQ(samples.cells(), 7);
  CHECK_EQ(samples.cell_of(of.voices[2], 0), 2);
  CHECK_EQ(samples.cell_of(of.voices[4], 2), 6);
}

TEST_CASE("replicas take turns in the list where each microbatch is a group of its own") {
  const program of = voices_of({{2, 3}});
  const program_samples samples(of, {sample_split{12, 3, 2, 1, {}}});
  REQUIRE_EQ(samples.hands().size(), 2);
  CHECK_EQ(samples.hands()[0].blocks, list<std::int32_t>{0, 2, 4});
  CHECK_EQ(samples.cell_of(of.voices[1], 2), 5);
}

TEST_CASE("groups that a loss compares have hands of their own") {
  const program of = voices_of({{2, 4}}, 0);
  const list<sample_split> splits{sample_split{16, 2, 2, 2, {}}};
  CHECK_EQ(program_samples(of, splits).hands().size(), 2);
  const program_samples compared(of, splits, true);
  REQUIRE_EQ(compared.hands().size(), 4);
  CHECK_EQ(compared.meets(3), 0);
  CHECK_EQ(compared.meets(4), 1);
}

TEST_CASE("the work of a microbatch is that of its samples") {
  const program of = voices_of({{2, 2}, {1, 1}});
  const program_samples samples(of, {sample_split{8, 2, 2, 1, {}}, sample_split{8, 1, 1, 1, {}}});
  const step_headers each{8, {"a", "b"}, {}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1, 1, 1, 1}};
  list<double> work;
  samples.add_work(each, {7, 6, 5, 4, 3, 2, 1, 0}, work);
  CHECK_EQ(work, list<double>{15, 11, 7, 3, 8});
}

TEST_CASE("turns are those of the module with the fewest microbatches, with all blocks that they have") {
  const program of = voices_of({{2, 4}, {2, 2}});
  const program_samples samples(of, {sample_split{8, 4, 2, 1, {}}, sample_split{8, 2, 2, 1, {}}});
  CHECK(samples.rows_cross());
  const list<program_samples::turns> all = samples.turns_of_replicas();
  REQUIRE_EQ(all.size(), 2);
  CHECK_EQ(all[0], program_samples::turns{{0, 1}, {4, 5}});
  CHECK_EQ(all[1], program_samples::turns{{2, 3}, {6, 7}});
  const program alike = voices_of({{2, 2}, {2, 2}});
  const program_samples tied(alike, {sample_split{8, 2, 2, 1, {}}, sample_split{8, 2, 2, 1, {}}});
  CHECK_FALSE(tied.rows_cross());
  CHECK_EQ(tied.turns_of_replicas()[1], program_samples::turns{{1}, {3}});
}
