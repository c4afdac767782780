// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/meta/config.hpp>

#if !__has_include(<mpi.h>)
#error \
    "motet: the MPI transport needs mpi.h (Debian: libopenmpi-dev openmpi-bin); CMake looks for it unless MOTET_MPI=OFF"
#endif
// The C++ calls that MPI dropped are left out.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace motet::mpi {

// A wait throws this on every rank when one of them failed.
struct stopped {
  std::string why;
};

inline void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(mpi_failed, std::string(what) + " says " + text);
}

// Waits without keeping a processor from those that are waited for: it looks again, then lets others run,
// then sleeps, longer each time. Where others compute as well, MPI may give them a turn for each look, so it
// counts looks and time.
class backoff {
 public:
  explicit backoff(int spins) : spins_(spins) {}
  void operator()() {
    if (turn_ < spins_ + yields) {
      if (++turn_ > spins_) std::this_thread::yield();
      if (turn_ % 8 == 0 && looks_for_long()) turn_ = spins_ + yields;
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(nap_));
    nap_ = nap_ * 2 < longest_nap ? nap_ * 2 : longest_nap;
  }
  bool is_long() const { return nap_ == longest_nap; }

 private:
  using clock = std::chrono::steady_clock;
  bool looks_for_long() {
    const clock::time_point now = clock::now();
    if (turn_ == 8) began_ = now;
    return now - began_ > std::chrono::milliseconds(50);
  }
  static constexpr int yields = 100, longest_nap = 50;
  int spins_, turn_ = 0, nap_ = 1;
  clock::time_point began_;
};

struct session_options {
  std::int32_t rank = -1, ranks = -1;  // what the launcher said; -1: nothing
  double patience = 2;                 // seconds that the other ranks have to end after a failure
};

// MPI from here to the end of the scope. After a failure the ranks wait for each other for a bounded time
// only; then MPI ends them all.
class session {
 public:
  explicit session(session_options wanted = {}) : patience_(wanted.patience) {
    int before = 0, support = 0;
    MPI_Initialized(&before);
    began_ = before == 0;
    if (began_) check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &support), "MPI_Init_thread");
    if (!began_) MPI_Query_thread(&support);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const auto said = [&] { return sentence({"MPI says rank ", rank_, " of ", ranks_}); };
    std::string wrong;
    if (wanted.ranks >= 0 && wanted.ranks != ranks_)
      wrong = sentence({said(), ", the launcher said ", wanted.ranks, " ranks"});
    if (wanted.rank >= 0 && wanted.rank != rank_)
      wrong = sentence({said(), ", the launcher said rank ", wanted.rank});
    if (support < MPI_THREAD_FUNNELED || !wrong.empty()) {
      // No destructor runs for what was not made. All ranks come here, or MPI is told to end them.
      if (began_ && ranks_ == 1) MPI_Finalize();
      if (!wrong.empty()) fail(mpi_ranks_differ, wrong);
      fail(mpi_not_ready, sentence({"this MPI does not work beside threads (level ", support, ")"}));
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &farewell_);
    has_failed() = false;
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    // Should MPI itself hang after a failure, or mpirun be gone, the process still ends.
    if (has_failed()) end_within(patience_ + 1);
    if (!all_are_here()) end_all("not all ranks ended in time after a failure");
    MPI_Comm_free(&farewell_);
    if (!began_) return;
    MPI_Finalize();
    if (has_failed()) end_within(0);
  }

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }

  // From now on nobody is waited for without a bound.
  static std::atomic<bool>& has_failed() {
    static std::atomic<bool> failed{false};
    return failed;
  }
  // Launchers see this status when MPI has to end ranks that hang: a rank is lost
  // (tools/process/exit_code.hpp, on a higher floor, has the table).
  static constexpr int status_of_lost = 138;
  // The last resort: this rank and all others end now.
  static void end_all(const char* why) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "motet: rank %d: %s; MPI ends all ranks\n", rank, why);
    std::fflush(nullptr);
    end_within(0.5);
    MPI_Abort(MPI_COMM_WORLD, status_of_lost);
  }

 private:
  // SIGALRM ends the process; with 0 it does not after all.
  static void end_within(double seconds) {
    const auto whole = static_cast<time_t>(seconds);
    const itimerval once{{0, 0},
                         {whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)}};
    ::setitimer(ITIMER_REAL, &once, nullptr);
  }
  bool all_are_here() {
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(farewell_, &request) != MPI_SUCCESS) return false;
    const auto begin = std::chrono::steady_clock::now();
    backoff wait(0);
    for (int done = 0;; wait()) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      if (done != 0) return true;
      if (has_failed() &&
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > patience_)
        return false;
    }
  }

  double patience_;
  bool began_ = false;
  int rank_ = 0, ranks_ = 1;
  MPI_Comm farewell_ = MPI_COMM_NULL;
};

// The body of main: calls body(session), and turns what it throws into a message and a status, on this rank
// and on those that it stops; status_of(problem) says which, if it is not 1.
template <class Body, class StatusOf = int (*)(const std::exception&)>
int run(
    const session_options& wanted, Body&& body,
    StatusOf&& status_of = [](const std::exception&) { return 1; }) {
  try {
    session here(wanted);
    const auto say = [&](const std::exception& problem) {
      session::has_failed() = true;
      std::fprintf(stderr, "rank %d: %s\n", here.rank(), problem.what());
      std::fflush(nullptr);
      return status_of(problem);
    };
    try {
      return body(here);
    } catch (const stopped& told) {
      return say(stopped_elsewhere(told.why));
    } catch (const std::exception& problem) {
      return say(problem);
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return status_of(problem);
  }
}

}  // namespace motet::mpi
