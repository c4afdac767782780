// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/samples/loader_config.hpp>
#include <motet/front/feed/producer_roster.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// The steps on their way to a process, one after the other: asked of the producer that should have each,
// come, and taken in turn. What one that is lost had not sent is asked of the others. One thread takes steps,
// and for each producer a thread talks to it.
class produced_window {
 public:
  using clock = std::chrono::steady_clock;

  struct cell {
    enum { open, asked, made } state = open;
    std::uint64_t step = 0;
    std::size_t by = 0;                     // who was asked
    asked_parts wanted = asked_parts::all;  // what for
    bool heard = false;                     // its words are there
    std::optional<step_share> chosen;       // where pictures are asked for by themselves
    isize damaged = 0;                      // times that it came damaged
    isize bytes = 0, all_bytes = 0;         // of pictures, that came, and of all samples
    std::uint64_t words_checksum = 0;
    std::span<std::byte> room;
    step_words words;
    data_position after;
    std::exception_ptr problem;
  };

  // rooms: memory for pictures, one for each step on its way. With none that answers for `limit` seconds,
  // next() throws. asks_twice: words are asked for first, and pictures when want() names their samples.
  produced_window(const std::vector<producer_address>& by, const data_position& from,
                  const std::vector<std::span<std::byte>>& rooms, double limit, step_share share = {},
                  bool asks_twice = false)
      : limit_(limit),
        share_(std::move(share)),
        asks_twice_(asks_twice),
        origin_(from),
        position_(from),
        cells_(rooms.size()),
        producers_(by) {
    for (std::size_t c = 0; c < cells_.size(); ++c) cells_[c].room = rooms[c], cells_[c].step = c;
  }

  // The room of the next step, valid until the next call. Throws what its producer could not do, or that
  // there is none. choose(room): its words are there, and nobody has named the samples whose pictures are
  // wanted; who does not name them by then gets all.
  template <class Choose>
  isize next(Choose&& choose) {
    std::unique_lock hold(guard_);
    if (holding_) {
      cell& gone = at(delivered_);
      gone.step += cells_.size();
      gone.state = cell::open;
      gone.damaged = 0;
      gone.heard = false;
      gone.chosen.reset();
      ++delivered_;
      holding_ = false;
      producers_.ring_all();
    }
    cell& own = at(delivered_);
    auto from = clock::now();
    while (own.state != cell::made) {
      if (lacks_choice(own)) {
        const auto asked = clock::now();
        hold.unlock();
        choose(static_cast<isize>(delivered_ % cells_.size()));
        hold.lock();
        if (lacks_choice(own)) own.chosen.emplace();
        producers_.ring_all();
        // That is the time of who chooses.
        from += clock::now() - asked;
        continue;
      }
      if (problem_) std::rethrow_exception(problem_);
      if (producers_.silent_for(limit_)) fail_silent();
      there_.wait_for(hold, std::chrono::milliseconds(200));
    }
    const double waited = std::chrono::duration<double>(clock::now() - from).count();
    statistics_.wait_seconds += waited;
    producers_.at(own.by).late += waited;
    if (own.problem) std::rethrow_exception(own.problem);
    holding_ = true;
    ++statistics_.batches;
    position_ = own.after;
    return static_cast<isize>(delivered_ % cells_.size());
  }
  isize next() {
    return next([](isize) {});
  }
  // Of the step that next() gives next: pictures of these samples are looked at here. Before its words are
  // there, nobody knows.
  void want(const step_share& share) {
    const std::lock_guard hold(guard_);
    cell& own = at(following());
    if (!lacks_choice(own)) return;
    own.chosen = share;
    producers_.ring_all();
  }
  // The one that next() will give, if it is there already, or its words where these are asked for first.
  std::optional<isize> ahead() const {
    const std::lock_guard hold(guard_);
    const std::size_t room = following() % cells_.size();
    const cell& own = cells_[room];
    if (!own.heard || own.problem || (own.state != cell::made && !asks_twice_)) return {};
    return static_cast<isize>(room);
  }
  const data_position& position() const { return position_; }
  loader_statistics statistics() const {
    const std::lock_guard hold(guard_);
    return statistics_;
  }
  // Steps that wait to be taken, here or at who made them.
  isize ready() const {
    const std::lock_guard hold(guard_);
    isize sum = 0;
    for (const cell& each : cells_) sum += each.state == cell::made || each.heard ? 1 : 0;
    return sum - (holding_ ? 1 : 0);
  }
  json by_producer() const {
    const std::lock_guard hold(guard_);
    return producers_.by_producer();
  }
  std::vector<std::string> take_notes() {
    const std::lock_guard hold(guard_);
    return producers_.take_notes();
  }

