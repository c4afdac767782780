// SPDX-License-Identifier: Apache-2.0
#include <motet/front/feed/share_line.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what is said goes where the line leads, and nowhere where it leads nowhere") {
  share_line line;
  line.say(step_share({{0, 1}}));
  std::vector<isize> heard;
  line.lead([&](const step_share& share) { heard.push_back(share ? size_of(*share) : -1); });
  line.say(step_share({{0, 1}, {4, 6}}));
  line.say({});
  line.lead({});
  line.say({});
  CHECK(heard == std::vector<isize>{3, -1});
}
