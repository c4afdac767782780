// SPDX-License-Identifier: Apache-2.0
#include "here.hpp"

#include <motet/backend/cpu/device.hpp>
#include <motet/tools/process/cluster_of.hpp>

namespace motet::plan_cluster {

cluster_facts cluster_of(const std::string& text) { return motet::cluster_of<cpu::device>(text); }

}  // namespace motet::plan_cluster
