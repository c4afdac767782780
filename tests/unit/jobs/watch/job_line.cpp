// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/watch/job_line.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
const job_cluster lab{"lab", {{"fast", 2, 4, 40}, {"slow", 3, 2, 24}}};
}

TEST_CASE("each event is read with what belongs to it") {
  const job_site site = usual_site(lab);
  const job_line_reader reader(lab, site);
  const job_line made = reader.read(
      R"({"event": "submit", "job": "a", "model": "m__1B", "batch": 8, "iterations": 90, "kind": "slow", "devices": 4, "deadline": 7})",
      "f", 3);
  CHECK(made.event == job_event::submit);
  CHECK(made.job.kind == 1);
  CHECK(made.job.devices == 4);
  CHECK(made.job.iterations == 90);
  CHECK(made.job.line == 3);
  CHECK(made.deadline == 7);
  CHECK(made.time == -1);
  CHECK(reader.read(R"({"event": "lost", "node": "slow-1", "time": 5})", "f", 1).node == 3);
  CHECK(reader.read(R"({"event": "progress", "job": "a", "left": 12.5})", "f", 1).left == 12.5);
}

TEST_CASE("what is no line is refused with its place and what is wrong") {
  const job_site site = usual_site(lab);
  const job_line_reader reader(lab, site);
  const auto refused = [&](const char* text, const char* says) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(reader.read(text, "f", 7), doctest::Contains(says), error);
  };
  refused("{", "f, line 7 line 1 column 2");
  refused("[]", "f, line 7: got an array");
  refused("{}", "f, line 7: has no \"event\"");
  refused(R"({"event": "finished", "job": "a"})", "did you mean finish");
  refused(R"({"event": "finish"})", "f, line 7: has no \"job\"");
  refused(R"({"event": "finish", "job": ""})", "[MT-J31]");
  refused(R"({"event": "finish", "job": "a", "left": 3})", "left; there are event, time, job");
  refused(R"({"event": "progress", "job": "a", "left": -3})", "f, line 7, left: got a number out of range");
  refused(R"({"event": "lost", "node": "slow-9"})", "f, line 7, node: got \"slow-9\"");
  refused(R"({"event": "lost", "node": "slow-1", "time": "now"})", "f, line 7, time: got a string");
  const char* const job =
      R"({"event": "submit", "job": "a", "model": "m__1B", "batch": 8, "iterations": 9, "kind": "%", "devices": 4})";
  std::string other = job;
  refused(other.replace(other.find('%'), 1, "tpu").c_str(), "[MT-J04]");
  other = job;
  other.replace(other.find("4}"), 1, "3");
  refused(other.replace(other.find('%'), 1, "slow").c_str(), "[MT-J06]");
}
