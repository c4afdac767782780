// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/metrics.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <fstream>

using namespace motet;

namespace {
json line(int step, double loss) {
  json out;
  out.set("step", step);
  out.set("loss", loss);
  return out;
}
}  // namespace

TEST_CASE("lines are there as soon as they are written") {
  const scratch folder;
  const auto path = folder / "deep" / "metrics.jsonl";
  metrics_file out(path);
  out.write(line(1, 0.5));
  const auto read = metrics_file::read_metrics(path);
  REQUIRE(read.size() == 1);
  CHECK(read[0].at("loss").number() == 0.5);
  metrics_file().write(line(1, 1));  // nowhere
}

TEST_CASE("a run that goes on keeps the lines up to its checkpoint") {
  const scratch folder;
  const auto path = folder / "metrics.jsonl";
  {
    metrics_file out(path);
    for (int step = 1; step <= 5; ++step) out.write(line(step, step));
    json last = line(3, 9);
    last.set("final", true);
    out.write(last);
  }
  {
    std::ofstream cut(path, std::ios::app);
    cut << "{\"step\": 6, \"lo";
  }
  metrics_file out(path, 3);
  out.write(line(4, 40));
  const auto read = metrics_file::read_metrics(path);
  REQUIRE(read.size() == 4);
  CHECK(read[2].at("step").integer() == 3);
  CHECK(read[3].at("loss").number() == 40);
  metrics_file anew(path);
  CHECK(metrics_file::read_metrics(path).empty());
}
