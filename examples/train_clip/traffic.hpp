// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

#include <motet/runtime/stage/foretell.hpp>
#include <motet/schedule/core/message_shares.hpp>

namespace motet::train_clip {

// What a rank computes and exchanges in a step.
struct rank_traffic {
  double flops = 0;
  index messages = 0;
  double message_bytes = 0;    // sent to other stages
  double group_bytes = 0;      // about, from ranks that hold the same stage
  double reduction_bytes = 0;  // gradients, to the ranks that sum them
};
inline std::vector<rank_traffic> traffic_of(const program& of, const program_work& work) {
  std::vector<rank_traffic> all(static_cast<std::size_t>(of.ranks()));
  const message_shares brings(of);
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    rank_traffic& own = all[static_cast<std::size_t>(r)];
    for (const instruction& it : of.role(r)) {
      if (it.what == op::join) {
        own.flops += work.join_flops;
        continue;
      }
      const auto place = static_cast<std::size_t>(of.voices[it.voice].first_place + it.stage);
      const stage_work& does = work.places[place];
      if (is_forward(it.what)) own.flops += does.forward, own.group_bytes += does.forward_group_bytes;
      if (it.what == op::backward || it.what == op::backward_input)
        own.flops += does.backward_input, own.group_bytes += does.backward_group_bytes;
      if (it.what == op::backward || it.what == op::backward_weight) own.flops += does.backward_weight;
      if (is_send(it.what))
        ++own.messages,
            own.message_bytes +=
            brings.share(it) * (it.what == op::send_backward ? does.returned_bytes : does.boundary_bytes);
      if (it.what == op::reduce_gradient)
        own.reduction_bytes += 4.0 * static_cast<double>(work.parameters[place]);
    }
  }
  return all;
}

}  // namespace motet::train_clip
