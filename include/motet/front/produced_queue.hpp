// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>
#include <motet/backend/transport/meet/bell.hpp>
#include <motet/data/samples/loader_config.hpp>
#include <motet/front/production.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace motet {

struct produced_options {
  std::vector<producer_address> from;
  std::string token{};  // empty: of producers on this machine, which leave it for their user
  json production{};    // what decides the steps: production_of()
  step_limits most{};
  // A producer that has steps to make and says nothing for so long is lost, and others make them.
  double silence = 5;
  // With none that answers for so long, the run ends.
  double limit = 60;
};

// A process' end of all producers: steps one after the other, asked for while there is room, from whoever of
// those that answer should have them, which all processes compute alike from the step's number. What one that
// is lost had not sent is asked of the others.
class produced_queue {
 public:
  using clock = std::chrono::steady_clock;

  // rooms: memory for pictures, one for each step on its way. hear(room, words): a step is there, called by
  // any thread, by one at a time for each room.
  produced_queue(produced_options how, const data_position& from, std::vector<std::span<std::byte>> rooms,
                 std::function<void(isize, const step_words&)> hear)
      : how_(std::move(how)),
        hear_(std::move(hear)),
        origin_(from),
        position_(from),
        cells_(rooms.size()),
        producers_(how_.from.size()),
        silent_since_(clock::now()) {
    if (how_.from.empty()) fail(bad_data_option, "no producer is named");
    how_.production.set("place", place_of(from));
    asked_ = write_json(how_.production);
    mark_ = checksum(std::string_view(asked_));
    for (std::size_t c = 0; c < cells_.size(); ++c) cells_[c].room = rooms[c], cells_[c].step = c;
    make_threads(
        threads_, "threads that hear producers", 0, static_cast<int>(producers_.size()),
        [this](int p) { return std::thread([this, p] { hear_producer(as_size(p)); }); }, [this] { end(); });
  }
  produced_queue(const produced_queue&) = delete;
  produced_queue& operator=(const produced_queue&) = delete;
  ~produced_queue() {
    end();
    for (std::thread& each : threads_) each.join();
  }

  // The room of the next step, valid until the next call. Throws what its producer could not do, or that there
  // is none.
  isize next() {
    std::unique_lock hold(guard_);
    if (holding_) {
      cell& gone = at(delivered_);
      gone.step += cells_.size();
      gone.state = cell::open;
      gone.damaged = 0;
      ++delivered_;
      holding_ = false;
      ring_all();
    }
    cell& own = at(delivered_);
    const auto from = clock::now();
    while (own.state != cell::made) {
      if (problem_) std::rethrow_exception(problem_);
      if (living() == 0 && seconds_since(silent_since_) > how_.limit) fail_silent();
      there_.wait_for(hold, std::chrono::milliseconds(200));
    }
    const double waited = seconds_since(from);
    statistics_.wait_seconds += waited;
    producers_[own.by].late += waited;
    if (own.problem) std::rethrow_exception(own.problem);
    holding_ = true;
    ++statistics_.batches;
    position_ = own.after;
    return static_cast<isize>(delivered_ % cells_.size());
  }
  // The one that next() will give, if it is there already.
  std::optional<isize> ahead() const {
    const std::lock_guard hold(guard_);
    const std::uint64_t step = delivered_ + (holding_ ? 1 : 0);
    const cell& own = cells_[step % cells_.size()];
    if (own.state != cell::made || own.problem) return {};
    return static_cast<isize>(step % cells_.size());
  }
  const data_position& position() const { return position_; }
  loader_statistics statistics() const {
    const std::lock_guard hold(guard_);
    return statistics_;
  }
  // Steps that wait to be taken.
  isize ready() const {
    const std::lock_guard hold(guard_);
    isize sum = 0;
    for (const cell& each : cells_) sum += each.state == cell::made ? 1 : 0;
    return sum - (holding_ ? 1 : 0);
  }
  // Of each: where it is, how many steps it made, and how long steps waited for it.
  json by_producer() const {
    const std::lock_guard hold(guard_);
    json out(json::array{});
    for (std::size_t p = 0; p < producers_.size(); ++p) {
      json one;
      one.set("at", how_.from[p].text());
      one.set("steps", producers_[p].steps);
      one.set("waited_seconds", producers_[p].late);
      out.push_back(std::move(one));
    }
    return out;
  }
  // Sentences of what happened to producers since the last call.
  std::vector<std::string> take_notes() {
    const std::lock_guard hold(guard_);
    return std::exchange(notes_, {});
  }

