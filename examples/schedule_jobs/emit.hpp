// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inputs.hpp"

#include <motet/format/files/atomic_directory.hpp>
#include <motet/jobs/emit/fluxion.hpp>
#include <motet/jobs/emit/kueue.hpp>
#include <motet/jobs/emit/slurm.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace motet::schedule_jobs {

inline job_site site_for(const settings& given, const job_cluster& cluster) {
  job_site out =
      given.site.empty() ? usual_site(cluster) : read_job_site(read_text(given.site), given.site, cluster);
  require_site(out, cluster);
  // Scripts run elsewhere, from anywhere.
  if (out.folder == ".") out.folder = std::filesystem::absolute(given.output).lexically_normal().string();
  return out;
}

inline kueue_rules rules_of_kueue() {
  kueue_rules out;
  for (const exit_code& each : exit_codes)
    if (each.status > 1 && (each.status < 128 || each.status == exit_by_hand.status))
      out.final_codes.push_back(each.status);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  gmtime_r(&now, &parts);
  out.now.assign(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
  return out;
}

// A folder is replaced as a whole, so it has to be one of ours.
inline void require_own_folder(const std::filesystem::path& of) {
  std::error_code unknown;
  if (std::filesystem::exists(of, unknown) && !std::filesystem::exists(of / "decisions.json", unknown) &&
      (!std::filesystem::is_directory(of, unknown) || !std::filesystem::is_empty(of, unknown)))
    fail(bad_option_value,
         "--output " + of.string() + " is there and has no decisions.json, so it is not replaced");
}

// Tells who runs and who waits after the time that was asked for, in files for the cluster that was asked
// for.
inline std::vector<emitted_file> files_for(const settings& given, const inputs& from) {
  require_own_folder(given.output);
  const job_site site = site_for(given, from.cluster);
  job_world world(from.cluster, from.trace, from.times, from.memory, speeds_for(from.asked));
  play_policy(from.asked, world);
  const decided_jobs decided =
      decided_in(world, site, from.trace.jobs[0].submitted, from.cells ? &*from.cells : nullptr, from.models);
  if (given.emit == "slurm") return slurm_files(decided, site);
  if (given.emit == "fluxion") return fluxion_files(decided, from.cluster, site);
  return kueue_files(decided, from.cluster, site, rules_of_kueue());
}

// All of them or none.
inline void put_files(const std::filesystem::path& to, const std::vector<emitted_file>& files) {
  atomic_directory folder(to);
  for (const emitted_file& each : files) {
    std::error_code failed;
    std::filesystem::create_directories((folder.path() / each.path).parent_path(), failed);
    if (failed) refuse_to_write(to, failed.value());
    write_file(folder.path() / each.path, each.text);
  }
  folder.commit();
}

}  // namespace motet::schedule_jobs
