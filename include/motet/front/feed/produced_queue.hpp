// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>
#include <motet/data/produce/tell_skips.hpp>
#include <motet/front/feed/produced_window.hpp>
#include <motet/front/feed/share_line.hpp>
#include <motet/tools/feed.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace motet {

struct produced_options {
  std::vector<producer_address> from;
  std::string token{};  // empty: of producers on this machine, which leave it for their user
  json production{};    // what decides the steps: production_of()
  step_limits most{};
  // Hears of samples that producers leave out, called by any thread.
  std::function<void(const skip_log::reported&)> skipped{};
  step_share share{};  // the process looks at pictures of these samples alone; the others' are not sent
  // Who looks at which is found step by step, from its words: that is said here, as soon as it is known, and
  // asked of whoever chooses where a step is at hand.
  std::shared_ptr<share_line> line{};
  std::function<void(const step_input&)> choose{};
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
  // rooms: memory for pictures, one for each step on its way. hear(room, words): a step is there, called by
  // any thread, by one at a time for each room.
  produced_queue(produced_options how, const data_position& from,
                 const std::vector<std::span<std::byte>>& rooms,
                 std::function<void(isize, const step_words&)> hear)
      : how_(std::move(how)),
        hear_(std::move(hear)),
        rooms_(rooms.size()),
        samples_(from.samples),
        steps_(how_.from, from, rooms, how_.limit, how_.share, how_.line != nullptr) {
    if (how_.from.empty()) fail(bad_data_option, "no producer is named");
    if (!fits(how_.share, how_.most.count))
      fail(bad_data_option, sentence({"samples ", write_json(json_of(how_.share)), " of a step of ",
                                      how_.most.count, ", wanted intervals that ascend"}));
    how_.production.set("place", place_of(from));
    asked_ = write_json(how_.production);
    mark_ = checksum(std::string_view(asked_));
    make_threads(
        threads_, "threads that hear producers", 0, static_cast<int>(how_.from.size()),
        [this](int p) { return std::thread([this, p] { hear_producer(as_size(p)); }); },
        [this] { steps_.end(); });
    if (how_.line) how_.line->lead([this](const step_share& share) { steps_.want(share); });
  }
  produced_queue(const produced_queue&) = delete;
  produced_queue& operator=(const produced_queue&) = delete;
  ~produced_queue() {
    if (how_.line) how_.line->lead({});
    steps_.end();
    for (std::thread& each : threads_) each.join();
  }

  // See produced_window.
  template <class Choose>
  isize next(Choose&& choose) {
    return steps_.next(std::forward<Choose>(choose));
  }
  std::optional<isize> ahead() const { return steps_.ahead(); }
  const data_position& position() const { return steps_.position(); }
  loader_statistics statistics() const { return steps_.statistics(); }
  isize ready() const { return steps_.ready(); }
  json by_producer() const { return steps_.by_producer(); }
  std::vector<std::string> take_notes() { return steps_.take_notes(); }

 private:
  using clock = std::chrono::steady_clock;

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

  void hear_producer(std::size_t p) {
    for (;;) {
      try {
        converse(p);
      } catch (const std::exception& problem) {
        steps_.lose(p, problem, happened(problem));
      }
      pollfd watched = steps_.rings(p).watched();
      steps_.rings(p).quiet();
      if (steps_.ends()) return;
      // Whoever rings meanwhile wants steps of those that live.
      for (const tcp::deadline until(0.5); !until.over() && ::poll(&watched, 1, until.milliseconds()) > 0;) {
        steps_.rings(p).quiet();
        if (steps_.ends()) return;
      }
    }
  }
  void converse(std::size_t p) {
    const std::string own = steps_.name(p);
    const tcp::deadline soon(2);
    const sockaddr_in there = tcp::address_of(how_.from[p].host, how_.from[p].port);
    const tcp::connection host = tcp::reach(there, soon);
    if (!host) fail(meeting_refused, "nobody listens there: " + std::string(std::strerror(errno)));
    if (!steps_.reach(p, host.watched().fd)) return;
    production::greet(host, how_.token, there, own);
    host.send(asked_, tcp::deadline(how_.silence), own);
    // It opens its data, which may take long.
    const json theirs =
        read_json(host.receive(tcp::deadline(how_.limit), own, production::most_said), "what a producer has");
    if (const json* problem = theirs.find("problem"); problem != nullptr)
      fail(producer_unlike, own + " cannot open its data: " + problem->string());
    if (const std::string unlike = first_difference(theirs, how_.production); !unlike.empty())
      fail(producer_unlike, own + " has another " + unlike);
    steps_.begin(p);
    auto heard = clock::now();
    for (std::size_t owed = 0;;) {
      const std::vector<std::string> requests = steps_.claim(p);
      if (owed == 0) heard = clock::now();
      for (const std::string& each : requests) host.send(each, tcp::deadline(how_.silence), own);
      pollfd watched[] = {host.watched(), steps_.rings(p).watched()};
      ::poll(watched, 2, 250);
      steps_.rings(p).quiet();
      if (watched[0].revents != 0) take(p, host), heard = clock::now();
      if (steps_.ends()) return;
      owed = steps_.owed(p);
      if (owed > 0 && std::chrono::duration<double>(clock::now() - heard).count() > how_.silence)
        fail(meeting_refused, "it says nothing for " + producer_roster::seconds_text(how_.silence));
    }
  }

