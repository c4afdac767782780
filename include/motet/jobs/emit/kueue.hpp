// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/emit/decided_jobs.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

struct kueue_rules {
  std::vector<int> final_codes{};  // of processes: who ends so ends alike again, and is not started again
  std::string now;                 // of the states of admission checks: 2026-11-25T13:00:00Z
};

namespace detail {

inline json kube_object(const char* version, const char* kind, const std::string& name) {
  return json{{"apiVersion", version}, {"kind", kind}, {"metadata", json{{"name", name}}}};
}
inline json kube_list(json items) {
  return json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
}
template <class... Items>
json json_list(Items... items) {
  json out{json::array{}};
  (out.push_back(std::move(items)), ...);
  return out;
}
inline json kube_labels(const site_kind& of) {
  json out;
  for (const auto& [label, is] : of.labels) out.set(label, is);
  return out;
}

inline constexpr const char* kueue_version = "kueue.x-k8s.io/v1beta2";
inline constexpr const char* kueue_check = "motet";

}  // namespace detail

// The queues that the cluster makes: a flavor for each kind, with its labels and as many devices as it has,
// an admission check that who reads admission.json answers, and levels of topology where the site has some.
inline json kueue_queues(const job_cluster& cluster, const job_site& site) {
  using detail::json_list;
  const auto object = [](const char* kind, const std::string& name, json spec) {
    json out = detail::kube_object(detail::kueue_version, kind, name);
    out.set("spec", std::move(spec));
    return out;
  };
  json items{json::array{}}, groups{json::array{}};
  if (!site.levels.empty()) {
    json levels{json::array{}};
    for (const std::string& each : site.levels) levels.push_back(json{{"nodeLabel", each}});
    items.push_back(object("Topology", site.queue, json{{"levels", std::move(levels)}}));
  }
  items.push_back(
      object("AdmissionCheck", detail::kueue_check, json{{"controllerName", "motet/schedule-jobs"}}));
  std::vector<std::string> resources;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const site_kind& kind = site.kinds[k];
    json spec{{"nodeLabels", detail::kube_labels(kind)}};
    if (!site.levels.empty()) spec.set("topologyName", site.queue);
    items.push_back(object("ResourceFlavor", kind.flavor, std::move(spec)));
    if (std::find(resources.begin(), resources.end(), kind.resource) == resources.end())
      resources.push_back(kind.resource);
  }
  // A group covers one resource; kinds with the same one are its flavors.
  for (const std::string& each : resources) {
    json flavors{json::array{}};
    for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
      if (site.kinds[k].resource == each)
        flavors.push_back(json{
            {"name", site.kinds[k].flavor},
            {"resources",
             json_list(json{{"name", each}, {"nominalQuota", std::to_string(cluster.kinds[k].devices())}})}});
    groups.push_back(json{{"coveredResources", json_list(json(each))}, {"flavors", std::move(flavors)}});
  }
  items.push_back(object("ClusterQueue", site.queue,
                         json{{"namespaceSelector", json(json::object{})},
                              {"resourceGroups", std::move(groups)},
                              {"admissionChecksStrategy",
                               json{{"admissionChecks", json_list(json{{"name", detail::kueue_check}})}}}}));
  json local = object("LocalQueue", site.queue, json{{"clusterQueue", site.queue}});
  local.set("metadata", json{{"name", site.queue}, {"namespace", site.name_space}});
  items.push_back(std::move(local));
  return detail::kube_list(std::move(items));
}

