// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace motet {

// An exit code says how a program ended, to launchers and scripts that start it again. Below 128, the same
// command ends alike again; from 128 on, a run goes on with --resume.
struct exit_code {
  int status;
  const char* meaning;
};
inline constexpr exit_code exit_done{0, "done"};
inline constexpr exit_code exit_failed{1, "failed; the message says why"};
inline constexpr exit_code exit_usage{2, "the command line is not understood"};
inline constexpr exit_code exit_refused{3, "the plan, the data or a checkpoint is refused"};
inline constexpr exit_code exit_no_memory{4, "out of memory"};
inline constexpr exit_code exit_by_hand{130, "stopped by hand (Ctrl-C), and saved"};
inline constexpr exit_code exit_peer_lost{138, "another rank is lost: resume from the last checkpoint"};
inline constexpr exit_code exit_restart{143, "asked to leave (SIGTERM, SIGHUP, SIGUSR1), and saved: resume"};

inline constexpr exit_code exit_codes[] = {exit_done,      exit_failed,  exit_usage,     exit_refused,
                                           exit_no_memory, exit_by_hand, exit_peer_lost, exit_restart};

// The table stands at the end of --help.
inline std::string exit_table() {
  std::string out = "\nexit codes:\n";
  for (const exit_code& each : exit_codes) {
    const std::string status = std::to_string(each.status);
    out += "  " + status + std::string(5 - status.size(), ' ') + each.meaning + "\n";
  }
  return out;
}

namespace detail {

// A rule says which codes of errors end in which way: a code, or the start of codes. The first one that fits
// counts.
struct exit_rule {
  std::string_view codes;
  exit_code how;
};
inline constexpr exit_rule exit_rules[] = {
    {"MT-X", exit_usage},       {"MT-B12", exit_no_memory},  // of a GPU
    {"MT-B18", exit_peer_lost}, {"MT-R07", exit_peer_lost}, {"MT-R08", exit_peer_lost},
    {"MT-D24", exit_peer_lost}, {"MT-R25", exit_peer_lost}, {"MT-R28", exit_peer_lost},
    {"MT-R04", exit_refused},   {"MT-R05", exit_refused},   {"MT-R06", exit_refused},
    {"MT-R09", exit_refused},   {"MT-R14", exit_refused},   {"MT-R16", exit_refused},
    {"MT-R2", exit_refused},                                                          // the start of ranks
    {"MT-R38", exit_refused},   {"MT-R62", exit_refused},   {"MT-R5", exit_refused},  // checkpoints
    {"MT-R66", exit_refused},   {"MT-R67", exit_refused},   {"MT-D", exit_refused},
    {"MT-M", exit_refused},     {"MT-P", exit_refused},     {"MT-S", exit_refused},
    {"MT-J", exit_refused},                                                          // what is known of jobs
    {"MT-F05", exit_failed},    {"MT-F06", exit_failed},    {"MT-F", exit_refused},  // writing; reading
};

}  // namespace detail

// A program ends so after what it caught.
inline exit_code exit_code_of(const std::exception& problem) {
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr) return exit_no_memory;
  const auto* const known = dynamic_cast<const error*>(&problem);
  if (known == nullptr) return exit_failed;
  // Another rank stopped this one and could not say why.
  if (*known->code() == '\0') return exit_peer_lost;
  for (const detail::exit_rule& each : detail::exit_rules)
    if (std::string_view(known->code()).starts_with(each.codes)) return each.how;
  return exit_failed;
}

// main returns this for what it caught; its sentence goes to the standard error, behind the program's name
// where that is given.
inline int report_failure(const std::exception& problem, const char* program = nullptr) {
  const exit_code how = exit_code_of(problem);
  std::fprintf(stderr, "%s%s%s\n", program == nullptr ? "" : program, program == nullptr ? "" : ": ",
               how.status == exit_no_memory.status && dynamic_cast<const error*>(&problem) == nullptr
                   ? "out of memory"
                   : problem.what());
  return how.status;
}

}  // namespace motet
