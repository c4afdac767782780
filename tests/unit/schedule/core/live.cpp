// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/live.hpp>

#include "schedule_text.hpp"

using namespace motet;
using laws::a_voice;
using laws::written;

namespace {
list<std::int32_t> live(const voice& of, const std::vector<std::string>& orders) {
  return live_of_stages(compile(written(of, orders)));
}
using counts = list<std::int32_t>;
}  // namespace

TEST_CASE("what an operation does to the count") {
  for (int i = 0; i < op_count; ++i) {
    const op what = static_cast<op>(i);
    const int wanted = keeps(what) || what == op::fetch ? 1 : ends(what) || what == op::offload ? -1 : 0;
    CHECK(live_change(what) == wanted);
  }
}

TEST_CASE("the most that a stage keeps at once") {
  CHECK(live(a_voice(2, 3), {"F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2"}) == counts{2, 1});
  CHECK(live(a_voice(1, 3), {"F0 F1 I0 F2 I1 W0 W1 I2 W2"}) == counts{3});  // kept until the weight part
  CHECK(live(a_voice(1, 3), {"f0 f1 f2 R0 B0 R1 B1 R2 B2"}) == counts{1});  // forward_only keeps nothing
  voice frozen = a_voice(1, 3);
  frozen.learns = false;
  CHECK(live(frozen, {"F0 F1 F2"}) == counts{0});
}

TEST_CASE("what overlaps takes its slot before the other one leaves it") {
  CHECK(live(a_voice(1, 3), {"F0 F1+ B0 F2+ B1 B2"}) == counts{2});
  CHECK(live(a_voice(1, 3), {"F0 B0+ F1 B1+ F2 B2"}) == counts{2});
  CHECK(live(a_voice(1, 3), {"F0 B0 F1 B1 F2 B2"}) == counts{1});
  // It is so in a chain of three as well: two forwards in, then one out.
  CHECK(live(a_voice(1, 4), {"F0 B0+ F1+ F2 B1 B2 F3 B3"}) == counts{3});
}

TEST_CASE("changes are told in order") {
  const program of = compile(written(a_voice(1, 2), {"F0 B0+ F1 B1"}), {messages::in_channels, false});
  std::string told;
  each_live_change(of, 0, of.instructions.size(), [&](const instruction& it, int change) {
    told += (change > 0 ? '+' : '-') + std::to_string(it.microbatch);
  });
  CHECK(told == "+0+1-0-1");
  told.clear();
  each_live_change(of, 3, 4, [&](const instruction& it, int change) {
    told += (change > 0 ? '+' : '-') + std::to_string(it.microbatch);
  });
  CHECK(told == "-1");
}
