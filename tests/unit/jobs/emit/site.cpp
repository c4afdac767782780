// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/emit/site.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
const job_cluster lab{"lab", {{"fast", 2, 4, 40}, {"slow", 3, 2, 24}}};
}

TEST_CASE("what a site leaves out follows from the names of kinds") {
  const job_site usual = usual_site(lab);
  CHECK(usual.host(lab, 0) == "fast-0");
  CHECK(usual.host(lab, 4) == "slow-2");
  CHECK(usual.kinds[1].gres == "gpu:slow");
  const job_site read = read_job_site(
      R"({"queue": "gpus", "kinds": {"slow": {"partition": "old", "hosts": ["n1", "n2", "n3"], "cores": 6}}})",
      "site.json", lab);
  CHECK(read.queue == "gpus");
  CHECK(read.host(lab, 1) == "fast-1");
  CHECK(read.host(lab, 3) == "n2");
  CHECK(read.kinds[0].partition == "fast");
  CHECK(read.kinds[1].partition == "old");
  CHECK(read.kinds[1].cores == 6);
}

TEST_CASE("what no cluster could be called is refused with its place") {
  const auto refused = [&](const char* text, const char* says) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(read_job_site(text, "site.json", lab), doctest::Contains(says), error);
  };
  refused("[]", "site.json, the whole: got an array");
  refused(R"({"queues": "a"})", "site.json, queues: got queues, wanted command");
  refused(R"({"queue": "A b"})", "site.json, queue: got \"A b\"");
  refused(R"({"command": []})", "site.json, command: got no words");
  refused(R"({"command": [1]})", "site.json, command: got an integer, wanted a text");
  refused(R"({"runs": "a\nb"})", "site.json, runs: got a control character");
  refused(R"({"minutes": -1})", "site.json, minutes: got a number out of range");
  refused(R"({"levels": ["a b"]})", "site.json, levels: got \"a b\"");
  refused(R"({"claims": {"A": "/a"}})", "site.json, claims.A: got A");
  refused(R"({"kinds": {"tpu": {}}})", "site.json, kinds.tpu: got tpu, wanted kinds of lab: fast, slow");
  refused(R"({"kinds": {"fast": {"hosts": ["a"]}}})",
          "site.json, kinds.fast.hosts: got 1 names, wanted one for each of the 2 nodes");
  refused(R"({"kinds": {"fast": {"hosts": ["a", "a"]}}})", "\"a\" a second time");
  refused(R"({"kinds": {"fast": {"hosts": ["a", "b[1-9]"]}}})", "got \"b[1-9]\", wanted a name of a host");
  refused(R"({"kinds": {"fast": {"gres": "gpu:a:b"}}})", "site.json, kinds.fast.gres");
  refused(R"({"kinds": {"fast": {"labels": {}}}})", "got 0 labels");
  refused(R"({"kinds": {"fast": {"labels": {"a": "b c"}}}})", "site.json, kinds.fast.labels.a");
  refused(R"({"kinds": {"fast": {"colour": "b"}}})", "site.json, kinds.fast.colour: got colour");
  const job_cluster odd{"odd", {{"two words", 1, 1, 1}}};
  CHECK_THROWS_WITH_AS(require_site(usual_site(odd), odd), doctest::Contains("[MT-J31]"), error);
}
