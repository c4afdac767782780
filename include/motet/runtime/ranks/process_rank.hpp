// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/collectives.hpp>
#include <motet/runtime/ranks/group_of_all.hpp>
#include <motet/runtime/ranks/rank_watch.hpp>
#include <motet/runtime/ranks/score_sheets.hpp>
#include <motet/schedule/simulate/causes.hpp>

#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>

namespace motet {

struct process_options {
  double deadline = 600;  // seconds for a step; 0: any time
  // seconds in which all ranks end when one is dead or stopped; half of it is for noticing
  double bound = 10;
  // what must be the same on all ranks besides program and build: the model, the plan
  run_identity identity{};
};

// The rank of a program, or of several that take turns, that lives in this process; all processes make theirs
// at once, from the same programs. It offers what thread_ranks offers, and what ranks without common memory
// tell each other outside of a program. A rank that fails stops the others, and so does one that waits in
// vain.
template <class World, class Endpoint>
class process_rank {
 public:
  using player_type = rank_player<Endpoint>;

  explicit process_rank(program from, process_options options = {})
      : process_rank(only(std::move(from)), std::move(options)) {}
  // Programs of one cast, of which play() says whose turn it is.
  explicit process_rank(std::vector<program> all, process_options options = {})
      : options_(checked(std::move(options), all)),
        sheets_(std::move(all)),
        members_(sheets_[0]),
        world_(make_world<World>(sheets_, members_)),
        local_{world_.rank()},
        end_(world_, rank()),
        all_of_(world_, end_) {
    for (std::int32_t k = 0; k < sheets_.size(); ++k)
      players_.push_back(
          std::make_unique<player_type>(sheets_[k], rank(), end_, k > 0 ? players_[0].get() : nullptr));
    watch_.emplace(sheet(), world_, player(), options_.deadline, options_.bound);
    world_.watch_waits([this](double seconds) { watch_->look(seconds); });
    try {
      open_roll();
    } catch (...) {
      world_.watch_waits({});
      throw;
    }
  }
  process_rank(program from, double deadline)
      : process_rank(std::move(from), process_options{.deadline = deadline}) {}
  process_rank(std::vector<program> all, double deadline)
      : process_rank(std::move(all), process_options{.deadline = deadline}) {}
  process_rank(const process_rank&) = delete;
  process_rank& operator=(const process_rank&) = delete;
  ~process_rank() { world_.watch_waits({}); }  // what is watched goes away

  // The sheet of the step under way, or of the last one.
  const score_sheet& sheet() const { return sheets_.now(); }
  const score_sheets& sheets() const { return sheets_; }
  // The next step plays this one; between steps.
  void play(std::int32_t score) {
    sheets_.play(score);
    watch_->follow(sheet(), player());
  }
  World& world() { return world_; }
  std::int32_t rank() const { return local_[0]; }
  // The ranks that live in this process.
  const std::vector<std::int32_t>& local_ranks() const { return local_; }
  Endpoint& end(std::int32_t rank) { return here(rank), end_; }
  player_type& player(std::int32_t rank) { return here(rank), player(); }
  player_type& player(std::int32_t rank, std::int32_t score) { return here(rank), *players_[as_size(score)]; }
  std::int32_t member(std::int32_t meeting, std::int32_t rank) const {
    return members_.member(meeting, rank);
  }
  std::int32_t members(std::int32_t meeting) const { return members_.size(meeting); }
  std::int32_t updaters() const { return members_.updaters(); }
  // This is called when all memory was taken. A transport may have been told of it, which is of use where all
  // ranks' were.
  void start() {
    if constexpr (requires { world_.memory().turn_off(); }) {
      auto refused = static_cast<double>(world_.memory().refused());
      sum(&refused, 1);
      if (refused > 0) world_.memory().turn_off();
    }
  }

