// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/jobs/emit/site.hpp>
#include <motet/jobs/files/cell_times.hpp>
#include <motet/jobs/world/world.hpp>
#include <motet/plan/files/plan_json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A file that is written for somebody, by its place in a folder.
struct emitted_file {
  std::string path, text;
};

// Nodes that follow each other and run the same modules.
struct node_group {
  std::string name;  // of the modules; "node" where nobody knows them
  isize first = 0, nodes = 0;
};

struct decided_job {
  std::string id, model;
  isize batch = 0;
  job_status status = job_status::unknown;  // running, waiting or dropped
  allotment has;                            // what it runs on; else what it asked for
  std::string kind;                         // of these devices
  std::vector<std::string> hosts;           // of the nodes that it runs on, in their order
  std::vector<node_group> groups;           // of these nodes, by what runs on them; empty: all are alike
  double seconds = 0;                       // of an iteration
  std::string plan;                         // the path of its plan's file; empty where nobody knows one

  bool runs() const { return status == job_status::running; }
};

// Decided jobs are what a policy decided of all jobs that are there: who runs and who waits, in the order in
// which they were submitted, and the plans of those who run.
struct decided_jobs {
  double at = 0;  // seconds from the first submission
  std::vector<decided_job> jobs;
  std::vector<emitted_file> plans;
};

// The nodes of a plan by the modules that they run, with `per_node` ranks on each.
inline std::vector<node_group> groups_of(const plan& of, isize per_node) {
  std::vector<node_group> out;
  std::vector<bool> before;
  for (isize node = 0; node * per_node < of.cluster.ranks; ++node) {
    std::vector<bool> here;
    std::string name;
    for (const module_plan& each : of.modules) {
      const list<std::int32_t>& on = each.on.ranks();
      here.push_back(
          std::any_of(on.begin(), on.end(), [&](std::int32_t rank) { return rank / per_node == node; }));
      if (here.back()) name += (name.empty() ? "" : "-") + std::string(each.name.view());
    }
    if (out.empty() || here != before) out.push_back({name.empty() ? "idle" : name, node, 0});
    ++out.back().nodes;
    before = std::move(here);
  }
  return out;
}

// As a world stands. Where times come from cells, each job that runs has the plan of its cell. Throws MT-J31.
inline decided_jobs decided_in(const job_world& world, const job_site& site, double began,
                               const cell_times* cells = nullptr, const std::vector<job_model>& models = {}) {
  const job_cluster& cluster = world.speeds.cluster();
  decided_jobs out;
  out.at = world.now - began;
  for (std::size_t j = 0; j < world.jobs.size(); ++j) {
    const job_state& state = world.jobs[j];
    const traced_job& from = world.traced[j];
    if (state.status == job_status::unknown || state.status == job_status::finished) continue;
    require_job_name(from.id);
    decided_job made{from.id, from.model, from.batch, state.status, state.asked, "", {}, {}, 0, ""};
    if (made.runs()) {
      made.has = state.has;
      for (const occupancy::piece& each : world.places.pieces(static_cast<std::int32_t>(j)))
        made.hosts.push_back(site.host(cluster, each.node));
    }
    const device_group& kind = cluster.kinds[as_size(made.has.kind)];
    made.kind = kind.kind;
    made.seconds = world.speeds.best_seconds(state.shape, made.has);
    const cell_row* const row = cells == nullptr || !made.runs()
                                    ? nullptr
                                    : cells->find(from.model, from.batch, kind.kind, made.has.devices);
    if (row != nullptr) {
      made.plan = "plans/" + file_name_of(from.model) + "." + std::to_string(from.batch) + "." +
                  file_name_of(kind.kind) + "." + std::to_string(made.has.devices) + ".json";
      const bool known = std::any_of(out.plans.begin(), out.plans.end(),
                                     [&](const emitted_file& each) { return each.path == made.plan; });
      const auto model = std::find_if(models.begin(), models.end(),
                                      [&](const job_model& each) { return each.name == from.model; });
      if (model != models.end()) {
        const plan by = plan_of(row->proxy, row->layers, model->shape, cluster_of(row->cell, facts_of(kind)));
        made.groups = groups_of(by, made.has.per_node);
        if (!known) out.plans.push_back({made.plan, write_json(plan_json(by), 2) + "\n"});
      }
    }
    out.jobs.push_back(std::move(made));
  }
  return out;
}

// Adapters to other clusters read this JSON.
inline json json_of(const decided_jobs& of) {
  json out, jobs{json::array{}};
  out.set("at", of.at);
  for (const decided_job& each : of.jobs) {
    json one;
    one.set("job", each.id);
    one.set("state", each.runs() ? "running" : each.status == job_status::dropped ? "dropped" : "waiting");
    one.set("model", each.model);
    one.set("batch", each.batch);
    one.set("kind", each.kind);
    one.set("devices", each.has.devices);
    one.set("per_node", each.has.per_node);
    json hosts{json::array{}};
    for (const std::string& host : each.hosts) hosts.push_back(host);
    one.set("hosts", std::move(hosts));
    one.set("iteration_seconds", each.seconds);
    if (!each.plan.empty()) one.set("plan", each.plan);
    jobs.push_back(std::move(one));
  }
  out.set("jobs", std::move(jobs));
  return out;
}

// A job is started by a script of a shell that goes on from the last checkpoint where there is one. `PLAN` in
// its environment is another plan than the decided one. `run_by` stands in front of "$@".
inline std::string start_script(const decided_job& of, const job_site& site, const std::string& plan,
                                std::string_view run_by) {
  std::string out = "plan=" + (plan.empty() ? "" : shell_word(plan)) +
                    "\nif [ -n \"${PLAN:-}\" ]; then plan=$PLAN; fi\nrun=" +
                    shell_word(site.runs + "/" + file_name_of(of.id)) + "\nset --";
  for (const std::string& word : site.command) out += " " + shell_word(word);
  return out +
         " --checkpoint \"$run\" --save-every 500\n"
         "if [ -n \"$plan\" ]; then set -- \"$@\" --plan \"$plan\"; fi\n"
         "for each in \"$run\"/step-*/index.json; do\n"
         "  if [ -f \"$each\" ]; then set -- \"$@\" --resume; break; fi\n"
         "done\n" +
         std::string(run_by) + " \"$@\"\n";
}

// All files of one kind of cluster, with what they have in common.
inline std::vector<emitted_file> with_decisions(const decided_jobs& of, std::vector<emitted_file> made) {
  made.insert(made.end(), of.plans.begin(), of.plans.end());
  made.push_back({"decisions.json", write_json(json_of(of), 2) + "\n"});
  return made;
}

}  // namespace motet
