// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/files/profile_json.hpp>
#include <motet/tools/process/options.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

// Gaps inside the operations of the schedule's model, from a profile.
namespace motet::explorer {

[[noreturn]] inline void refuse(const std::string& flag, const std::string& wanted, const std::string& got) {
  fail(bad_option_value, flag + " wants " + wanted + ", got " + got);
}

namespace detail {

struct degree_field {
  const char* name;
  std::int64_t value;
};
inline std::array<degree_field, 5> fields_of(const gap_degrees& from) {
  return {{{"tensor", from.tensor},
           {"context", from.context},
           {"experts", from.experts},
           {"zero", from.zero},
           {"data", from.data}}};
}
// "talk:tensor=2"
inline std::string name_of(const measured_gaps& of) {
  std::string out(of.module.view());
  const auto own = fields_of(of.under), none = fields_of({});
  char before = ':';
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k].value == none[k].value) continue;
    out += before + std::string(own[k].name) + "=" + std::to_string(own[k].value);
    before = ',';
  }
  return out;
}

}  // namespace detail

// The gaps of the only entry that is of the module under the degrees that `asked` names: "", "talk",
// "talk:tensor=2,zero=3".
inline measured_gaps choose_gaps(const list<measured_gaps>& from, const std::string& file,
                                 const std::string& asked) {
  const auto wrong = [&](const std::string& wanted) { refuse("--module", wanted, "\"" + asked + "\""); };
  if (from.empty())
    refuse("--profile", "gaps that a run recorded (train_vlm --record-gaps)", file + " without any");
  const std::size_t colon = asked.find(':');
  const std::string module = asked.substr(0, colon);
  list<measured_gaps> found;
  std::string known;
  for (const measured_gaps& each : from) {
    known += (known.empty() ? "" : ", ") + detail::name_of(each);
    if (module.empty() || each.module.view() == module) found.push(each);
  }
  for (std::string_view left = colon == std::string::npos ? "" : std::string_view(asked).substr(colon + 1);
       !left.empty();) {
    const std::string_view word = left.substr(0, left.find(','));
    left.remove_prefix(std::min(word.size() + 1, left.size()));
    const std::size_t equals = word.find('=');
    const std::string_view number = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    std::int64_t value = 0;
    const auto [stop, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
    list<measured_gaps> kept;
    bool is_field = false;
    for (const measured_gaps& each : found)
      for (const detail::degree_field& own : detail::fields_of(each.under)) {
        if (word.substr(0, equals) != own.name) continue;
        is_field = true;
        if (own.value == value) kept.push(each);
      }
    if (number.empty() || failed != std::errc{} || stop != number.data() + number.size() ||
        (!is_field && !found.empty()))
      wrong("NAME or NAME:tensor=N,context=N,experts=N,zero=N,data=N");
    found = std::move(kept);
  }
  if (found.size() != 1)
    wrong("one of the gaps of " + file + ", which has " + known +
          (found.empty() ? "" : sentence({", of which ", found.size(), " are of that"})));
  return found[0];
}

}  // namespace motet::explorer
