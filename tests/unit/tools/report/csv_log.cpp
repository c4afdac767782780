// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/csv_log.hpp>

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("numbers stand under their columns, and what a line does not say stays empty") {
  const scratch folder;
  const auto path = folder / "deep" / "metrics.csv";
  csv_log log(path, "step,loss,accuracy");
  for (const char* each :
       {R"({"step": 1, "loss": 0.5, "name": "a,b"})", R"({"accuracy": 0.25, "step": 2})",
        R"({"name": 3, "loss": "none"})", R"({"step": 3, "loss": 1e-3, "accuracy": null})"})
    log.write(read_json(each, "here"));
  CHECK(mapped_file(path).text() == "step,loss,accuracy\n1,0.5,\n2,,0.25\n3,0.001,\n");
  csv_log().write(read_json("{\"step\": 1}", "here"));  // nowhere
}
