// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/optimus/encoder_placement.hpp>

#include <cstdint>
#include <limits>

namespace motet {

// Encoders on devices of their own, in front of a language model's pipeline: pipelines beside each of its
// own, or one for several of these.
struct encoders_apart {
  isize copies = 1;  // for each of the language model's pipelines, which feed its microbatches in turn
  isize shares = 1;  // pipelines of the language model that one copy feeds
};

// So many encoder pipelines of `stages` nodes as nodes that are left allow, evenly over the language model's
// pipelines; none: they are too few, or cannot be even.
inline std::optional<encoders_apart> apart_on(isize nodes, isize stages, isize pipelines,
                                              isize microbatches) {
  const isize all = nodes / stages;
  if (all >= pipelines) {
    isize copies = std::min(all / pipelines, microbatches);
    while (microbatches % copies != 0) --copies;
    return encoders_apart{copies, 1};
  }
  for (isize shares = 2; shares <= pipelines; ++shares)
    if (pipelines % shares == 0 && pipelines / shares <= all) return encoders_apart{1, shares};
  return {};
}

namespace detail {

// A pipeline of the language model, then encoders behind it on ranks of their own, with all their forwards
// before their backwards.
inline score write_apart(const score& language, isize microbatches, const encoder_work& work, isize copies) {
  score out;
  const voice talk = language.voices()[0];
  out.add(talk, [&](int s) { return language.place(talk, s); });
  const auto stages = static_cast<std::int32_t>(work.stages);
  voice eye;
  eye.module = 1;
  eye.stages = stages;
  eye.microbatches = static_cast<std::int32_t>(microbatches / copies);
  eye.learns = work.backward > 0;
  for (std::int32_t c = 0; c < copies; ++c) {
    eye.replica = c;
    out.add(eye, [&](int s) { return language.ranks() + c * stages + s; });
    for (std::int32_t m = 0; m < eye.microbatches; ++m)
      out.feed({1 + c, m, 0, m * static_cast<std::int32_t>(copies) + c});
  }
  for (std::int32_t r = 0; r < language.ranks(); ++r) {
    out.rank();
    for (std::int32_t i = language.begin_of(r); i < language.end_of(r); ++i)
      out.play(language[i].what, 0, language[i].stage, language[i].microbatch);
  }
  for (std::int32_t c = 0; c < copies; ++c)
    for (std::int32_t s = 0; s < stages; ++s) {
      out.rank();
      for (const op what : {op::forward, op::backward})
        for (std::int32_t m = 0; m < eye.microbatches && (what == op::forward || eye.learns); ++m)
          out.play(what, 1 + c, s, m);
    }
  return out;
}

}  // namespace detail

// Seconds of a step in which these stages, in chunks on so many devices, wait for their encoders, between the
// gathering of weights and the summing of gradients.
inline double seconds_apart(const std::vector<pipeline_stage>& language, isize devices, isize microbatches,
                            const encoder_work& work, const encoders_apart& how, double gather,
                            double scatter) {
  const program of = compile(
      detail::write_apart(detail::write_pipeline(devices, microbatches, static_cast<isize>(language.size())),
                          microbatches, work, how.copies),
      {messages::in_channels, false, false});
  cost_table costs = detail::costs_of_stages(language);
  const double times = static_cast<double>(how.shares);
  for (isize s = 0; s < how.copies * work.stages; ++s)
    costs.stages.push({times * work.forward, times * work.backward, 0});
  timeline when;
  return simulate(of, costs, when).ok() ? gather + when.makespan + scatter
                                        : std::numeric_limits<double>::infinity();
}

}  // namespace motet
