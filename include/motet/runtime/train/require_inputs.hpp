// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/strategy/sample_split.hpp>

#include <span>
#include <string>

namespace motet {

// Throws unless each group has a sample for every microbatch. Samples with losses of their own are compared
// with no others, so groups may be uneven.
inline void require_batch(const program& of, const list<sample_split>& splits, isize samples, bool compares) {
  for (const voice& each : of.voices) {
    const isize parts = splits[each.module].replicas * each.group;
    const bool even = samples % each.joins() == 0 || !compares;
    if (even && samples / each.joins() >= parts) continue;
    fail(bad_training_option, sentence({"a batch of ", samples, " samples in ", each.joins(), " groups of ",
                                        parts, " microbatches for ", each.name.view()}));
  }
}

// Throws unless a module can take its input of a step of so many samples.
inline void require_input(const model_outline& model, std::size_t module, isize samples, const void* input) {
  const std::string name(model.names[module]);
  const net_outline& net = *model.nets[module];
  if (net.samples(input) != samples)
    fail(step_too_large,
         sentence({name, " has ", net.samples(input), " samples, planned for exactly ", samples}));
  if (!net.fits(input, samples))
    fail(step_too_large, sentence({name, " has a sample longer than ", net.longest()}));
  if (const std::string what = net.unknown_tokens(input); !what.empty())
    fail(unknown_token, sentence({name, ": ", what}));
}

// Throws unless both ends of each edge count the same rows.
inline void require_same_rows(const model_outline& model, isize samples,
                              std::span<const void* const> inputs) {
  for (const edge_ends& each : model.edges)
    for (isize s = 0; s < samples; ++s) {
      const auto got_before = [&](isize sample) {
        return model.nets[each.from]->rows_given(inputs[each.from], sample);
      };
      const auto wanted_before = [&](isize sample) {
        return model.nets[each.to]->rows_taken(inputs[each.to], static_cast<isize>(each.into), sample);
      };
      const isize got = got_before(s + 1) - got_before(s), wanted = wanted_before(s + 1) - wanted_before(s);
      if (got != wanted)
        fail(fed_rows_differ, sentence({"of sample ", s, " ", model.names[each.from], " makes ", got,
                                        " rows, and ", model.names[each.to], " has places for ", wanted}));
    }
}

}  // namespace motet
