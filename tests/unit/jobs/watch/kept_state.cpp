// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_lines.hpp"

#include <motet/format/text/json_read.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {
// What a policy changed, when what was known is put away as a text, and read back by somebody new, behind
// each `every` lines; `forgets` leaves out what the policy itself remembers.
std::string changes(const jobs_here& on, std::string_view policy, const std::vector<told_line>& lines,
                    std::size_t every, bool forgets = false) {
  const job_site site = usual_site(on.cluster);
  auto own = std::make_unique<life>(on, policy);
  std::string out;
  motet::isize count = 0;
  const auto tell = [&](const std::vector<job_change>& all) {
    for (const job_change& each : all) out += change_line(each, ++count, own->world, site) + "\n";
  };
  for (std::size_t n = 0; n < lines.size(); ++n) {
    while (own->live.wakes() <= lines[n].time) tell(own->live.wake(own->live.wakes()));
    tell(own->live.take(lines[n].line, lines[n].time, "lines"));
    if (n % every != every - 1) continue;
    json state = own->live.keep();
    auto next = std::make_unique<life>(on, policy);
    if (forgets) state.set("policy", live_policy_of({.policy = std::string(policy)}).keep());
    next->live.read_back(read_json(write_json(state), "state"));
    CHECK((forgets || write_json(next->live.keep()) == write_json(state)));
    own = std::move(next);
  }
  return out;
}
}  // namespace

TEST_CASE("every policy goes on with what was kept as if nothing had been") {
  const jobs_here on = small_jobs();
  for (const std::string_view policy : policy_names) {
    CAPTURE(policy);
    bool differs = false;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const std::vector<told_line> lines = lines_of(on, seed);
      const std::string calm = changes(on, policy, lines, lines.size() + 1);
      CHECK(std::count(calm.begin(), calm.end(), '\n') > 30);
      // Behind other lines for each seed; most of the time goes into texts.
      const std::size_t every = 8 + 3 * seed;
      CHECK(changes(on, policy, lines, every) == calm);
      try {
        differs = differs || changes(on, policy, lines, every, true) != calm;
      } catch (const error&) {
        differs = true;
      }
    }
    // What they remember is not idle: without it they decide otherwise.
    const json own = live_policy_of({.policy = std::string(policy)}).keep();
    CHECK(differs == !own.members().empty());
  }
}
