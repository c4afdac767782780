// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/run_logs.hpp>

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

json step(int at) {
  json line;
  line.set("step", at);
  line.set("loss", 0.5);
  return line;
}

}  // namespace

TEST_CASE(
    "each line goes to all that were asked for, what sums up to JSON alone, and a run that goes on keeps the "
    "start") {
  const scratch folder;
  const log_wishes to{(folder / "report").string(), (folder / "asked.jsonl").string(),
                      (folder / "events").string()};
  {
    run_logs logs(to);
    for (int at = 1; at <= 3; ++at) logs.write(step(at));
    json last = step(3);
    last.set("final", true);
    logs.sum_up(last);
  }
  for (const char* path : {"report/metrics.jsonl", "asked.jsonl"})
    CHECK(metrics_file::read_metrics(folder / path).size() == 4);
  const auto commas = [&] { return std::string(mapped_file(folder / "report/metrics.csv").text()); };
  CHECK(commas().find("\n3,0.5,") != std::string::npos);
  CHECK(folder.names("events").size() == 1);
  run_logs later(to, 2, true);
  CHECK(commas().find("\n2,0.5,") != std::string::npos);
  CHECK(commas().find("\n3,0.5,") == std::string::npos);
  later.write(step(3));
  CHECK(metrics_file::read_metrics(folder / "report/metrics.jsonl").size() == 3);
  CHECK(commas().find("\n3,0.5,") != std::string::npos);
}

TEST_CASE("the report's own metrics are not written twice, and without wishes nothing is") {
  const scratch folder;
  run_logs logs({(folder / "report").string(), (folder / "report" / "metrics.jsonl").string(), ""});
  logs.write(step(1));
  CHECK(metrics_file::read_metrics(folder / "report" / "metrics.jsonl").size() == 1);
  run_logs().write(step(1));
}

TEST_CASE("several losses have a column each") {
  const scratch folder;
  json line = step(1);
  line.set(name_of_part("next_token of talk"), 0.25);
  run_logs({folder.path().string(), "", ""}, 0, false, {"next_token of talk"}).write(line);
  const std::string commas(mapped_file(folder / "metrics.csv").text());
  CHECK(commas.find(",text_exact,loss/next_token of talk\n") != std::string::npos);
  CHECK(commas.find(",0.25\n") != std::string::npos);
}
