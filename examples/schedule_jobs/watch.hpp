// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emit.hpp"
#include "inputs.hpp"

#include <motet/jobs/watch/job_watch.hpp>
#include <motet/jobs/watch/line_socket.hpp>
#include <motet/runtime/save/run_folder.hpp>
#include <motet/tools/process/interrupt.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace motet::schedule_jobs {

// Decisions follow from these besides lines: a journal that began with other values is not gone on with.
inline json begins_of(const settings& given, const inputs& from, const job_site& site) {
  std::string cluster;
  for (std::size_t k = 0; k < from.cluster.kinds.size(); ++k) {
    const device_group& each = from.cluster.kinds[k];
    cluster += sentence({each.kind, " ", each.nodes, " ", each.per_node, " ", each.memory_gb});
    for (const std::string& host : site.kinds[k].hosts) cluster += " " + host;
    cluster += "\n";
  }
  const auto sum_of = [](const std::string& file) {
    return file.empty() ? std::string("none") : checksum_text(read_text(file));
  };
  json out{{"policy", given.asked.policy}, {"depth", given.asked.depth}, {"clock", given.clock}};
  json without{json::array{}};
  for (const std::string& each : given.asked.without) without.push_back(each);
  out.set("without", std::move(without));
  out.set("cluster", checksum_text(cluster));
  out.set("times", given.times == "cells" ? "cells" : sum_of(given.times));
  out.set("models", sum_of(given.models));
  // The trace says which models and batches may come, where their times are estimated.
  out.set("trace", given.times == "cells" ? sum_of(given.trace) : "none");
  out.set("memory", sum_of(given.memory));
  return out;
}

// The program takes what has come, or waits for it for a moment. There is one wait for the disk for all of
// it, and nobody is answered before.
inline bool step(const settings& given, job_watch& taken, line_feed& feed, line_socket* socket, bool waits) {
  constexpr int look = 50;  // milliseconds from one look into the folder to the next
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  std::vector<std::string> trouble;
  std::vector<line_socket::asked_line> asked;
  if (socket != nullptr) asked = socket->take(waits ? look : 0, trouble);
  else if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(look));
  const auto take = [&](const fed_line& line) {
    job_watch::answer got = taken.take(line, now());
    if (!got.refused.empty()) trouble.push_back(got.refused);
    return got.text;
  };
  std::vector<std::pair<isize, std::string>> answers;
  for (const auto& [line, guest] : asked) answers.emplace_back(guest, take(line));
  const std::vector<fed_line> lines = feed.take(trouble);
  for (const fed_line& line : lines) take(line);
  if (given.clock == "wall" && taken.wakes() <= now()) taken.wake(now());
  taken.commit();
  for (const auto& [guest, text] : answers) socket->answer(guest, text);
  for (const std::string& each : trouble) std::fprintf(stderr, "schedule_jobs: %s\n", each.c_str());
  return !lines.empty();
}

// Until somebody asks it to leave: takes lines, decides, and tells what changes.
inline int watch(const settings& given, const inputs& from) {
  const interrupt stop;
  std::filesystem::create_directories(given.watch);
  run_folder held(given.watch);
  const job_site site = given.site.empty() ? usual_site(from.cluster)
                                           : read_job_site(read_text(given.site), given.site, from.cluster);
  require_site(site, from.cluster);
  job_world world(from.cluster, from.times, from.memory, {});
  job_watch taken(given.watch, world, site, live_policy_of(from.asked), begins_of(given, from, site),
                  {given.clock == "lines" ? watch_clock::lines : watch_clock::wall,
                   given.asked.policy == "elasticflow-ls" ? 1e9 : 0, given.journal_bytes});
  std::optional<line_socket> socket;
  if (!given.socket.empty()) socket.emplace(given.socket);
  line_feed feed(given.watch);
  for (const auto& [name, at] : taken.taken_from()) feed.begin_at(name, at.lines, at.bytes);
  std::fprintf(stderr, "schedule_jobs: watches %s; %td lines were taken before\n", given.watch.c_str(),
               taken.lines_taken());

  try {
    for (bool more = true; !stop.asked();)
      more = step(given, taken, feed, socket ? &*socket : nullptr, !more);
  } catch (const error& problem) {
    std::fprintf(stderr, "schedule_jobs: %s\n", problem.what());
    return exit_code_of(problem).status;
  }
  return stop.exit_code();
}

}  // namespace motet::schedule_jobs
