// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/emit/decided_jobs.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

// A cluster as Fluxion's graph of resources (JGF): nodes with their kind as a property, and devices and cores
// below them.
inline json fluxion_graph(const job_cluster& cluster, const job_site& site) {
  json nodes{json::array{}}, edges{json::array{}};
  isize count = 0;
  const auto vertex = [&](const char* type, const std::string& name, isize number, isize rank,
                          const std::string& path, const std::string& parent, json properties) {
    std::string id = std::to_string(count);
    json facts{{"type", type},       {"basename", type},
               {"name", name},       {"id", number},
               {"uniq_id", count},   {"rank", rank},
               {"exclusive", false}, {"unit", ""},
               {"size", 1},          {"paths", json{{"containment", path}}}};
    if (!properties.is_null()) facts.set("properties", std::move(properties));
    nodes.push_back(json{{"id", id}, {"metadata", std::move(facts)}});
    if (!parent.empty())
      edges.push_back(
          json{{"source", parent}, {"target", id}, {"metadata", json{{"subsystem", "containment"}}}});
    ++count;
    return id;
  };
  const std::string top = "/cluster0";
  const std::string root = vertex("cluster", "cluster0", 0, -1, top, "", {});
  isize rank = 0;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const site_kind& kind = site.kinds[k];
    for (const std::string& host : kind.hosts) {
      json properties;
      properties.set(kind.feature, "");
      const std::string path = top + "/" + host;
      const std::string node = vertex("node", host, rank, rank, path, root, std::move(properties));
      for (const auto& [type, all] :
           {std::pair<const char*, isize>{"core", cluster.kinds[k].per_node * kind.cores},
            {"gpu", cluster.kinds[k].per_node}})
        for (isize n = 0; n < all; ++n) {
          const std::string name = type + std::to_string(n);
          vertex(type, name, n, rank, path + "/" + name, node, {});
        }
      ++rank;
    }
  }
  return json{{"graph", json{{"nodes", std::move(nodes)}, {"edges", std::move(edges)}}}};
}

// A job as Flux reads it (jobspec version 1): a slot for each device, on the hosts that were decided, or on
// any of its kind while it waits.
inline json fluxion_job(const decided_job& of, const job_site& site) {
  const site_kind& kind = site.kinds[as_size(of.has.kind)];
  const std::string plan = of.plan.empty() ? "" : site.folder + "/" + of.plan;
  const auto list = [](auto... items) {
    json out{json::array{}};
    (out.push_back(std::move(items)), ...);
    return out;
  };
  json slot{
      {"type", "slot"},
      {"count", of.has.per_node},
      {"label", "device"},
      {"with", list(json{{"type", "core"}, {"count", kind.cores}}, json{{"type", "gpu"}, {"count", 1}})}};
  json node{{"type", "node"}, {"count", of.has.nodes()}, {"with", list(std::move(slot))}};
  json constraints{{"properties", list(json(kind.feature))}};
  if (of.runs()) {
    json hosts{json::array{}};
    for (const std::string& each : of.hosts) hosts.push_back(each);
    constraints = json{{"and", list(std::move(constraints), json{{"hostlist", std::move(hosts)}})}};
  }
  json system{{"duration", site.minutes * 60},
              {"cwd", site.folder},
              {"environment", json(json::object{})},
              {"job", json{{"name", of.id}}},
              {"constraints", std::move(constraints)},
              {"shell", json{{"options", json{{"gpu-affinity", "per-task"}, {"cpu-affinity", "per-task"}}}}}};
  return json{{"version", 1},
              {"resources", list(std::move(node))},
              {"tasks", list(json{{"command", list(json("sh"), json("-c"),
                                                   json("set -u\n" + start_script(of, site, plan, "exec")))},
                                  {"slot", "device"},
                                  {"count", json{{"per_slot", 1}}}})},
              {"attributes", json{{"system", std::move(system)}}}};
}

// Flux with Fluxion reads the cluster as a graph, a jobspec for each job that is there, and submit.sh. Jobs
// that wait are submitted as held.
inline std::vector<emitted_file> fluxion_files(const decided_jobs& of, const job_cluster& cluster,
                                               const job_site& site) {
  std::vector<emitted_file> out;
  out.push_back({"cluster.json", write_json(fluxion_graph(cluster, site)) + "\n"});
  std::string submit = "#!/bin/sh\nset -e\ncd " + shell_word(site.folder) + "\n";
  for (const decided_job& each : of.jobs) {
    if (each.status == job_status::dropped) continue;
    const std::string path = "jobs/" + file_name_of(each.id) + ".json";
    submit +=
        std::string("flux job submit --urgency=") + (each.runs() ? "16 " : "0 ") + shell_word(path) + "\n";
    out.push_back({path, write_json(fluxion_job(each, site), 2) + "\n"});
  }
  out.push_back({"submit.sh", std::move(submit)});
  return with_decisions(of, std::move(out));
}

}  // namespace motet