  // Runs this rank's part of the program once, after prepare(rank). With a record, all ranks come together
  // before and after, and each gets the whole timeline; then all ask for one.
  template <class Prepare>
  void run(Prepare&& prepare, timeline* record = nullptr) {
    if (failed_) fail(ranks_failed_before);
    guarded([&] {
      const auto size = sheet().of.instructions.size();
      if (record != nullptr) {
        *record = {};
        record->start.resize(size, 0);
        record->finish.resize(size, 0);
        barrier();
        if constexpr (requires { world_.mark_zero(); }) world_.mark_zero();
      }
      watch_->begin_step();
      player().record(record, std::chrono::steady_clock::now());
      prepare(rank());
      player().run();
      end_.finish_step();
      watch_->end_step();
      if (record == nullptr) return;
      share(record->start.data());
      share(record->finish.data());
      share(record->gaps);
      find_causes(sheet().of, sheet().graph, *record);
    });
  }

  // Says what this rank waits for, a line for each lane that is not through.
  std::string report() const { return watch_->report(); }

  // Stops all ranks, before they wait for each other in a program, when one has something else: model, plan,
  // options that decide the result.
  void require_same(const run_identity& identity) { compare(identity); }
  // Seconds in which all ranks end when one is dead or stopped.
  void set_bound(double seconds) { watch_->set_bound(seconds); }
  // This rank takes part in nothing more. Others may wait for it, and taking memory down may wait for them:
  // so they are not told that it is alive.
  void leave() { watch_->roll().leave(); }
  // A rank that waits in vain names this beside its place.
  void note_checkpoint(std::string which) { watch_->note_checkpoint(std::move(which)); }

  // Outside of run(): all ranks make the same calls in the same order. Nobody leaves a barrier before all
  // have come.
  void barrier() {
    guarded([&] { all().wait(all().barrier()); });
  }
  // The sum over all ranks, with the same bits on each.
  template <class T>
  void sum(T* numbers, isize count) {
    guarded([&] { all().wait(all().all_reduce_sum(numbers, count)); });
  }
  void broadcast(std::byte* data, isize bytes, std::int32_t root) {
    guarded([&] { all().wait(all().broadcast(data, bytes, root)); });
  }
  // Gathers what each rank has, in their order; sizes may differ.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own) {
    std::vector<std::vector<std::byte>> parts;
    guarded([&] { parts = gather(all(), own); });
    return parts;
  }

 private:
  auto& all() { return all_of_.group(); }
  player_type& player() { return *players_[as_size(sheets_.playing())]; }
  template <class Group>
  static std::vector<std::vector<std::byte>> gather(Group& among, std::span<const std::byte> own) {
    const auto ranks = as_size(among.size());
    std::vector<isize> sizes(ranks);
    const auto mine = static_cast<isize>(own.size());
    const std::vector<isize> of_sizes(ranks, sizeof(isize));
    among.wait(among.all_gather(reinterpret_cast<const std::byte*>(&mine),
                                reinterpret_cast<std::byte*>(sizes.data()), of_sizes));
    std::vector<std::byte> bytes(as_size(std::accumulate(sizes.begin(), sizes.end(), isize{0})));
    among.wait(among.all_gather(own.data(), bytes.data(), sizes));
    std::vector<std::vector<std::byte>> parts(ranks);
    auto from = bytes.begin();
    for (std::size_t r = 0; r < ranks; from += sizes[r++]) parts[r].assign(from, from + sizes[r]);
    return parts;
  }
  void here(std::int32_t which) const {
    if (which != rank()) fail(rank_elsewhere, sentence({"rank ", which, " was asked for on rank ", rank()}));
  }
  // Each rank shares what it knows of its own instructions.
  void share(double* of_all) {
    std::vector<isize> bytes;
    bytes.reserve(as_size(sheet().of.ranks()));
    for (std::int32_t r = 0; r < sheet().of.ranks(); ++r)
      bytes.push_back(static_cast<isize>(sizeof(double)) * (sheet().of.starts[r + 1] - sheet().of.starts[r]));
    const auto* const own = reinterpret_cast<const std::byte*>(of_all + sheet().of.starts[rank()]);
    all().wait(all().all_gather(own, reinterpret_cast<std::byte*>(of_all), bytes));
  }
  void share(list<timeline::gap>& of_all) {
    list<timeline::gap> own;
    player().add_gaps(own);
    const auto* const bytes = reinterpret_cast<const std::byte*>(own.data());
    for (const std::vector<std::byte>& each :
         gather(all(), {bytes, as_size(own.size()) * sizeof(timeline::gap)}))
      for (std::size_t at = 0; at < each.size(); at += sizeof(timeline::gap)) {
        timeline::gap one;
        std::memcpy(&one, each.data() + at, sizeof one);
        of_all.push(one);
      }
  }
  // A failure here ends the waits of all ranks, with its sentence.
  template <class Body>
  void guarded(Body&& body) {
    try {
      body();
    } catch (const typename World::stopped&) {
      failed_ = true;
      if (watch_ && watch_->verdict()) throw *watch_->verdict();
      throw stopped_elsewhere(world_.why());
    } catch (const error& problem) {
      const std::int32_t at = player().current();
      throw stopping(at < 0 ? problem : error(problem, locate(sheet().of, at)));
    } catch (const std::exception& problem) {
      stopping(problem);
      throw;
    }
  }
  template <class Problem>
  const Problem& stopping(const Problem& problem) {
    failed_ = true;
    world_.stop(problem.what());
    return problem;
  }

