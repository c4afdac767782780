// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/place/multiplex_turns.hpp>

namespace motet {

// Another order of the same score: the modules that are multiplexed stand between the computations of the
// others, by their distance in the pipeline and not by any times. When a rank begins its forward number k,
// the first rank of the pipeline, d ranks before it, is about to begin number k + d: so what that one needs
// stands before it here, and gradients that it gave behind its backward number k stand behind number k + d
// here. Each rank computes its part of a microbatch at the same time so, nobody waits for what another has
// put off, and how much is kept does not grow with the microbatches. The others keep their order, whichever
// it is. What stands nearer than that in the order of their times would wait for itself; it goes as far as it
// must.
// Asks for: an order of the others that prove() passes, and multiplexed modules that feed them; what the
// score says of their own order is not looked at, they may be without any.
// Memory: a number for each computation, and the new score. A rank keeps what comes between its forward and
// its backward of each microbatch: of a pipeline of p ranks played by 1F1B p + d of them, and as many more as
// it is ahead.
// Errors: none of its own.
// Example:
//   score with_eye(const score& talk_and_eye) {
//     return multiplex(talk_and_eye, {.modules = {1, 0}, .ahead = {1, 0}});
//   }
constexpr score multiplex(const score& from, const multiplexing& how) {
  return detail::multiplex_turns(from, how).write();
}

}  // namespace motet
