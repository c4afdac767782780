// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/watch/job_watch.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {
// A watch as a program has it, which may end at any line.
struct watching {
  job_world world;
  job_watch watch;
  watching(const std::filesystem::path& folder, const jobs_here& on, const job_site& site,
           motet::isize journal_bytes)
      : world(on.cluster, on.times, on.memory, {}),
        watch(folder, world, site, live_policy_of({.policy = "motet"}), json{{"policy", "motet"}},
              {watch_clock::lines, 0, journal_bytes}) {}
};
std::vector<std::string> lines_of(const jobs_here& on) {
  std::vector<std::string> out;
  for (std::size_t j = 0; j < 24; ++j) {
    const traced_job& of = on.trace.jobs[j];
    out.push_back(write_json(json{{"event", "submit"},
                                  {"time", of.submitted},
                                  {"job", of.id},
                                  {"model", of.model},
                                  {"batch", of.batch},
                                  {"iterations", static_cast<motet::isize>(of.iterations)},
                                  {"kind", on.cluster.kinds[as_size(of.kind)].kind},
                                  {"devices", of.devices}}));
    if (j % 3 == 2)
      out.push_back(write_json(
          json{{"event", "finish"}, {"time", of.submitted + 1}, {"job", on.trace.jobs[j / 2].id}}));
    if (j % 8 == 5)
      out.push_back(write_json(
          json{{"event", "lost"}, {"time", of.submitted + 2}, {"node", "fast-" + std::to_string(j / 8)}}));
    if (j % 5 == 4) out.push_back("nonsense");
  }
  return out;
}
}  // namespace

TEST_CASE("lines that are too long, or tell another time than is asked, change nothing and are told") {
  const jobs_here on = small_jobs();
  const job_site site = usual_site(on.cluster);
  std::vector<std::string> lines = lines_of(on);
  const auto refused = [&](watch_clock clock, const std::string& text, bool cut) {
    job_world world(on.cluster, on.times, on.memory, {});
    const scratch folder;
    job_watch watch(folder.path(), world, site, live_policy_of({.policy = "motet"}),
                    json{{"policy", "motet"}}, {clock, 0, 1 << 20});
    const std::string why = watch.take({text, "a.events", 7, text.size(), cut}, 0).refused;
    CHECK(watch.lines_taken() == 0);
    CHECK(watch.live().world().jobs.empty());
    return why;
  };
  const auto says = [](const std::string& why, const char* what) {
    CHECK_MESSAGE(why.find(what) != std::string::npos, why);
  };
  says(refused(watch_clock::lines, lines[0], true), "7 is longer than ");
  says(refused(watch_clock::wall, lines[0], false), "7: has a \"time\", which the wall's clock tells here");
  std::string timeless = lines[0];
  const std::size_t at = timeless.find("\"time\"");
  timeless.erase(at, timeless.find(',', at) + 1 - at);
  says(refused(watch_clock::lines, timeless, false), "7: has no \"time\", which lines tell here");
}

TEST_CASE("a watch goes on with what it began with, or not at all") {
  const jobs_here on = small_jobs();
  const job_site site = usual_site(on.cluster);
  const scratch folder;
  { const watching first(folder.path(), on, site, 1 << 20); }
  job_world world(on.cluster, on.times, on.memory, {});
  CHECK_THROWS_WITH_AS(job_watch(folder.path(), world, site, live_policy_of({.policy = "motet"}),
                                 json{{"policy", "fcfs"}}, {watch_clock::lines, 0, 1 << 20}),
                       doctest::Contains("it began with policy \"motet\", got \"fcfs\""), error);
}

TEST_CASE("who is begun anew behind any line goes on as if nothing had been") {
  const jobs_here on = small_jobs();
  const job_site site = usual_site(on.cluster);
  const std::vector<std::string> lines = lines_of(on);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("motet-watch-" + std::to_string(::getpid()));
  constexpr motet::isize much = 1 << 20;
  int anew = 0;
  const auto play = [&](bool disturbed, motet::isize journal_bytes) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    anew = 0;
    auto own = std::make_unique<watching>(folder, on, site, journal_bytes);
    std::size_t refused = 0;
    for (std::size_t n = 0; n < lines.size(); ++n) {
      refused += own->watch.take({lines[n], "a.events", static_cast<motet::isize>(n + 1), n + 1, false}, 0)
                         .refused.empty()
                     ? 0
                     : 1;
      // A line that was not committed was never taken.
      if (disturbed && n % 4 == 1) {
        own = std::make_unique<watching>(folder, on, site, journal_bytes);
        const auto at = own->watch.taken_from().find("a.events");
        n = at == own->watch.taken_from().end() ? static_cast<std::size_t>(-1) : at->second.bytes - 1;
        own->watch.take({lines[n + 1], "a.events", static_cast<motet::isize>(n + 2), n + 2, false}, 0);
        own->watch.commit();
        ++n;
      } else {
        own->watch.commit();
      }
      const std::vector<json> records = job_journal(folder / "journal").take_records();
      anew += records.size() == 2 && records[1].find("state") != nullptr ? 1 : 0;
    }
    CHECK((disturbed || refused == 4));
    return std::string(mapped_file(folder / "changes.jsonl").text());
  };
  const std::string calm = play(false, much);
  CHECK(anew == 0);
  CHECK(std::count(calm.begin(), calm.end(), '\n') > 20);
  CHECK(play(true, much) == calm);
  // A journal that begins anew as often as it may forgets nothing.
  for (const bool disturbed : {false, true}) {
    CHECK(play(disturbed, 1) == calm);
    CHECK(anew >= (disturbed ? 6 : 2));
  }
  // Changes behind the state that never reached their file are written again; those before it must be there.
  const auto refused = [&](std::string_view has, const char* says) {
    write_file(folder / "changes.jsonl", has);
    CHECK_THROWS_WITH_AS(watching(folder, on, site, 1), doctest::Contains(says), error);
  };
  refused(calm.substr(0, 9), "has other changes than the journal says");
  std::string other = calm;
  other[20] ^= 1;
  refused(other, "[MT-J43]");
  CHECK(play(true, much) == calm);
  write_file(folder / "changes.jsonl", calm.substr(0, calm.size() / 2));
  watching(folder, on, site, much);
  CHECK(mapped_file(folder / "changes.jsonl").text() == calm);
  refused("other\n", "[MT-J43]");
  // A state that lacks something is not gone on with.
  job_journal(folder / "journal")
      .begin_anew({json{{"policy", "motet"}}, json{{"state", json{{"lines", 3}}}}});
  refused(calm, "its state is none of this program's");
  std::filesystem::remove_all(folder);
}