 private:
  static constexpr isize most_damaged = 3;
  struct cell {
    enum { open, asked, made } state = open;
    std::uint64_t step = 0;
    std::size_t by = 0;  // who was asked
    isize damaged = 0;   // times that it came damaged
    std::span<std::byte> room;
    step_words words;
    data_position after;
    std::exception_ptr problem;
  };
  struct producer {
    bool lives = false, was_lost = false, refused = false;
    int socket = -1;
    isize steps = 0;
    double late = 0;
    std::string why = "it did not answer";
    meet::bell rings;
  };

  static std::string seconds_text(double seconds) {
    char out[32];
    std::snprintf(out, sizeof out, "%.3g s", seconds);
    return out;
  }
  // What happened, without the rule that it broke: that is told once.
  static std::string happened(const std::exception& problem) {
    std::string all = problem.what();
    for (const message& each : {meeting_refused, producer_unlike, damaged_step}) {
      const std::string before = sentence({"motet: ", each.sentence, ": "}),
                        behind = sentence({". ", each.remedy, " [", each.code, "]"});
      if (all.starts_with(before) && all.ends_with(behind))
        return all.substr(before.size(), all.size() - before.size() - behind.size());
    }
    return all;
  }
  static double seconds_since(clock::time_point from) {
    return std::chrono::duration<double>(clock::now() - from).count();
  }
  cell& at(std::uint64_t step) { return cells_[step % cells_.size()]; }
  std::size_t living() const {
    std::size_t sum = 0;
    for (const producer& each : producers_) sum += each.lives ? 1 : 0;
    return sum;
  }
  // Of those that live, the steps go round.
  std::size_t owner(std::uint64_t step) const {
    std::size_t left = step % std::max<std::size_t>(living(), 1);
    for (std::size_t p = 0; p < producers_.size(); ++p)
      if (producers_[p].lives && left-- == 0) return p;
    return producers_.size();
  }
  void ring_all() const {
    for (const producer& each : producers_) each.rings.ring();
  }
  std::string name(std::size_t p) const { return "the producer at " + how_.from[p].text(); }
  void end() {
    const std::lock_guard hold(guard_);
    ends_ = true;
    for (const producer& each : producers_)
      if (each.socket >= 0) ::shutdown(each.socket, SHUT_RDWR);
    ring_all();
  }
  [[noreturn]] void fail_silent() const {
    std::string all;
    for (std::size_t p = 0; p < producers_.size(); ++p)
      all += (p == 0 ? "" : "; ") + name(p) + ": " + producers_[p].why;
    fail(producers_silent,
         sentence({"for ", seconds_text(how_.limit), ", for step ", delivered_, " of this run: ", all}));
  }

