// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/kernel_loading.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/runtime/ranks/launch.hpp>
#if !defined(MOTET_COMPILED_RANKS)
#include <motet/front/ranks/local_ranks.hpp>
#include <motet/meta/nearest.hpp>
#include <motet/tools/messages.hpp>
#endif
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi/mpi_session.hpp>
#endif

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace motet {

// A launched world says what this process is among the ranks of a run, from launch() to the end of main:
// alone, with ranks that are its threads, or one of many processes that mpirun, Slurm, torchrun or Kubernetes
// started. MPI runs as long as this lives.
// Asks for: a main that makes it first and keeps it to its end.
// Memory: none but MPI's own.
// Errors: MT-P74, MT-R20, MT-R21, MT-R22, MT-R23, MT-X03, MT-X06
// Example:
//   int train(const launched_world& world);
//   int main(int argc, char** argv) {
//     const auto world = launch(argc, argv);
//     return train(world);
//   }
class launched_world {
 public:
  // threads: of each rank; 0: all processors, shared by the ranks that live here. open: nobody said how many
  // ranks there are, so a plan may.
  explicit launched_world(launched by, int threads = 0, bool open = false)
      : by_(std::move(by)), threads_(threads), open_(open) {
    if (!is_one_of_many()) return;
    // MPI may call CUDA as well.
    if (has_nccl) load_kernels_first();
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
    // A process that torchrun started has no MPI around, and needs none with a GPU.
    if (!has_nccl || by_.by != launcher::torchrun)
      session_ = std::make_unique<mpi::session>(mpi::session_options{by_.rank, by_.ranks});
#endif
  }
  launched_world(launched_world&&) = delete;
  launched_world& operator=(launched_world&&) = delete;
  ~launched_world() {
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
    // The others may be waiting for what this one will not do any more.
    if (std::uncaught_exceptions() > exceptions_) mpi::session::has_failed() = true;
#endif
  }

  const launched& by() const { return by_; }
  bool is_one_of_many() const { return by_.ranks > by_.threads; }
  // One process of a run tells, tests and writes: this one where it is so.
  bool is_main() const { return by_.rank == 0; }
  // Ranks in processes can talk to each other without a GPU where this holds.
  bool has_mpi() const {
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
    return session_ != nullptr;
#else
    return false;
#endif
  }
  // Each rank has so many threads when so many ranks live here.
  int threads(std::int32_t ranks_here) const {
    if (threads_ > 0) return threads_;
    // Processes that were started side by side know nothing of each other's threads.
    if (is_one_of_many()) return 1;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, ranks_here));
  }
  // A plan for so many ranks fits what was started.
  void require_ranks(std::int32_t ranks) const {
    if (open_ || by_.ranks == ranks) return;
    fail(plan_of_other_ranks, "the plan is for " + std::to_string(ranks) + " ranks, there are " +
                                  std::to_string(by_.ranks) + " (" + describe(by_) + ")");
  }

 private:
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
  static constexpr bool has_nccl = true;
#else
  static constexpr bool has_nccl = false;
#endif

  launched by_;
  int threads_;
  bool open_;
  [[maybe_unused]] int exceptions_ = std::uncaught_exceptions();
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
  std::unique_ptr<mpi::session> session_;
#endif
};

// The first line of main: finds out who started this process, and as what. Of the command line it reads
// --ranks N (ranks that are threads of this process) and --threads N (of each rank), and leaves --plan to
// plan_of(). Words that the program reads itself are its own: an option with what stands behind it, or, where
// a name has no dashes, any word that no option takes; other words are refused. Where a launcher left the
// ranks of this machine to one process, it returns in each of them; the process that started them ends here,
// after them.
launched_world launch(int count, const char* const* words, std::initializer_list<std::string_view> own = {});

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {

// The number behind `--name N` or `--name=N` among words of which others may be somebody else's; 0 where it
// is not there.
inline std::int32_t number_among(int count, const char* const* words, std::string_view name) {
  for (int i = 1; i < count; ++i) {
    std::string_view word = words[i];
    if (!word.starts_with(name)) continue;
    word.remove_prefix(name.size());
    if (word.empty()) word = i + 1 < count ? words[i + 1] : "";
    else if (word.front() == '=') word.remove_prefix(1);
    else continue;
    std::int32_t value = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed != std::errc{} || end != word.data() + word.size() || value < 1)
      fail(bad_option_value, std::string(name) + " " + std::string(word) + ", wanted a number from 1 on");
    return value;
  }
  return 0;
}

inline void require_known_words(int count, const char* const* words,
                                std::initializer_list<std::string_view> own) {
  constexpr std::string_view ours[] = {"--ranks", "--threads", "--plan"};
  const auto is_option = [](std::string_view word) { return word.starts_with("--"); };
  const bool takes_any = !std::all_of(own.begin(), own.end(), is_option);
  bool is_taken = false;  // by the option before it
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i], name = word.substr(0, word.find('='));
    if (!is_option(word)) {
      if (!is_taken && !takes_any) fail(word_without_reader, "\"" + std::string(word) + "\"");
    } else if (std::find(std::begin(ours), std::end(ours), name) != std::end(ours)) {
      is_taken = false;
      if (name == word) ++i;
    } else if (std::find(own.begin(), own.end(), name) != own.end()) {
      is_taken = true;
    } else {
      std::vector<std::string_view> known(own);
      known.insert(known.end(), std::begin(ours), std::end(ours));
      const std::string near(nearest(name, known));
      fail(word_without_reader, std::string(name) + (near.empty() ? "" : "; did you mean " + near));
    }
  }
}

}  // namespace detail

MOTET_BODY launched_world launch(int count, const char* const* words,
                                 std::initializer_list<std::string_view> own) {
  detail::require_known_words(count, words, own);
  launch_wishes wishes;
  wishes.ranks = detail::number_among(count, words, "--ranks");
#if !(defined(MOTET_HAS_MPI) && MOTET_HAS_MPI) && !(defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL)
  wishes.can_connect = false;
#endif
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
  wishes.apart = true;
  wishes.automatic = std::max(1, count_gpus());
#endif
  launched by = find_launch(read_environment(), wishes);
  if (by.to_start > 0) {
    if (const std::optional<int> ended = start_local_ranks(by, read_environment())) std::exit(*ended);
    by = find_launch(read_environment(), wishes);
  }
  const bool open = by.by == launcher::none && wishes.ranks == 0;
  return launched_world(std::move(by), detail::number_among(count, words, "--threads"), open);
}

#endif
}  // namespace motet
