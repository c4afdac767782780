// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/transport/meet/token_file.hpp>
#include <motet/runtime/ranks/rendezvous_of.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace motet {

// GPUs that this machine shows its programs.
inline std::int32_t count_gpus() {
  std::int32_t found = 0;
  while (std::filesystem::exists(sentence({"/dev/nvidia", found}))) ++found;
  return found;
}

namespace detail {

// The processes of a machine's ranks, from the eyes of the one that started them: it passes on what it is
// asked by signals, and when one rank fails, ends those that do not end by themselves.
class local_crew {
 public:
  explicit local_crew(double patience) : patience_(patience) {
    for (const int each : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&heard_, each);
    // From now on signals are taken by wait().
    sigprocmask(SIG_BLOCK, &heard_, &before_);
  }
  local_crew(const local_crew&) = delete;
  local_crew& operator=(const local_crew&) = delete;
  ~local_crew() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // The result says whether this is the new process. It ends when the one that started it is gone, and hears
  // of the terminal's signals by that one alone.
  bool start(std::int32_t rank) {
    const pid_t parent = ::getpid(), made = ::fork();
    if (made < 0) {
      const std::string why = std::strerror(errno);
      const std::size_t got = alive_.size();
      tell_all(SIGTERM);
      fail(threads_refused, sentence({"processes of this machine's ranks: got ", got, " (", why, ")"}));
    }
    if (made == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) std::_Exit(1);
      sigprocmask(SIG_SETMASK, &before_, nullptr);
      return true;
    }
    alive_.push_back({made, rank});
    return false;
  }

  // Waits until all have ended. The exit code is that of the first one that did not end well, 128 and its
  // number for a signal. Who ends because it lost another says nothing of why: of two that end at once, the
  // other counts.
  int wait() {
    using clock = std::chrono::steady_clock;
    clock::time_point failed;
    int status = 0, pushed = 0;
    while (!alive_.empty()) {
      const timespec soon{0, 100'000'000};
      const int which = sigtimedwait(&heard_, nullptr, &soon);
      if (which > 0 && which != SIGCHLD) tell_all(which);
      for (std::size_t r = alive_.size(); r-- > 0;) {
        int how = 0;
        if (::waitpid(alive_[r].process, &how, WNOHANG) != alive_[r].process) continue;
        const int code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
        if (code != 0 && (status == 0 || (status == exit_peer_lost.status && pushed == 0))) {
          if (status == 0) failed = clock::now();
          status = code;
          if (WIFSIGNALED(how))
            std::fprintf(stderr, "motet: rank %d was ended by signal %d\n", alive_[r].rank, WTERMSIG(how));
        }
        alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(r));
      }
      // The others notice by themselves; who waits in vain where nobody notices is asked, and then ended.
      if (status == 0) continue;
      const double gone = std::chrono::duration<double>(clock::now() - failed).count();
      if (pushed < 1 && gone > patience_) pushed = 1, tell_all(SIGTERM);
      if (pushed < 2 && gone > 2 * patience_) pushed = 2, tell_all(SIGKILL);
    }
    return status;
  }

 private:
  struct rank_process {
    pid_t process;
    std::int32_t rank;
  };
  void tell_all(int which) const {
    for (const rank_process& each : alive_) ::kill(each.process, which);
  }

  double patience_;
  sigset_t heard_{}, before_{};
  std::vector<rank_process> alive_;
};

}  // namespace detail

// Starts the ranks of this machine where the launcher started one process alone (launched::to_start): each is
// a copy of this process, made before it has threads, and finds itself by torchrun's variables. Empty: this
// is such a rank, or there was nothing to start, and the program goes on. Else all ranks here have ended, and
// the program ends with that exit code. patience: seconds that ranks have to end after one failed.
inline std::optional<int> start_local_ranks(const launched& by, const environment& of, double patience = 30) {
  if (by.to_start < 1) return {};
  // Ranks of one machine meet by themselves.
  const auto [address, port] = find_meeting_place(by.by, of);
  std::string token = by.nodes == 1 ? fresh_token() : std::string();
  const auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  const std::int32_t count = by.to_start;
  std::fflush(nullptr);
  detail::local_crew crew(patience);
  for (std::int32_t local = 0; local < count; ++local)
    if (crew.start(by.rank + local)) {
      set("RANK", std::to_string(by.rank + local));
      set("WORLD_SIZE", std::to_string(by.ranks));
      set("LOCAL_RANK", std::to_string(local));
      set("LOCAL_WORLD_SIZE", std::to_string(count));
      set("GROUP_RANK", std::to_string(by.rank / count));
      set("GROUP_WORLD_SIZE", std::to_string(by.nodes));
      if (by.nodes == 1) set("MASTER_ADDR", "127.0.0.1");
      else if (!address.empty()) set("MASTER_ADDR", address);
      if (!port.empty()) set("MASTER_PORT", port);
      if (!of.contains("MOTET_TOKEN") && !token.empty()) set("MOTET_TOKEN", token);
      return {};
    }
  return crew.wait();
}

}  // namespace motet