  void hear_producer(std::size_t p) {
    for (;;) {
      try {
        converse(p);
      } catch (const std::exception& problem) {
        lose(p, problem);
      }
      pollfd watched = producers_[p].rings.watched();
      producers_[p].rings.quiet();
      {
        const std::lock_guard hold(guard_);
        if (ends_) return;
      }
      // Whoever rings meanwhile wants steps of those that live.
      for (const tcp::deadline until(0.5); !until.over() && ::poll(&watched, 1, until.milliseconds()) > 0;) {
        producers_[p].rings.quiet();
        const std::lock_guard hold(guard_);
        if (ends_) return;
      }
    }
  }
  void lose(std::size_t p, const std::exception& problem) {
    const std::lock_guard hold(guard_);
    producer& own = producers_[p];
    own.socket = -1;
    own.why = happened(problem);
    const auto* const known = dynamic_cast<const error*>(&problem);
    const bool refuses = known != nullptr && known->code() == std::string_view(producer_unlike.code);
    // At the start it ends the run; later it is one that came in vain.
    if (refuses && statistics_.batches == 0 && !problem_) problem_ = std::current_exception();
    if (refuses && !own.refused && statistics_.batches > 0)
      notes_.push_back(name(p) + " is left out: " + own.why);
    own.refused = refuses;
    if (own.lives) {
      own.lives = false;
      own.was_lost = true;
      if (!ends_) notes_.push_back(name(p) + " is lost, its steps are asked for elsewhere: " + own.why);
      const bool harms = known != nullptr && known->code() == std::string_view(damaged_step.code);
      for (cell& each : cells_) {
        if (each.state != cell::asked || each.by != p) continue;
        each.state = cell::open;
        if (harms) count_damage(p, each, own.why);
      }
      if (living() == 0) silent_since_ = clock::now();
      ring_all();
    }
    there_.notify_all();
  }

  void converse(std::size_t p) {
    const tcp::deadline soon(2);
    const sockaddr_in there = tcp::address_of(how_.from[p].host, how_.from[p].port);
    const tcp::connection host = tcp::reach(there, soon);
    if (!host) fail(meeting_refused, "nobody listens there: " + std::string(std::strerror(errno)));
    {
      const std::lock_guard hold(guard_);
      if (ends_) return;
      producers_[p].socket = host.watched().fd;
    }
    production::greet(host, how_.token, there, name(p));
    host.send(asked_, tcp::deadline(how_.silence), name(p));
    // It opens its data, which may take long.
    const json theirs = read_json(host.receive(tcp::deadline(how_.limit), name(p), production::most_said),
                                  "what a producer has");
    if (const json* problem = theirs.find("problem"); problem != nullptr)
      fail(producer_unlike, name(p) + " cannot open its data: " + problem->string());
    if (const std::string unlike = first_difference(theirs, how_.production); !unlike.empty())
      fail(producer_unlike, name(p) + " has another " + unlike);
    begin(p);
    auto heard = clock::now();
    for (std::size_t owed = 0;;) {
      const std::vector<std::string> requests = claim(p);
      if (owed == 0) heard = clock::now();
      for (const std::string& each : requests) host.send(each, tcp::deadline(how_.silence), name(p));
      pollfd watched[] = {host.watched(), producers_[p].rings.watched()};
      ::poll(watched, 2, 250);
      producers_[p].rings.quiet();
      if (watched[0].revents != 0) take(p, host), heard = clock::now();
      const std::lock_guard hold(guard_);
      if (ends_) return;
      owed = 0;
      for (const cell& each : cells_) owed += each.state == cell::asked && each.by == p ? 1 : 0;
      if (owed > 0 && seconds_since(heard) > how_.silence)
        fail(meeting_refused, "it says nothing for " + seconds_text(how_.silence));
    }
  }
  void begin(std::size_t p) {
    const std::lock_guard hold(guard_);
    producer& own = producers_[p];
    own.lives = true;
    own.refused = false;
    if (own.was_lost) notes_.push_back(name(p) + " is back");
    else if (statistics_.batches > 0) notes_.push_back(name(p) + " joins");
    ring_all();
  }
  // Requests for all steps that are this producer's and nobody's yet.
  std::vector<std::string> claim(std::size_t p) {
    const std::lock_guard hold(guard_);
    std::vector<std::string> out;
    for (std::uint64_t step = delivered_; step < delivered_ + cells_.size(); ++step) {
      cell& own = at(step);
      if (own.state != cell::open || own.step != step || owner(step) != p) continue;
      own.state = cell::asked;
      own.by = p;
      json asked;
      asked.set("step", step);
      add_known(step, asked);
      out.push_back(write_json(asked));
    }
    return out;
  }
  // The nearest place before a step that is known: behind the one before it, or an earlier one.
  void add_known(std::uint64_t step, json& asked) {
    const std::uint64_t first = delivered_ + (holding_ ? 1 : 0);
    for (std::uint64_t before = step; before-- > first;) {
      if (at(before).state != cell::made || at(before).problem) continue;
      asked.set("known", before + 1);
      asked.set("place", place_of(at(before).after));
      return;
    }
    asked.set("known", first);
    asked.set("place", place_of(position_));
  }

