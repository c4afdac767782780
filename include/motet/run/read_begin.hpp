// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/messages.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A run begins with weights of the checkpoint of `run`: of all modules that it has, or of this one, which is
// called `as` there.
struct begin_source {
  std::string run, module{}, as{};
};

// --begin says "RUN", "MODULE=RUN" or "MODULE=RUN:NAME", and several with commas between.
inline std::vector<begin_source> read_begin(std::string_view words) {
  std::vector<begin_source> out;
  const auto refuse = [&] {
    fail(bad_option_value,
         "--begin wants RUN, MODULE=RUN or MODULE=RUN:NAME, and several with commas between, got \"" +
             std::string(words) + "\"");
  };
  for (std::string_view left = words; !left.empty();) {
    std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    begin_source made;
    // What stands before the sign is a module only where it is no folder.
    if (const std::size_t sign = one.find('='); sign < one.find('/')) {
      made.module = one.substr(0, sign);
      one.remove_prefix(sign + 1);
      if (const std::size_t mark = one.rfind(':'); mark != std::string_view::npos) {
        made.as = one.substr(mark + 1);
        one = one.substr(0, mark);
        if (made.as.empty()) refuse();
      }
      if (made.module.empty()) refuse();
    }
    if (one.empty()) refuse();
    made.run = one;
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace motet
