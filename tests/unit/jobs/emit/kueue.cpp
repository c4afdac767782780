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

TEST_CASE("quotas are the devices of the kinds") {
  const jobs_here on = small_jobs();
  const job_site site = usual_site(on.cluster);
  const json queues = kueue_queues(on.cluster, site);
  for (const json& each : queues.at("items").items()) {
    if (each.at("kind").string() != "ClusterQueue") continue;
    const json& flavors = each.at("spec").at("resourceGroups").items()[0].at("flavors");
    REQUIRE(flavors.items().size() == on.cluster.kinds.size());
    for (std::size_t k = 0; k < on.cluster.kinds.size(); ++k)
      CHECK(flavors.items()[k].at("resources").items()[0].at("nominalQuota").string() ==
            std::to_string(on.cluster.kinds[k].devices()));
  }
}
