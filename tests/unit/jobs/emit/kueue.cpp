// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_decided.hpp"

#include <motet/jobs/emit/kueue.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the check of a job that runs is ready, and of one that waits pending") {
  const jobs_here on = small_jobs();
  const decided_here got(on, 3 * 3600.0);
  const kueue_rules rules{{2, 3}, "2026-11-25T13:00:00Z"};
  const json ready = kueue_admission(got.one(true), got.site, rules).at("admissionCheck");
  CHECK(ready.at("state").string() == "Ready");
  CHECK(ready.at("lastTransitionTime").string() == rules.now);
  CHECK(ready.at("podSetUpdates").items()[0].at("name").string() == "node");
  CHECK(kueue_admission(got.one(false), got.site, rules).at("admissionCheck").at("state").string() ==
        "Pending");
}

TEST_CASE("a pod is a node, and Kueue starts it") {
  const jobs_here on = small_jobs();
  decided_here got(on, 3 * 3600.0);
  got.site.levels = {"rack", "kubernetes.io/hostname"};
  const kueue_rules rules{{2, 3}, ""};
  const decided_job& of = got.one(true);
  const json list = kueue_job(of, got.site, "{}", rules);
  REQUIRE(list.at("items").items().size() == 2);
  CHECK(list.at("items").items()[0].at("data").at("plan.json").string() == "{}");
  const json& set = list.at("items").items()[1];
  CHECK(set.at("spec").at("suspend").boolean());
  const json& spec = set.at("spec").at("replicatedJobs").items()[0].at("template").at("spec");
  CHECK(spec.at("parallelism").integer() == of.has.nodes());
  CHECK(spec.at("completions").integer() == of.has.nodes());
  const json& pod = spec.at("template").at("spec");
  CHECK(pod.at("nodeSelector").at("motet/kind").string() == of.kind);
  CHECK(pod.at("containers").items()[0].at("resources").at("limits").at("nvidia.com/gpu").integer() ==
        of.has.per_node);
  CHECK(spec.at("template").at("metadata").at("annotations").members().size() == 1);
}

TEST_CASE("modules on nodes of their own are replicated jobs of their own") {
  plan of{.cluster = {.ranks = 16}, .modules = {}};
  of.modules.push(on_ranks("eye", 0, {.data = 4}));
  of.modules.push(on_ranks("talk", 6, {.stages = 5, .tensor = 2}));
  const std::vector<node_group> groups = groups_of(of, 4);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "eye");
  CHECK(groups[1].name == "talk");
  CHECK(groups[1].first == 1);
  CHECK(groups[1].nodes == 3);
  CHECK(groups_of(of, 8)[0].name == "eye-talk");

  const jobs_here on = small_jobs();
  decided_here got(on, 3 * 3600.0);
  decided_job job = got.one(true);
  job.has.devices = 16;
  job.has.per_node = 4;
  job.hosts = {"a", "b", "c", "d"};
  job.groups = groups;
  const kueue_rules rules{{2, 3}, ""};
  const json set = kueue_job(job, got.site, "{}", rules).at("items").items()[1];
  const auto jobs = set.at("spec").at("replicatedJobs").items();
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].at("name").string() == "eye");
  CHECK(jobs[1].at("template").at("spec").at("completions").integer() == 3);
  for (const json& each : jobs) {
    const json& container =
        each.at("template").at("spec").at("template").at("spec").at("containers").items()[0];
    // All meet at the first node of the first group, and each knows which node of all it is.
    const auto variables = container.at("env").items();
    const std::string set_name = kube_name(job.id);
    CHECK(variables[0].at("value").string() == "4");
    CHECK(variables[2].at("value").string() == set_name + "-eye-0-0." + set_name);
    const std::string first = each.at("name").string() == "eye" ? "0" : "1";
    CHECK(container.at("args").items()[0].string().find("PET_NODE_RANK=$((" + first + " + JOB") !=
          std::string::npos);
  }
  const json updates = kueue_admission(job, got.site, rules).at("admissionCheck").at("podSetUpdates");
  REQUIRE(updates.items().size() == 2);
  CHECK(updates.items()[0].at("nodeSelector").at("kubernetes.io/hostname").string() == "a");
  CHECK(updates.items()[1].at("annotations").at("motet/hosts").string() == "b,c,d");

  // Names of groups are names of Kubernetes, short, and two stay two.
  job.groups = {{"an_eye_with_a_long_name", 0, 1}, {"talk", 1, 2}, {"an_eye_with_a_long_name", 3, 1}};
  const std::vector<node_group> pods = kueue_pods(job);
  CHECK(pods[0].name.size() <= 16);
  CHECK(pods[0].name != pods[2].name);
}

TEST_CASE("Kubernetes reads the queues, each job that is there, and all states of the check") {
  const jobs_here on = small_jobs();
  decided_here got(on, 3 * 3600.0);
  const kueue_rules rules{{2, 3}, ""};
  decided_job& lost = got.decided.jobs.back();
  lost.status = job_status::dropped;
  decided_job& runs = *std::find_if(got.decided.jobs.begin(), got.decided.jobs.end(),
                                    [](const decided_job& each) { return each.runs(); });
  runs.plan = "plans/a.json";
  got.decided.plans.push_back({runs.plan, "{\"own\": 1}\n"});
  const std::vector<emitted_file> files = kueue_files(got.decided, on.cluster, got.site, rules);
  const auto has = [&](const std::string& path) {
    return std::any_of(files.begin(), files.end(),
                       [&](const emitted_file& each) { return each.path == path; });
  };
  CHECK(read_json(text_of(files, "queues.json")) == kueue_queues(on.cluster, got.site));
  const json checks = read_json(text_of(files, "admission.json"));
  REQUIRE(checks.at("workloads").items().size() == got.decided.jobs.size());
  const json& last = checks.at("workloads").items().back().at("admissionCheck");
  CHECK(last.at("state").string() == "Rejected");
  CHECK(last.at("message").string().starts_with("it does not run on "));
  for (const decided_job& each : got.decided.jobs)
    CHECK(has("jobs/" + kube_name(each.id) + ".json") == (each.status != job_status::dropped));
  CHECK(read_json(text_of(files, "jobs/" + kube_name(runs.id) + ".json"))
            .at("items")
            .items()[0]
            .at("data")
            .at("plan.json")
            .string() == "{\"own\": 1}\n");
  CHECK(text_of(files, "submit.sh").find("kubectl apply -f queues.json\n") != std::string::npos);
}