  // One answer. What is wrong with a step's bytes costs the step; what is wrong with its head, the producer.
  void take(std::size_t p, const tcp::connection& host) {
    const double patience = std::max(how_.silence, 1.0);
    step_head head;
    production::get_all(host, std::as_writable_bytes(std::span(&head, 1)), patience, name(p));
    if (head.mark != step_head::our_mark || head.checksum != head.own_checksum() || head.run != mark_)
      fail(damaged_step, "the head of what it sends is no head of a step of this run");
    if (head.kind == step_kind::busy) return;
    cell* const own = asked_cell(p, head.step);
    if (own == nullptr || head.words > most_words || head.pixels > own->room.size())
      fail(damaged_step, sentence({"it sends step ", head.step, " with ", head.words, " and ", head.pixels,
                                   " bytes, which is not what it was asked for"}));
    std::string words(head.words, '\0');
    const std::span<std::byte> pixels = own->room.first(head.pixels);
    production::get_all(host, std::as_writable_bytes(std::span(words)), patience, name(p));
    production::get_all(host, pixels, patience, name(p));
    if (head.kind == step_kind::failed) return finish(*own, std::make_exception_ptr(failed(p, words)));
    try {
      if (checksum(std::string_view(words)) != head.words_checksum ||
          checksum(pixels) != head.pixels_checksum)
        fail(damaged_step, "its checksum is another one");
      read_words(std::as_bytes(std::span(words)), static_cast<isize>(pixels.size()), how_.most, own->words);
      hear_(static_cast<isize>(head.step % cells_.size()), own->words);
    } catch (const error& problem) {
      return ask_again(p, *own, happened(problem));
    }
    own->after = {origin_.seed, origin_.fingerprint, origin_.samples, own->words.next, own->words.waiting};
    finish(*own, nullptr);
  }
  static constexpr std::uint64_t most_words = std::uint64_t{1} << 30;
  stopped_elsewhere failed(std::size_t p, const std::string& why) const {
    return stopped_elsewhere(name(p) + " says: " + why);
  }
  cell* asked_cell(std::size_t p, std::uint64_t step) {
    const std::lock_guard hold(guard_);
    cell& own = at(step);
    return own.state == cell::asked && own.step == step && own.by == p ? &own : nullptr;
  }
  void finish(cell& own, std::exception_ptr problem) {
    const std::lock_guard hold(guard_);
    own.problem = std::move(problem);
    own.state = cell::made;
    ++producers_[own.by].steps;
    there_.notify_all();
  }
  void ask_again(std::size_t p, cell& own, const std::string& why) {
    const std::lock_guard hold(guard_);
    notes_.push_back(
        sentence({"step ", own.step, " came damaged from ", name(p), " and is asked for again: ", why}));
    own.state = cell::open;
    count_damage(p, own, why);
    ring_all();
  }
  // Under the guard.
  void count_damage(std::size_t p, cell& own, const std::string& why) {
    if (++own.damaged < most_damaged) return;
    own.state = cell::made;
    own.problem = std::make_exception_ptr(error(
        damaged_step, sentence({"step ", own.step, " of ", name(p), ", ", most_damaged, " times: ", why})));
    there_.notify_all();
  }

  produced_options how_;
  std::function<void(isize, const step_words&)> hear_;
  std::string asked_;
  std::uint64_t mark_ = 0;
  mutable std::mutex guard_;
  std::condition_variable there_;
  const data_position origin_;
  data_position position_;
  std::vector<cell> cells_;
  std::vector<producer> producers_;
  std::uint64_t delivered_ = 0;
  bool holding_ = false, ends_ = false;
  std::exception_ptr problem_;
  clock::time_point silent_since_;
  loader_statistics statistics_;
  std::vector<std::string> notes_;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace motet
