// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_decided.hpp"

#include <motet/jobs/emit/kueue_queues.hpp>

#include <doctest/doctest.h>

using namespace motet;

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