  // The rest is for those who talk to producers: the bell of each rings when there may be something to say.
  std::string name(std::size_t p) const { return producers_.name(p); }
  const meet::bell& rings(std::size_t p) const { return producers_.at(p).rings; }
  bool ends() const {
    const std::lock_guard hold(guard_);
    return ends_;
  }
  void end() {
    const std::lock_guard hold(guard_);
    ends_ = true;
    producers_.hang_up_all();
  }
  // It is reached by this socket; false: there is nothing to say any more.
  bool reach(std::size_t p, int socket) {
    const std::lock_guard hold(guard_);
    if (!ends_) producers_.at(p).socket = socket;
    return !ends_;
  }
  void begin(std::size_t p) {
    const std::lock_guard hold(guard_);
    producers_.begin(p, statistics_.batches > 0);
  }
  // why: the problem in words. Called while it is handled.
  void lose(std::size_t p, const std::exception& problem, std::string why) {
    const std::lock_guard hold(guard_);
    producer_roster::producer& own = producers_.at(p);
    own.socket = -1;
    own.why = std::move(why);
    const auto* const known = dynamic_cast<const error*>(&problem);
    const bool refuses = known != nullptr && known->code() == std::string_view(producer_unlike.code);
    // At the start it ends the run; later it is one that came in vain.
    if (refuses && statistics_.batches == 0 && !problem_) problem_ = std::current_exception();
    if (refuses && statistics_.batches > 0) producers_.leave_out(p);
    own.refused = refuses;
    if (own.lives) {
      producers_.lose(p);
      if (!ends_) producers_.note(name(p) + " is lost, its steps are asked for elsewhere: " + own.why);
      const bool harms = known != nullptr && known->code() == std::string_view(damaged_step.code);
      for (cell& each : cells_) {
        if (each.state != cell::asked || each.by != p) continue;
        each.state = cell::open;
        if (harms) count_damage(p, each, own.why);
      }
      producers_.ring_all();
    }
    there_.notify_all();
  }
  // Requests for all steps that are this producer's and nobody's yet.
  std::vector<std::string> claim(std::size_t p) {
    const std::lock_guard hold(guard_);
    std::vector<std::string> out;
    for (std::uint64_t step = delivered_; step < delivered_ + cells_.size(); ++step) {
      cell& own = at(step);
      if (own.step != step || !is_askable(own) || producers_.owner(step) != p) continue;
      own.state = cell::asked;
      own.by = p;
      own.wanted = !asks_twice_ ? asked_parts::all : own.heard ? asked_parts::pictures : asked_parts::words;
      json asked;
      asked.set("step", step);
      add_known(step, asked);
      if (own.wanted != asked_parts::all) asked.set("parts", json_of(own.wanted));
      if (const step_share& share = own.wanted == asked_parts::pictures ? *own.chosen : share_; share)
        asked.set("share", json_of(share));
      out.push_back(write_json(asked));
    }
    return out;
  }
  // Steps that it was asked for and did not send.
  std::size_t owed(std::size_t p) const {
    const std::lock_guard hold(guard_);
    return as_size(std::count_if(cells_.begin(), cells_.end(), [p](const cell& each) {
      return each.state == cell::asked && each.by == p;
    }));
  }
  // Null: it was not asked for that step.
  cell* asked_cell(std::size_t p, std::uint64_t step) {
    const std::lock_guard hold(guard_);
    cell& own = at(step);
    return own.state == cell::asked && own.step == step && own.by == p ? &own : nullptr;
  }
  // Its words are there, and were asked for alone.
  void hear(cell& own) {
    const std::lock_guard hold(guard_);
    note_words(own);
    own.state = cell::open;
    there_.notify_all();
  }
  void finish(cell& own, std::exception_ptr problem) {
    const std::lock_guard hold(guard_);
    if (!problem && !own.heard) note_words(own);
    own.problem = std::move(problem);
    own.state = cell::made;
    ++producers_.at(own.by).steps;
    producers_.at(own.by).picture_bytes += own.bytes;
    there_.notify_all();
  }
  void ask_again(std::size_t p, cell& own, const std::string& why) {
    const std::lock_guard hold(guard_);
    producers_.note(
        sentence({"step ", own.step, " came damaged from ", name(p), " and is asked for again: ", why}));
    own.state = cell::open;
    count_damage(p, own, why);
    producers_.ring_all();
  }

 private:
  static constexpr isize most_damaged = 3;

  cell& at(std::uint64_t step) { return cells_[step % cells_.size()]; }
  // The step that next() gives next; asked under the guard.
  std::uint64_t following() const { return delivered_ + (holding_ ? 1 : 0); }
  bool lacks_choice(const cell& own) const {
    return asks_twice_ && own.state == cell::open && own.heard && !own.chosen;
  }
  bool is_askable(const cell& own) const { return own.state == cell::open && !lacks_choice(own); }
  void note_words(cell& own) const {
    own.after = {origin_.seed,   origin_.fingerprint, origin_.samples,
                 own.words.next, own.words.waiting,   origin_.windows};
    own.heard = true;
  }
  [[noreturn]] void fail_silent() const {
    fail(producers_silent, sentence({"for ", producer_roster::seconds_text(limit_), ", for step ", delivered_,
                                     " of this run: ", producers_.what_each_did()}));
  }
  // The nearest place before a step that is known: behind the one before it, or an earlier one.
  void add_known(std::uint64_t step, json& asked) {
    const std::uint64_t first = following();
    for (std::uint64_t before = step; before-- > first;) {
      if (!at(before).heard || at(before).problem) continue;
      asked.set("known", before + 1);
      asked.set("place", place_of(at(before).after));
      return;
    }
    asked.set("known", first);
    asked.set("place", place_of(position_));
  }
  // Called under the guard.
  void count_damage(std::size_t p, cell& own, const std::string& why) {
    if (++own.damaged < most_damaged) return;
    own.state = cell::made;
    own.problem = std::make_exception_ptr(error(
        damaged_step, sentence({"step ", own.step, " of ", name(p), ", ", most_damaged, " times: ", why})));
    there_.notify_all();
  }

  const double limit_;
  const step_share share_;
  const bool asks_twice_;
  mutable std::mutex guard_;
  std::condition_variable there_;
  const data_position origin_;
  data_position position_;
  std::vector<cell> cells_;
  producer_roster producers_;
  std::uint64_t delivered_ = 0;
  bool holding_ = false, ends_ = false;
  std::exception_ptr problem_;
  loader_statistics statistics_;
};

}  // namespace motet
