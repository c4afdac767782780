// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>

#include <string>

namespace motet::plan_cluster {

// Compiled for itself, as it measures.
cluster_facts cluster_of(const std::string& text);

}  // namespace motet::plan_cluster
