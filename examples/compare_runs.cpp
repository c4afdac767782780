// SPDX-License-Identifier: Apache-2.0

// Draws the curves of several training runs over the same axes, and tells what they came to and which of
// their settings differ.
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>
#include <motet/tools/report/run_charts.hpp>

#include <cstdio>

namespace motet::compare {
namespace {

int run(int count, char** words) {
  std::vector<std::string> folders;
  std::string output = "compared.html";
  options line("compare_runs", "draws the curves of several training runs over the same axes");
  line.texts("--run", folders, "FOLDER",
             "of a report, as train_clip and train_vlm write it; once for each run");
  line.text("--output", output, "FILE.html", "the page, which needs no other file and no network");
  try {
    if (!line.parse(count, words))
      return std::fputs((line.help() + exit_table()).c_str(), stdout) < 0 ? 1 : 0;
    if (folders.size() < 2) fail(option_missing, "--run, at least twice");
    std::vector<told_run> runs;
    for (const std::string& each : folders) runs.push_back(read_run(each));
    const report_page page = compare_runs(runs);
    write_report(output, page);
    for (const auto& [name, values] : page.facts) std::printf("%-26s %s\n", name.c_str(), values.c_str());
    std::printf("report %s\n", output.c_str());
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem, "compare_runs");
  }
}

}  // namespace
}  // namespace motet::compare

int main(int count, char** words) { return motet::compare::run(count, words); }
