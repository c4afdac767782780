// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/csv/csv_sheet.hpp>

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::detail;

TEST_CASE("a plain file: a rank for each row, a cell for each thing to do") {
  const csv_sheet sheet =
      csv_sheet_reader("0F0,,0SEND_F0,0WAIT_SEND_F0\r\n1F0,(1F1;1B0)OVERLAP_F_B\r\n").read();
  CHECK_FALSE(sheet.headed);
  CHECK(sheet.voices.empty());
  CHECK(sheet.starts == std::vector<std::size_t>{0, 3});
  REQUIRE(sheet.actions.size() == 6);
  CHECK(sheet.end_of(0) == 3);
  CHECK(sheet.end_of(1) == 6);
  CHECK(sheet.actions[1].it == instruction{op::send_forward, lane::compute, false, 0, 0, 0, 0, -1});
  CHECK(sheet.actions[1].column == 3);
  CHECK(sheet.actions[2].wait);
  CHECK(sheet.actions[4].it.paired);
  CHECK(sheet.actions[5].it.what == op::backward);
  CHECK_FALSE(sheet.actions[5].it.paired);
  CHECK(sheet.actions[5].row == 2);
  CHECK(sheet.actions[5].column == 2);
}

TEST_CASE("a header names the voices, and cells then name theirs and their lanes") {
  const csv_sheet sheet =
      csv_sheet_reader(
          "motet,1,everything\n"
          "voice,\"name=a=b, c\",stages=2,chunks=2,microbatches=4,join=0,group=2,gathers_each,slots=3;1\n"
          "voice,module=1,replica=2,stages=1,microbatches=2,join=0,frozen,meets_each\n"
          "\n"
          "1:0f1,0:1R3@7,0JOIN1@1,1:0STEP\n")
          .read();
  CHECK(sheet.headed);
  CHECK_FALSE(sheet.computations_only);
  CHECK(sheet.first_row == 4);
  REQUIRE(sheet.voices.size() == 2);
  CHECK(sheet.voices[0].name.view() == "a=b, c");
  CHECK(sheet.voices[0].chunks == 2);
  CHECK(sheet.voices[0].group == 2);
  CHECK((sheet.voices[0].sums_each && sheet.voices[0].meets_each));
  CHECK((!sheet.voices[1].sums_each && sheet.voices[1].meets_each));
  CHECK(sheet.slots[0] == std::vector<std::int32_t>{3, 1});
  CHECK(sheet.slots[1].empty());
  CHECK(sheet.voices[1].module == 1);
  CHECK(sheet.voices[1].replica == 2);
  CHECK_FALSE(sheet.voices[1].learns);
  CHECK(sheet.starts == std::vector<std::size_t>{0, 0});
  REQUIRE(sheet.actions.size() == 4);
  CHECK(sheet.actions[0].it == instruction{op::forward_only, lane::compute, false, 0, 1, 0, 1, -1});
  CHECK(sheet.actions[1].it == instruction{op::re_forward, 7, false, 0, 0, 1, 3, -1});
  CHECK(sheet.actions[1].laned);
  CHECK(sheet.actions[2].it == instruction{op::join, lane::aside, false, 0, 0, -1, 1, -1});
  CHECK(sheet.actions[3].it == instruction{op::optimizer_step, lane::compute, false, 0, 1, 0, -1, -1});
}
