// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"

#include <motet/plan/cells/comm_table.hpp>

using namespace motet;

namespace {

uncertain timed(double seconds) { return {seconds, 0.01 * seconds, provenance::measured}; }

}  // namespace

TEST_CASE("times are exact on points, straight between them, and go on below the first one") {
  comm_table table;
  table.add(comm_kind::all_reduce, {1, 4, 1}, 100, timed(2));
  table.add(comm_kind::all_reduce, {1, 4, 1}, 300, timed(4));
  table.add(comm_kind::all_reduce, {1, 4, 1}, 400, timed(8));
  const auto at = [&](double bytes) { return table.seconds(comm_kind::all_reduce, {1, 4, 1}, bytes); };
  CHECK(at(300) == timed(4));
  CHECK(at(200).value == about(3));
  CHECK(at(200).from == provenance::interpolated);
  CHECK(at(200).bar > at(100).bar);
  CHECK(at(350).value == about(6));
  CHECK(at(50).value == about(1.5));
  CHECK(at(0) == uncertain{});
  CHECK(table.seconds(comm_kind::all_reduce, {1, 1, 1}, 100) == uncertain{});
}
TEST_CASE("beyond the table the largest volume counts as often as it goes in, each time slower, and a rest") {
  comm_table table;
  table.add(comm_kind::message, {1, 2, 1}, 100, timed(1));
  table.add(comm_kind::message, {1, 2, 1}, 200, timed(2));
  const uncertain found = table.seconds(comm_kind::message, {1, 2, 1}, 550);
  CHECK(found.value == about((2 * 2 + 1.5) * 1.1 * 1.1));
  CHECK(found.from == provenance::extrapolated);
}
TEST_CASE("a group without points takes those of the next larger one in as many or more nodes") {
  comm_table table;
  table.add(comm_kind::all_gather, {1, 8, 1}, 100, timed(3));
  table.add(comm_kind::all_gather, {2, 8, 1}, 100, timed(5));
  CHECK(table.seconds(comm_kind::all_gather, {1, 4, 1}, 100).value == 3);
  CHECK(table.seconds(comm_kind::all_gather, {1, 4, 1}, 100).bar > timed(3).bar);
  CHECK(table.seconds(comm_kind::all_gather, {2, 4, 1}, 100).value == 5);
  CHECK_THROWS_WITH_AS(table.seconds(comm_kind::all_gather, {4, 8, 1}, 100),
                       doctest::Contains("all_gather of 4 nodes with 8 devices each"), error);
  CHECK_THROWS_AS(table.seconds(comm_kind::all_reduce, {1, 4, 1}, 100), error);
}
TEST_CASE("a table from wires agrees with their formulas") {
  const cluster_facts on = wired_cluster(4, 4);
  const comm_table table = modelled_table(on, 16, 0.3);
  for (const comm_kind what :
       {comm_kind::all_reduce, comm_kind::all_gather, comm_kind::reduce_scatter, comm_kind::all_to_all})
    for (const group_layout& group : comm_groups(on, 16))
      for (const double bytes : {3e3, 1e6, 5e7, 3e9, 2e10}) {
        CAPTURE(name_of(what));
        const uncertain found = table.seconds(what, group, bytes);
        CHECK(found.value == about(modelled_seconds(what, group, bytes, on), 0.05));
        CHECK(found.relative_bar() == about(0.3, 0.2));
      }
  CHECK(comm_groups(on, 16).size() == 2 + 2 * 3);
  CHECK(table.seconds(comm_kind::message, {2, 1, 4}, 1e6).value ==
        about(modelled_seconds(comm_kind::message, {2, 1, 4}, 1e6, on), 0.01));
  CHECK(comm_volumes(comm_kind::message).size() < comm_volumes(comm_kind::all_reduce).size());
}
