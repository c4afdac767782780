// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_decided.hpp"

#include <motet/jobs/emit/slurm.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("scripts ask for what was decided, and who waits is held") {
  const jobs_here on = small_jobs();
  const decided_here got(on, 3 * 3600.0);
  const std::vector<emitted_file> files = slurm_files(got.decided, got.site);
  const decided_job &runs = got.one(true), &waits = got.one(false);
  const std::string& script = text_of(files, "jobs/" + runs.id + ".sh");
  CHECK(script.starts_with("#!/bin/bash\n#SBATCH --job-name=\"" + runs.id + "\"\n"));
  CHECK(script.find("#SBATCH --nodelist=" + runs.hosts[0]) != script.npos);
  CHECK(script.find("#SBATCH --gres=gpu:" + runs.kind + ":" + std::to_string(runs.has.per_node) + "\n") !=
        script.npos);
  CHECK(script.find("--hold") == script.npos);
  const std::string& held = text_of(files, "jobs/" + waits.id + ".sh");
  CHECK(held.find("#SBATCH --hold\n") != held.npos);
  CHECK(held.find("--nodelist") == held.npos);
  const std::string& table = text_of(files, "cells.lua");
  CHECK(table.find("[\"" + waits.id + "\"] = {\n    state = \"waiting\",\n  }") != table.npos);
  CHECK(text_of(files, "job_submit.lua").find("function slurm_job_submit(job_desc, part_list, submit_uid)") !=
        std::string::npos);
}
