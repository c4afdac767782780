// SPDX-License-Identifier: Apache-2.0
#include "here.hpp"

#include <motet/backend/cpu/device.hpp>
#include <motet/tools/this_machine.hpp>

namespace motet::plan_cluster {

cluster_facts measure_here(std::int32_t ranks) { return this_machine<cpu::device>(ranks); }

}  // namespace motet::plan_cluster
