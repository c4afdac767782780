// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/emit/decided_jobs.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

namespace detail {

// Slurm's controller calls it for each job that is submitted. Jobs that stand in no table, and all jobs while
// the table cannot be read, are left to the rules of the site.
inline constexpr const char* slurm_plugin = R"lua(
local function decided()
  -- Where Lua is 5.1 the last two arguments are passed over.
  local made, why = loadfile(table_file, "t", {})
  if not made then
    slurm.log_error("motet: %s", why)
    return {}
  end
  local good, cells = pcall(made)
  if not good or type(cells) ~= "table" then
    slurm.log_error("motet: %s gives no table: %s", table_file, tostring(cells))
    return {}
  end
  return cells
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local name = job_desc.name
  local cell = name and decided()[name]
  if not cell then
    return slurm.SUCCESS
  end
  if cell.state == "dropped" then
    slurm.log_user("motet: the job runs nowhere as it is asked for")
    return slurm.ERROR
  end
  if cell.state == "waiting" then
    job_desc.priority = 0
    slurm.log_user("motet: the job is held until devices are free for it")
    return slurm.SUCCESS
  end
  job_desc.partition = cell.partition
  job_desc.features = cell.feature
  job_desc.req_nodes = cell.hosts
  job_desc.min_nodes = cell.nodes
  job_desc.max_nodes = cell.nodes
  job_desc.ntasks_per_node = cell.per_node
  job_desc.num_tasks = cell.nodes * cell.per_node
  job_desc.tres_per_node = cell.gres
  if cell.plan and job_desc.environment and not job_desc.environment["PLAN"] then
    job_desc.environment["PLAN"] = cell.plan
  end
  slurm.log_info("motet: %s runs on %s", name, cell.hosts)
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
)lua";

inline std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& each : words) out += (out.empty() ? "" : ",") + each;
  return out;
}

}  // namespace detail

// Slurm gets a script for each job that is there, a plug-in job_submit.lua with its table of what was
// decided, and submit.sh, which submits them all. Jobs that wait are submitted as held.
inline std::vector<emitted_file> slurm_files(const decided_jobs& of, const job_site& site) {
  std::vector<emitted_file> out;
  std::string table = "return {\n", submit = "#!/bin/sh\nset -e\ncd " + shell_word(site.folder) + "\n";
  for (const decided_job& each : of.jobs) {
    const site_kind& kind = site.kinds[as_size(each.has.kind)];
    const std::string plan = each.plan.empty() ? "" : site.folder + "/" + each.plan;
    const std::string per_node = std::to_string(each.has.per_node), nodes = std::to_string(each.has.nodes());
    const auto line = [](const char* name, const std::string& text) {
      return std::string("    ") + name + " = " + text + ",\n";
    };
    table += "  [" + lua_text(each.id) + "] = {\n";
    table += line("state", each.runs()                          ? "\"running\""
                           : each.status == job_status::dropped ? "\"dropped\""
                                                                : "\"waiting\"");
    if (each.runs()) {
      table += line("partition", lua_text(kind.partition)) + line("feature", lua_text(kind.feature)) +
               line("hosts", lua_text(detail::joined(each.hosts))) + line("nodes", nodes) +
               line("per_node", per_node) + line("gres", lua_text("gres/" + kind.gres + ":" + per_node));
      if (!plan.empty()) table += line("plan", lua_text(plan));
    }
    table += "  },\n";
    if (each.status == job_status::dropped) continue;

    std::string script = "#!/bin/bash\n";
    const auto option = [&](const std::string& what) { script += "#SBATCH --" + what + "\n"; };
    option("job-name=" + sbatch_value(each.id));
    option("partition=" + kind.partition);
    option("constraint=" + kind.feature);
    option("nodes=" + nodes);
    option("ntasks-per-node=" + per_node);
    option("cpus-per-task=" + std::to_string(kind.cores));
    option("gres=" + kind.gres + ":" + per_node);
    if (each.runs()) option("nodelist=" + detail::joined(each.hosts));
    else option("hold");
    if (!site.account.empty()) option("account=" + site.account);
    if (site.minutes > 0) option("time=" + std::to_string(site.minutes));
    option("requeue");
    option("open-mode=append");
    option("signal=USR1@300");
    script += "set -u\n" + start_script(each, site, plan, "srun --mpi=pmix") +
              "status=$?\n"
              "# From 128 on a run goes on from its checkpoint; 130 was somebody's wish.\n"
              "if [ $status -ge 128 ] && [ $status -ne 130 ]; then scontrol requeue \"$SLURM_JOB_ID\"; fi\n"
              "exit $status\n";
    const std::string path = "jobs/" + file_name_of(each.id) + ".sh";
    submit += "sbatch " + shell_word(path) + "\n";
    out.push_back({path, std::move(script)});
  }
  out.push_back({"cells.lua", table + "}\n"});
  out.push_back({"job_submit.lua",
                 "-- What motet's schedule_jobs decided, for Slurm's controller: JobSubmitPlugins=lua.\n"
                 "local table_file = " +
                     lua_text(site.folder + "/cells.lua") + "\n" + detail::slurm_plugin});
  out.push_back({"submit.sh", std::move(submit)});
  return with_decisions(of, std::move(out));
}

}  // namespace motet
