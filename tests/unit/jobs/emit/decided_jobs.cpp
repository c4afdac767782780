// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_decided.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what is decided is what stands in the world, job for job") {
  const jobs_here on = small_jobs();
  const decided_here got(on, 3 * 3600.0);
  std::size_t running = 0, waiting = 0;
  for (const decided_job& each : got.decided.jobs) {
    if (each.runs()) {
      ++running;
      CHECK(static_cast<std::int32_t>(each.hosts.size()) == each.has.nodes());
      CHECK(each.seconds > 0);
    } else {
      ++waiting;
      CHECK(each.hosts.empty());
    }
  }
  CHECK(running == got.world.running.size());
  CHECK(waiting == got.world.waiting.size());
  CHECK(running > 0);
  CHECK(waiting > 0);
  const json told = json_of(got.decided);
  CHECK(told.at("jobs").items().size() == got.decided.jobs.size());
  CHECK(told.at("at").number() <= 3 * 3600.0);
}

TEST_CASE("a job that is started again goes on from its checkpoint") {
  const job_site site = usual_site(small_jobs().cluster);
  decided_job job;
  job.id = "it's";
  const std::string with = start_script(job, site, "a b.json", "exec");
  CHECK(with.find("plan='a b.json'\n") != with.npos);
  CHECK(with.find("run='runs/it=27s'\n") != with.npos);
  CHECK(with.find("--resume") != with.npos);
  CHECK(with.ends_with("exec \"$@\"\n"));
}
