// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/emit/decided_jobs.hpp>
#include <motet/jobs/emit/kueue_queues.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

struct kueue_rules {
  std::vector<int> final_codes{};  // of processes: who ends so ends alike again, and is not started again
  std::string now;                 // of the states of admission checks: 2026-11-25T13:00:00Z
};

// What a job's pods are: a set for each group of nodes that run the same modules, by the names of these.
inline std::vector<node_group> kueue_pods(const decided_job& of) {
  std::vector<node_group> out = of.groups;
  if (out.size() < 2) return {{"node", 0, of.has.nodes()}};
  for (std::size_t g = 0; g < out.size(); ++g) {
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(out.begin(), out.begin() + static_cast<isize>(g),
                         [&](const node_group& each) { return each.name == name; });
    };
    const std::string name = out[g].name;
    // Pods are called by the set, by this and by three numbers, in 63 letters.
    out[g].name = kube_name(name, 16);
    for (int again = 2; is_taken(out[g].name); ++again)
      out[g].name = kube_name(name + "-" + std::to_string(again), 16);
  }
  return out;
}

namespace detail {

// A process for each node starts the ranks of its devices, and says which node of all groups it is.
inline json kueue_container(const decided_job& of, const job_site& site, const std::vector<node_group>& pods,
                            const node_group& own, bool has_plan, json mounts) {
  const std::string name = kube_name(of.id);
  const isize nodes = of.has.nodes();
  json variables =
      json_list(json{{"name", "PET_NNODES"}, {"value", std::to_string(nodes)}},
                json{{"name", "PET_NPROC_PER_NODE"}, {"value", std::to_string(of.has.per_node)}});
  if (nodes > 1) {
    variables.push_back(
        json{{"name", "PET_MASTER_ADDR"}, {"value", name + "-" + pods[0].name + "-0-0." + name}});
    variables.push_back(json{{"name", "PET_MASTER_PORT"}, {"value", "29500"}});
    variables.push_back(
        json{{"name", "MOTET_TOKEN"},
             {"valueFrom", json{{"secretKeyRef", json{{"name", "motet-token"}, {"key", "token"}}}}}});
  }
  json limits;
  limits.set(site.kinds[as_size(of.has.kind)].resource, of.has.per_node);
  std::string script = "set -u\n";
  if (pods.size() > 1)
    script += "export PET_NODE_RANK=$((" + std::to_string(own.first) + " + JOB_COMPLETION_INDEX))\n";
  script += start_script(of, site, has_plan ? "/motet/plan.json" : "", "exec");
  // Nothing else: Kueue admits nobody who asks for what no flavor covers.
  return json{{"name", "train"},
              {"image", site.image},
              {"command", json_list(json("sh"), json("-c"))},
              {"args", json_list(json(std::move(script)))},
              {"env", std::move(variables)},
              {"resources", json{{"limits", std::move(limits)}}},
              {"volumeMounts", std::move(mounts)}};
}

inline json kueue_pod(const decided_job& of, const job_site& site, const std::vector<node_group>& pods,
                      const node_group& own, bool has_plan) {
  json mounts{json::array{}}, volumes{json::array{}};
  for (const auto& [claim, path] : site.claims) {
    mounts.push_back(json{{"name", claim}, {"mountPath", path}});
    volumes.push_back(json{{"name", claim}, {"persistentVolumeClaim", json{{"claimName", claim}}}});
  }
  if (has_plan) {
    mounts.push_back(json{{"name", "motet-plan"}, {"mountPath", "/motet"}});
    volumes.push_back(json{{"name", "motet-plan"}, {"configMap", json{{"name", kube_name(of.id)}}}});
  }
  json container = kueue_container(of, site, pods, own, has_plan, std::move(mounts));
  json out{{"spec", json{{"restartPolicy", "Never"},
                         {"terminationGracePeriodSeconds", 300},
                         {"nodeSelector", kube_labels(site.kinds[as_size(of.has.kind)])},
                         {"containers", json_list(std::move(container))},
                         {"volumes", std::move(volumes)}}}};
  if (!site.levels.empty()) {
    // One node is one domain of the lowest level; more are kept as near as may be.
    const bool is_one = of.has.nodes() == 1;
    json annotations;
    annotations.set(
        is_one ? "kueue.x-k8s.io/podset-required-topology" : "kueue.x-k8s.io/podset-preferred-topology",
        is_one ? site.levels.back() : site.levels.front());
    out.set("metadata", json{{"annotations", std::move(annotations)}});
  }
  return out;
}

inline json kueue_replicated_job(const node_group& own, const job_site& site, const kueue_rules& rules,
                                 json pod) {
  json spec{{"parallelism", own.nodes},
            {"completions", own.nodes},
            {"completionMode", "Indexed"},
            {"backoffLimit", 0}};
  if (!rules.final_codes.empty()) {
    json codes{json::array{}};
    for (const int each : rules.final_codes) codes.push_back(each);
    spec.set("podFailurePolicy",
             json{{"rules", json_list(json{{"action", "FailJob"},
                                           {"onExitCodes", json{{"containerName", "train"},
                                                                {"operator", "In"},
                                                                {"values", std::move(codes)}}}})}});
  }
  if (site.minutes > 0) spec.set("activeDeadlineSeconds", site.minutes * 60);
  spec.set("template", std::move(pod));
  return json{{"name", own.name}, {"replicas", 1}, {"template", json{{"spec", std::move(spec)}}}};
}

}  // namespace detail

