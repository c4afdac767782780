// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/ranks/ranks_here.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// The kind of a schedule by its name; nothing where there is none of that name.
inline std::optional<rate_kind> read_rate_kind(std::string_view word) {
  if (word == "cosine") return rate_kind::cosine;
  if (word == "linear") return rate_kind::linear;
  if (word == "constant") return rate_kind::constant;
  return {};
}

// --rates says "eye=0.1,talk=0.5:decay=0.01:warmup=200". A module that says anything of a schedule has one of
// its own; what it leaves out is as `all` has it.
inline std::vector<named_pace> read_paces(std::string_view words, const rate_schedule& all) {
  const auto refuse = [&] {
    fail(bad_option_value,
         "--rates wants MODULE=SHARE, behind it :decay=X, :layer-rate=X, :warmup=STEPS, :delay=STEPS or "
         ":schedule=cosine|linear|constant, and several with commas between, got \"" +
             std::string(words) + "\"");
  };
  const auto next = [](std::string_view& left, char mark) {
    const std::string_view one = left.substr(0, left.find(mark));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    return one;
  };
  const auto number = [&](std::string_view text, auto into) {
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, into) != std::from_chars_result{end, std::errc{}} || !(into >= 0))
      refuse();
    return into;
  };
  std::vector<named_pace> out;
  for (std::string_view left = words; !left.empty();) {
    std::string_view one = next(left, ',');
    std::string_view first = next(one, ':');
    const std::string_view name = next(first, '=');
    if (name.empty()) refuse();
    named_pace pace{std::string(name), number(first, 0.0)};
    while (!one.empty()) {
      std::string_view value = next(one, ':');
      const std::string_view word = next(value, '=');
      const auto own = [&]() -> rate_schedule& {
        return pace.schedule ? *pace.schedule : pace.schedule.emplace(all);
      };
      if (word == "decay") pace.decay = number(value, 0.0);
      else if (word == "layer-rate") pace.layers = number(value, 0.0);
      else if (word == "warmup") own().warmup = number(value, isize{0});
      else if (word == "delay") own().delay = number(value, isize{0});
      else if (const auto kind = read_rate_kind(value); word == "schedule" && kind) own().kind = *kind;
      else refuse();
    }
    out.push_back(std::move(pace));
  }
  return out;
}

}  // namespace motet
