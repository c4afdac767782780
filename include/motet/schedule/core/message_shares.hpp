// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/program.hpp>

namespace motet {

// The shares say how much of a microbatch's rows a message brings, where modules cut samples unlike: as much
// as both ends have of each other's samples, if all parts are even. Elsewhere messages bring all rows. What
// ranks will send of a step, no more and no less, is known with their model alone (runtime: message_bytes).
class message_shares {
 public:
  constexpr explicit message_shares(const program& of)
      : of_(of), links_(of.voices, of.feeds), replicas_(replicas_of_modules(of.voices)) {}

  // The share is of the rows of the instruction's own microbatch.
  constexpr double share(const instruction& it) const {
    if (!links_.has_feeds()) return 1;
    const linked_cell other =
        links_.other_end(is_send(it.what), message_kind(it.what), it.voice, it.stage, it.microbatch, it.part);
    if (!other.there() || other.at.voice == it.voice) return 1;
    const part own = part_of(it.voice, it.microbatch), theirs = part_of(other.at.voice, other.at.microbatch);
    const double begin = own.begin > theirs.begin ? own.begin : theirs.begin,
                 end = own.end < theirs.end ? own.end : theirs.end;
    return end > begin ? (end - begin) / (own.end - own.begin) : 0;
  }

 private:
  // A part of the samples of a step. Microbatches come first, then replicas, then the ranks of one.
  struct part {
    double begin = 0, end = 0;
  };
  constexpr part part_of(std::int32_t v, std::int32_t m) const {
    const voice& sings = of_.voices[v];
    const double ranks = replicas_[sings.module], all = ranks * sings.microbatches,
                 at = m * ranks + sings.replica * sings.shards + sings.shard;
    return {at / all, (at + 1) / all};
  }

  const program& of_;
  cell_links links_;
  list<std::int32_t> replicas_;  // of each module, with the ranks of each
};

}  // namespace motet
