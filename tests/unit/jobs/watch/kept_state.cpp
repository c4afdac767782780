// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/format/text/json_read.hpp>
#include <motet/jobs/watch/live_cluster.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {
struct told_line {
  double time;
  job_line line;
};
// Jobs come faster than the small cluster runs them, end, tell of progress, and lose nodes.
std::vector<told_line> lines_of(const jobs_here& on, std::uint64_t seed) {
  const random_stream chance(seed, "lines");
  std::vector<told_line> out;
  std::vector<std::string> there, gone;
  double now = 0;
  for (std::uint64_t n = 0; n < 120; ++n) {
    now += 900.0 * static_cast<double>(chance.uniform(4 * n));
    job_line line;
    const std::uint32_t what = chance.below(4 * n + 1, 100);
    const auto some = [&](std::vector<std::string>& of) {
      const std::size_t at = chance.below(4 * n + 2, static_cast<std::uint32_t>(of.size()));
      std::string name = of[at];
      return name;
    };
    if (what < 55 || there.empty()) {
      line.job = on.trace.jobs[chance.below(4 * n + 3, static_cast<std::uint32_t>(on.trace.jobs.size()))];
      line.job.id = "job-" + std::to_string(n);
      line.deadline = 40000;
      there.push_back(line.job.id);
    } else if (what < 80) {
      line.event = job_event::finish;
      line.job.id = some(there);
      there.erase(std::find(there.begin(), there.end(), line.job.id));
    } else if (what < 92) {
      line.event = job_event::progress;
      line.job.id = some(there);
      line.left = 100.0 * chance.below(4 * n + 3, 50);
      line.seconds = 0.5 + static_cast<double>(chance.uniform(4 * n + 3));
    } else if (gone.size() < 2 && what < 96) {
      line.event = job_event::lost;
      line.node =
          static_cast<std::int32_t>(chance.below(4 * n + 3, static_cast<std::uint32_t>(on.cluster.nodes())));
      if (std::find(gone.begin(), gone.end(), std::to_string(line.node)) != gone.end()) continue;
      gone.push_back(std::to_string(line.node));
    } else if (!gone.empty()) {
      line.event = job_event::back;
      line.node = std::atoi(gone.back().c_str());
      gone.pop_back();
    } else {
      continue;
    }
    out.push_back({now, line});
  }
  return out;
}

struct life {
  job_world world;
  live_cluster live;
  life(const jobs_here& on, std::string_view policy)
      : world(on.cluster, on.times, on.memory, {}),
        live(world, live_policy_of({.policy = std::string(policy)})) {}
};
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

TEST_CASE("a state of something else is refused") {
  const jobs_here on = small_jobs();
  life own(on, "crius");
  for (const told_line& each : lines_of(on, 1)) own.live.take(each.line, each.time, "lines");
  const json state = own.live.keep();
  const auto refused = [&](const char* policy, const json& from, const jobs_here& of) {
    life next(of, policy);
    CHECK_THROWS_AS(next.live.read_back(from), error);
  };
  refused("motet", state, on);
  refused("fcfs", state, on);
  refused("elasticflow", state, on);
  for (const json::member each : state.members()) {
    json less{json::object{}};
    for (const json::member other : state.members())
      if (other.name != each.name) less.set(other.name, other.value);
    refused("crius", less, on);
  }
  jobs_here larger = on;
  ++larger.cluster.kinds[0].nodes;
  refused("crius", state, larger);
}
