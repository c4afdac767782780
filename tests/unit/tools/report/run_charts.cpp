// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/run_charts.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

told_run run(std::string name, double loss) {
  told_run out{std::move(name), {}};
  for (int step = 1; step <= 4; ++step) {
    json line;
    line.set("step", step);
    line.set("loss", loss / step);
    line.set("memory_bytes", 2000000000);
    line.set("skipped", 0);
    out.lines.push_back(std::move(line));
  }
  json tested;
  tested.set("step", 4);
  tested.set("validation_loss", 2 * loss);
  tested.set("zero_shot_accuracy", 0.5);
  out.lines.push_back(tested);
  tested.set("final", true);
  tested.set("step", 5);
  out.lines.push_back(std::move(tested));
  out.settings.set("lr", loss + 0.5);
  out.settings.set("batch", 8);
  return out;
}
const report_chart* chart(const std::vector<report_chart>& among, std::string_view title) {
  for (const report_chart& each : among)
    if (each.config.title == title) return &each;
  return nullptr;
}

}  // namespace

TEST_CASE("a run's metrics become charts, held-out samples beside those that are trained on") {
  const std::vector<told_run> one{run("one", 8)};
  const std::vector<report_chart> all = charts_of(one);
  CHECK(all.size() == 3);
  const report_chart* const loss = chart(all, "Loss");
  REQUIRE(loss != nullptr);
  REQUIRE(loss->series.size() == 2);
  CHECK(loss->series[0].name == "training");
  CHECK(loss->series[0].points == chart_points{{1, 8}, {2, 4}, {3, 8.0 / 3}, {4, 2}});
  CHECK(loss->series[1].name == "held out");
  CHECK(loss->series[1].points == chart_points{{4, 16}});
  CHECK(chart(all, "Memory, GB")->series[0].points[0].second == doctest::Approx(2));
  CHECK(chart(all, "Skipped samples") == nullptr);
  CHECK(chart(all, "Zero-shot accuracy")->config.percent);
}

TEST_CASE("several losses have a chart of their own behind that of their sum") {
  std::vector<told_run> runs{run("one", 8), run("other", 4)};
  for (json& line : runs[0].lines)
    if (line.find("loss") != nullptr)
      for (const char* const each : {"next_token of talk", "info_nce of picture and caption"})
        line.set(name_of_part(each), *each == 'n' ? 3 : 5);
  const std::vector<report_chart> all = charts_of(runs);
  REQUIRE(all.size() == 4);
  CHECK(all[1].config.title == "Each loss by itself");
  REQUIRE(all[1].series.size() == 2);
  CHECK(all[1].series[0].name == "one, next_token of talk");
  CHECK(all[1].series[1].points.back() == std::pair(4.0, 5.0));
  CHECK(charts_of({runs.data(), 1})[1].series[1].name == "info_nce of picture and caption");
}

TEST_CASE("two runs share each chart, and what differs between them is told") {
  const std::vector<told_run> two{run("one", 8), run("other", 4)};
  const report_page page = compare_runs(two);
  REQUIRE(page.charts.size() == 3);
  CHECK(page.charts[0].series.size() == 4);
  CHECK(page.charts[0].series[2].name == "other");
  CHECK(page.charts[0].series[3].name == "other, held out");
  CHECK(page.charts[1].series[1].name == "other");
  const std::string html = render_report(page);
  CHECK(html.find("<td>--lr</td><td>one: 8.5; other: 4.5</td>") != std::string::npos);
  CHECK(html.find("--batch") == std::string::npos);
  CHECK(html.find("<td>last loss</td><td>one: 2; other: 1</td>") != std::string::npos);
  CHECK(html.find("<td>last zero_shot_accuracy</td><td>one: 0.5; other: 0.5</td>") != std::string::npos);
}

TEST_CASE("a run is read from the folder of its report, with or without settings") {
  const scratch folder;
  {
    metrics_file out(folder / "metrics.jsonl");
    for (const json& line : run("", 1).lines) out.write(line);
  }
  const told_run bare = read_run(folder / "");
  CHECK(bare.lines.size() == 6);
  CHECK(bare.settings.members().size() == 0);
  write_file(folder / "config.json", "{\"batch\": 4}");
  CHECK(read_run(folder / "").settings.at("batch").integer() == 4);
  CHECK_THROWS_AS(read_run(folder / "nowhere"), error);
}
