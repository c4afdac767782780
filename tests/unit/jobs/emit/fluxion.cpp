// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_decided.hpp"

#include <motet/jobs/emit/fluxion.hpp>

#include <doctest/doctest.h>

#include <map>

using namespace motet;

TEST_CASE("the graph is a tree of all nodes, devices and cores") {
  const job_cluster lab{"lab", {{"fast", 2, 4, 40}, {"slow", 3, 2, 24}}};
  job_site site = usual_site(lab);
  site.kinds[0].cores = 3;
  const json graph = fluxion_graph(lab, site).at("graph");
  std::map<std::string, std::size_t> types, parents;
  for (const json& each : graph.at("nodes").items()) ++types[each.at("metadata").at("type").string()];
  CHECK(types == std::map<std::string, std::size_t>{{"cluster", 1}, {"node", 5}, {"gpu", 14}, {"core", 30}});
  for (const json& each : graph.at("edges").items()) ++parents[each.at("target").string()];
  CHECK(parents.size() == 49);  // each but the cluster
  for (const auto& each : parents) CHECK(each.second == 1);
}

TEST_CASE("a job has a slot for each device, on its hosts or on any of its kind") {
  const jobs_here on = small_jobs();
  const decided_here got(on, 3 * 3600.0);
  const decided_job& of = got.one(true);
  const json job = fluxion_job(of, got.site);
  const json& node = job.at("resources").items()[0];
  CHECK(node.at("count").integer() == of.has.nodes());
  CHECK(node.at("with").items()[0].at("count").integer() == of.has.per_node);
  const json& where = job.at("attributes").at("system").at("constraints").at("and");
  CHECK(where.items()[1].at("hostlist").items().size() == of.hosts.size());
  const json held = fluxion_job(got.one(false), got.site);
  CHECK(held.at("attributes").at("system").at("constraints").find("properties") != nullptr);
  const std::string submit = text_of(fluxion_files(got.decided, on.cluster, got.site), "submit.sh");
  CHECK(submit.find("--urgency=0 'jobs/" + got.one(false).id) != submit.npos);
}
