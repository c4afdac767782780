// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/jobs/emit/site.hpp>
#include <motet/jobs/files/cluster.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

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

}  // namespace motet
