// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/data/skips.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// Samples that a producer left out, or resampled, as it tells ranks: by their numbers, as its own path to
// them is another one.
inline std::string write_skips(const std::vector<skip_log::reported>& from) {
  json out{json::array{}};
  for (const skip_log::reported& each : from) {
    json one;
    if (each.why) one.set("why", static_cast<std::int64_t>(*each.why));
    one.set("sample", each.sample);
    if (!each.detail.empty()) one.set("detail", each.detail);
    out.push_back(std::move(one));
  }
  return write_json(out);
}
// The same again, of a source of so many samples. Throws MT-D23 for what no producer says.
inline std::vector<skip_log::reported> read_skips(std::string_view text, isize samples) {
  std::vector<skip_log::reported> out;
  try {
    const json all = read_json(text, "what a producer skipped");
    for (const json& each : all.items()) {
      const json *const reason = each.find("why"), *const detail = each.find("detail");
      const std::int64_t why = reason != nullptr ? reason->integer() : 0,
                         sample = each.at("sample").integer();
      if (why < 0 || why >= static_cast<std::int64_t>(skip_kinds) || sample < 0 || sample >= samples)
        fail(damaged_step, sentence({"it skipped sample ", sample, " of ", samples, " for reason ", why}));
      skip_log::reported told{{}, static_cast<isize>(sample), detail != nullptr ? detail->string() : ""};
      if (reason != nullptr) told.why = static_cast<skip>(why);
      out.push_back(std::move(told));
    }
  } catch (const error& problem) {
    if (problem.code() == std::string_view(damaged_step.code)) throw;
    fail(damaged_step, std::string("what it skipped is not understood: ") + problem.what());
  }
  return out;
}

}  // namespace motet
