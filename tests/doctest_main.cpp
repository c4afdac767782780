// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

unsigned chosen = 0;

// Counts the cases that the filters leave.
struct case_counter : doctest::IReporter {
  explicit case_counter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    chosen = stats.numTestCasesPassingFilters;
  }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

REGISTER_LISTENER("case_counter", 1, case_counter);

// A program holds the tests of several files, and each file's are chosen by its name. A run without any must
// not look like one that passed.
int main(int count, char** arguments) {
  doctest::Context context(count, arguments);
  const int status = context.run();
  if (context.shouldExit()) return status;
  if (chosen == 0) std::fprintf(stderr, "no test case was chosen by these arguments\n");
  return chosen == 0 ? 1 : status;
}