// A job as a JobSet: a pod for each node, a replicated job for each group of nodes that run the same modules,
// and the plan as a ConfigMap. It is suspended; Kueue starts it.
inline json kueue_job(const decided_job& of, const job_site& site, const std::string& plan_text,
                      const kueue_rules& rules) {
  using detail::json_list;
  const std::string name = kube_name(of.id);
  const auto meta = [&](json more) {
    json out{{"name", name}, {"namespace", site.name_space}};
    for (const json::member each : more.members()) out.set(each.name, each.value);
    out.set("annotations", json{{"motet/job", of.id}});
    return out;
  };
  const std::vector<node_group> pods = kueue_pods(of);
  json jobs{json::array{}};
  for (const node_group& own : pods)
    jobs.push_back(detail::kueue_replicated_job(own, site, rules,
                                                detail::kueue_pod(of, site, pods, own, !plan_text.empty())));
  json set = detail::kube_object("jobset.x-k8s.io/v1alpha2", "JobSet", name);
  set.set("metadata", meta(json{{"labels", json{{"kueue.x-k8s.io/queue-name", site.queue}}}}));
  set.set(
      "spec",
      json{{"suspend", true},
           {"failurePolicy",
            json{{"maxRestarts", 20},
                 {"rules", json_list(json{{"name", "refused"},
                                          {"action", "FailJobSet"},
                                          {"onJobFailureReasons", json_list(json("PodFailurePolicy"))}})}}},
           {"replicatedJobs", std::move(jobs)}});
  json items{json::array{}};
  if (!plan_text.empty()) {
    json map = detail::kube_object("v1", "ConfigMap", name);
    map.set("metadata", meta(json(json::object{})));
    map.set("data", json{{"plan.json", plan_text}});
    items.push_back(std::move(map));
  }
  items.push_back(std::move(set));
  return detail::kube_list(std::move(items));
}

// An admission check answers this of a job: ready with the nodes that it shall be on, pending, or rejected.
// Where the site has levels Kueue itself says which nodes these are.
inline json kueue_admission(const decided_job& of, const job_site& site, const kueue_rules& rules) {
  const std::string devices = std::to_string(of.has.devices) + " " + of.kind;
  json state{{"name", detail::kueue_check}, {"lastTransitionTime", rules.now}};
  if (of.runs()) {
    const auto list_hosts = [&](isize first, isize count) {
      std::string out;
      for (isize n = first; n < first + count; ++n) out += (n == first ? "" : ",") + of.hosts[as_size(n)];
      return out;
    };
    state.set("state", "Ready");
    state.set("message", devices + " on " + list_hosts(0, std::ssize(of.hosts)));
    json updates{json::array{}};
    for (const node_group& each : kueue_pods(of)) {
      json update{{"name", each.name},
                  {"annotations", json{{"motet/hosts", list_hosts(each.first, each.nodes)}}}};
      if (site.levels.empty() && each.nodes == 1)
        update.set("nodeSelector", json{{"kubernetes.io/hostname", of.hosts[as_size(each.first)]}});
      updates.push_back(std::move(update));
    }
    state.set("podSetUpdates", std::move(updates));
  } else if (of.status == job_status::dropped) {
    state.set("state", "Rejected");
    state.set("message", "it does not run on " + devices + ", nor on what else it may have");
  } else {
    state.set("state", "Pending");
    state.set("message", "it waits for devices; asked for: " + devices);
  }
  return json{{"job", of.id},
              {"jobset", json{{"namespace", site.name_space}, {"name", kube_name(of.id)}}},
              {"admissionCheck", std::move(state)}};
}

// Kubernetes with Kueue and JobSet reads the queues, a list of objects for each job that is there, and the
// states of the admission check that starts them.
inline std::vector<emitted_file> kueue_files(const decided_jobs& of, const job_cluster& cluster,
                                             const job_site& site, const kueue_rules& rules) {
  std::vector<emitted_file> out;
  out.push_back({"queues.json", write_json(kueue_queues(cluster, site), 2) + "\n"});
  json admission{json::array{}};
  for (const decided_job& each : of.jobs) {
    admission.push_back(kueue_admission(each, site, rules));
    if (each.status == job_status::dropped) continue;
    std::string plan;
    for (const emitted_file& file : of.plans)
      if (file.path == each.plan) plan = file.text;
    out.push_back(
        {"jobs/" + kube_name(each.id) + ".json", write_json(kueue_job(each, site, plan, rules), 2) + "\n"});
  }
  out.push_back({"admission.json", write_json(json{{"workloads", std::move(admission)}}, 2) + "\n"});
  out.push_back({"submit.sh", "#!/bin/sh\nset -e\ncd " + shell_word(site.folder) +
                                  "\nkubectl apply -f queues.json\nkubectl apply -f jobs\n"});
  return with_decisions(of, std::move(out));
}

}  // namespace motet