// A job as a JobSet: a pod for each node, whose process starts the ranks of its devices, and the plan as a
// ConfigMap. It is suspended; Kueue starts it.
inline json kueue_job(const decided_job& of, const job_site& site, const std::string& plan_text,
                      const kueue_rules& rules) {
  using detail::json_list;
  const site_kind& kind = site.kinds[as_size(of.has.kind)];
  const std::string name = kube_name(of.id);
  const isize nodes = of.has.nodes();
  const auto meta = [&](json more) {
    json out{{"name", name}, {"namespace", site.name_space}};
    for (const json::member each : more.members()) out.set(each.name, each.value);
    out.set("annotations", json{{"motet/job", of.id}});
    return out;
  };
  json variables =
      json_list(json{{"name", "PET_NNODES"}, {"value", std::to_string(nodes)}},
                json{{"name", "PET_NPROC_PER_NODE"}, {"value", std::to_string(of.has.per_node)}});
  if (nodes > 1) {
    variables.push_back(json{{"name", "PET_MASTER_ADDR"}, {"value", name + "-node-0-0." + name}});
    variables.push_back(json{{"name", "PET_MASTER_PORT"}, {"value", "29500"}});
    variables.push_back(
        json{{"name", "MOTET_TOKEN"},
             {"valueFrom", json{{"secretKeyRef", json{{"name", "motet-token"}, {"key", "token"}}}}}});
  }
  json mounts{json::array{}}, volumes{json::array{}};
  for (const auto& [claim, path] : site.claims) {
    mounts.push_back(json{{"name", claim}, {"mountPath", path}});
    volumes.push_back(json{{"name", claim}, {"persistentVolumeClaim", json{{"claimName", claim}}}});
  }
  if (!plan_text.empty()) {
    mounts.push_back(json{{"name", "motet-plan"}, {"mountPath", "/motet"}});
    volumes.push_back(json{{"name", "motet-plan"}, {"configMap", json{{"name", name}}}});
  }
  json limits;
  limits.set(kind.resource, of.has.per_node);
  // Nothing else: Kueue admits nobody who asks for what no flavor covers.
  json container{
      {"name", "train"},
      {"image", site.image},
      {"command", json_list(json("sh"), json("-c"))},
      {"args", json_list(json("set -u\n" +
                              start_script(of, site, plan_text.empty() ? "" : "/motet/plan.json", "exec")))},
      {"env", std::move(variables)},
      {"resources", json{{"limits", std::move(limits)}}},
      {"volumeMounts", std::move(mounts)}};
  json pod{{"restartPolicy", "Never"},
           {"terminationGracePeriodSeconds", 300},
           {"nodeSelector", detail::kube_labels(kind)},
           {"containers", json_list(std::move(container))},
           {"volumes", std::move(volumes)}};
  json pods{{"spec", std::move(pod)}};
  if (!site.levels.empty()) {
    // One node is one domain of the lowest level; more are kept as near as may be.
    const char* const wish =
        nodes == 1 ? "kueue.x-k8s.io/podset-required-topology" : "kueue.x-k8s.io/podset-preferred-topology";
    json annotations;
    annotations.set(wish, nodes == 1 ? site.levels.back() : site.levels.front());
    pods.set("metadata", json{{"annotations", std::move(annotations)}});
  }
  json spec{
      {"parallelism", nodes}, {"completions", nodes}, {"completionMode", "Indexed"}, {"backoffLimit", 0}};
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
  spec.set("template", std::move(pods));
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
           {"replicatedJobs",
            json_list(
                json{{"name", "node"}, {"replicas", 1}, {"template", json{{"spec", std::move(spec)}}}})}});
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

// An admission check answers this of a job: ready with the node that it shall be on, pending, or rejected.
// Where the site has levels Kueue itself says which nodes these are.
inline json kueue_admission(const decided_job& of, const job_site& site, const kueue_rules& rules) {
  const std::string devices = std::to_string(of.has.devices) + " " + of.kind;
  json state{{"name", detail::kueue_check}, {"lastTransitionTime", rules.now}};
  if (of.runs()) {
    std::string hosts;
    for (const std::string& each : of.hosts) hosts += (hosts.empty() ? "" : ",") + each;
    state.set("state", "Ready");
    state.set("message", devices + " on " + hosts);
    json update{{"name", "node"}, {"annotations", json{{"motet/hosts", hosts}}}};
    if (site.levels.empty() && of.hosts.size() == 1)
      update.set("nodeSelector", json{{"kubernetes.io/hostname", of.hosts[0]}});
    state.set("podSetUpdates", detail::json_list(std::move(update)));
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