  // One answer. What is wrong with a step's bytes costs the step; what is wrong with its head, the producer.
  void take(std::size_t p, const tcp::connection& host) {
    const double patience = std::max(how_.silence, 1.0);
    step_head head;
    production::get_all(host, std::as_writable_bytes(std::span(&head, 1)), patience, steps_.name(p));
    if (head.mark != step_head::our_mark || head.checksum != head.own_checksum() || head.run != mark_)
      fail(damaged_step, "the head of what it sends is no head of a step of this run");
    if (head.kind == step_kind::busy) return;
    if (head.kind == step_kind::skipped) return hear_skips(p, host, head);
    produced_window::cell* const own = steps_.asked_cell(p, head.step);
    if (own == nullptr || head.words > most_words || head.pixels > own->room.size())
      fail(damaged_step, sentence({"it sends step ", head.step, " with ", head.words, " and ", head.pixels,
                                   " bytes, which is not what it was asked for"}));
    std::string words(head.words, '\0');
    const std::span<std::byte> pixels = own->room.first(head.pixels);
    production::get_all(host, std::as_writable_bytes(std::span(words)), patience, steps_.name(p));
    production::get_all(host, pixels, patience, steps_.name(p));
    if (head.kind == step_kind::failed) return steps_.finish(*own, std::make_exception_ptr(failed(p, words)));
    try {
      if (own->wanted != asked_parts::pictures) take_words(words, head, *own);
      else if (head.words != 0 || head.words_checksum != own->words_checksum)
        fail(damaged_step, "its pictures are not those of its words");
      if (own->wanted != asked_parts::words) place_pictures(head, *own);
      if (own->wanted != asked_parts::pictures) hear_(static_cast<isize>(head.step % rooms_), own->words);
    } catch (const error& problem) {
      return steps_.ask_again(p, *own, happened(problem));
    }
    if (own->wanted == asked_parts::words) steps_.hear(*own);
    else steps_.finish(*own, nullptr);
  }
  void take_words(const std::string& words, const step_head& head, produced_window::cell& own) const {
    if (checksum(std::string_view(words)) != head.words_checksum)
      fail(damaged_step, "its checksum is another one");
    own.words_checksum = head.words_checksum;
    own.all_bytes = read_words(std::as_bytes(std::span(words)), how_.most, own.words);
  }
  void hear_skips(std::size_t p, const tcp::connection& host, const step_head& head) const {
    if (head.words > most_skips || head.pixels != 0)
      fail(damaged_step, sentence({"it skipped samples in ", head.words, " bytes"}));
    std::string words(head.words, '\0');
    production::get_all(host, std::as_writable_bytes(std::span(words)), std::max(how_.silence, 1.0),
                        steps_.name(p));
    if (checksum(std::string_view(words)) != head.words_checksum)
      fail(damaged_step, "its checksum is another one");
    for (const skip_log::reported& each : read_skips(words, samples_))
      if (how_.skipped) how_.skipped(each);
  }
  // Of the pictures of all samples this process gets its share.
  void place_pictures(const step_head& head, produced_window::cell& own) const {
    const step_share& share = own.chosen ? *own.chosen : how_.share;
    const std::vector<interval> parts = parts_of(share, picture_begins(own.words, own.all_bytes));
    own.bytes = size_of(parts);
    if (static_cast<isize>(head.pixels) != own.bytes)
      fail(damaged_step, sentence({"bytes of pictures: got ", head.pixels, ", wanted ", own.bytes}));
    const std::byte* came = own.room.data();
    const auto next = [&](const interval& part) { return std::exchange(came, came + part.size()); };
    if (checksum_of_parts(parts, next) != head.pixels_checksum)
      fail(damaged_step, "its checksum is another one");
    spread_parts(parts, own.room.data());
  }
  static constexpr std::uint64_t most_words = std::uint64_t{1} << 30, most_skips = std::uint64_t{1} << 24;
  stopped_elsewhere failed(std::size_t p, const std::string& why) const {
    return stopped_elsewhere(steps_.name(p) + " says: " + why);
  }

  produced_options how_;
  std::function<void(isize, const step_words&)> hear_;
  std::string asked_;
  std::uint64_t mark_ = 0;
  std::uint64_t rooms_;
  isize samples_;  // of the data
  produced_window steps_;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace motet