  static void compare(const run_identity& own) {
    std::vector<run_identity> all;
    all_ranks_meet<World, Endpoint>([&](auto& group) {
      for (const std::string& each : texts_of(gather(group, bytes_of(own.text()))))
        all.push_back(run_identity::of_text(each));
    });
    if (const std::string found = run_identity::differences(all); !found.empty())
      fail(ranks_do_not_match, found);
  }
  static process_options checked(process_options options, const std::vector<program>& all) {
    options.identity.add(all.front());
    for (std::size_t k = 1; k < all.size(); ++k) options.identity.add(all[k], sentence({"score ", k}));
    options.identity.add_build();
    compare(options.identity);
    if (const std::int32_t there = World::size_of(), ranks = all.front().ranks(); ranks != there)
      fail(mpi_ranks_differ, sentence({"the program has ", ranks, " ranks, ", there, " were started"}));
    return options;
  }
  void open_roll() {
    if (world_.ranks() == 1) return;
    std::uint64_t secret =
        std::random_device{}() * std::uint64_t{0x9e3779b97f4a7c15} + std::random_device{}();
    broadcast(reinterpret_cast<std::byte*>(&secret), sizeof secret, 0);
    watch_->roll().begin(texts_of(gather(bytes_of(watch_->roll().address()))), secret);
    barrier();
    float reached =
        watch_->roll().reaches((rank() + 1) % world_.ranks(), std::max(1.0, options_.bound / 10)) ? 1 : 0;
    sum(&reached, 1);
    if (reached == static_cast<float>(world_.ranks())) return;
    watch_->roll().cannot_ask();
    if (rank() == 0)
      std::fprintf(stderr,
                   "motet: ranks cannot ask each other by UDP; one that keeps another waiting for %g s "
                   "counts as dead\n",
                   options_.bound / 2);
  }
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  static std::vector<std::string> texts_of(const std::vector<std::vector<std::byte>>& all) {
    std::vector<std::string> texts;
    texts.reserve(all.size());
    for (const auto& each : all) texts.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
    return texts;
  }

  process_options options_;
  score_sheets sheets_;
  meeting_members members_;
  std::optional<rank_watch<World, player_type>> watch_;
  World world_;
  std::vector<std::int32_t> local_;
  Endpoint end_;
  group_of_all<World, Endpoint> all_of_;
  std::vector<std::unique_ptr<player_type>> players_;  // of each score
  bool failed_ = false;
};

}  // namespace motet
