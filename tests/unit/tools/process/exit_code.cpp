// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/exit_code.hpp>

#include <motet/backend/core/messages.hpp>
#include <motet/data/messages.hpp>
#include <motet/format/messages.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/tools/messages.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

TEST_CASE("no two ways to end have one status, and the table names all") {
  std::set<int> seen;
  for (const exit_code& each : exit_codes) {
    CHECK(seen.insert(each.status).second);
    CHECK(exit_table().find(std::string(each.meaning) + "\n") != std::string::npos);
  }
}

TEST_CASE("each kind of error ends in its own way") {
  const auto status = [](const message& row) { return exit_code_of(error(row, "")).status; };
  CHECK(status(not_finite) == 1);
  CHECK(status(file_unwritable) == 1);
  CHECK(status(disk_full) == 1);
  CHECK(status(no_gpu) == 1);
  // Of a command line; and of data and settings that do not go together.
  for (const message& row : tools_messages)
    CHECK(status(row) == (std::string_view(row.code).starts_with("MT-X") ? 2 : 3));
  // Without any producer a run goes on later.
  for (const message& row : data_messages)
    CHECK(status(row) == (std::string_view(row.code) == producers_silent.code ? 138 : 3));
  CHECK(status(json_malformed) == 3);
  CHECK(status(checkpoint_damaged) == 3);
  CHECK(status(checkpoint_mismatch) == 3);
  CHECK(status(vocabulary_mismatch) == 3);
  CHECK(status(run_folder_in_use) == 3);
  CHECK(status(ranks_do_not_match) == 3);
  CHECK(status({"MT-P74", "", "", ""}) == 3);
  CHECK(status({"MT-S11", "", "", ""}) == 3);
  CHECK(status({"MT-J05", "", "", ""}) == 3);
  CHECK(status(gpu_memory_full) == 4);
  CHECK(exit_code_of(std::bad_alloc()).status == 4);
  CHECK(report_failure(std::bad_alloc()) == 4);
  CHECK(status(dropout_is_cut) == 3);
  CHECK(status(table_is_parted) == 3);
  CHECK(status(rank_waits_in_vain) == 138);
  CHECK(status(checkpoint_failed_elsewhere) == 138);
  // A rank that was stopped by another one ends as that did.
  const auto stopped = [](const char* why) { return exit_code_of(stopped_elsewhere(why)).status; };
  CHECK(stopped("rank 1 stopped because motet: damaged. Copy it again [MT-D03] at 7") == 3);
  CHECK(stopped("rank 2 stopped because motet: a rank waits [MT-R25]") == 138);
  CHECK(stopped("rank 2 stopped because of an error that it tells itself") == 138);
  CHECK(exit_code_of(std::runtime_error("anything")).status == 1);
}
