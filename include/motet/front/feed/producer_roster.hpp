// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/meet/bell.hpp>
#include <motet/front/feed/production.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace motet {

// The producers of a run as one of its processes knows them: which of them answer, and what became of the
// others. Whoever uses it from several threads guards it.
class producer_roster {
 public:
  using clock = std::chrono::steady_clock;

  struct producer {
    bool lives = false, was_lost = false, refused = false;
    int socket = -1;
    isize steps = 0, picture_bytes = 0;
    double late = 0;
    std::string why = "it did not answer";
    meet::bell rings;
  };

  explicit producer_roster(const std::vector<producer_address>& from)
      : from_(from), all_(from.size()), silent_since_(clock::now()) {}

  std::size_t size() const { return all_.size(); }
  producer& at(std::size_t p) { return all_[p]; }
  const producer& at(std::size_t p) const { return all_[p]; }
  std::string name(std::size_t p) const { return "the producer at " + from_[p].text(); }

  std::size_t living() const {
    return as_size(std::count_if(all_.begin(), all_.end(), [](const producer& each) { return each.lives; }));
  }
  // Of those that live, the steps go round.
  std::size_t owner(std::uint64_t step) const {
    std::size_t left = step % std::max<std::size_t>(living(), 1);
    for (std::size_t p = 0; p < all_.size(); ++p)
      if (all_[p].lives && left-- == 0) return p;
    return all_.size();
  }
  void ring_all() const {
    for (const producer& each : all_) each.rings.ring();
  }
  void hang_up_all() const {
    for (const producer& each : all_)
      if (each.socket >= 0) ::shutdown(each.socket, SHUT_RDWR);
    ring_all();
  }

  // begun: steps are made by now, so that one that comes is told.
  void begin(std::size_t p, bool begun) {
    producer& own = all_[p];
    own.lives = true;
    own.refused = false;
    if (own.was_lost) note(name(p) + " is back");
    else if (begun) note(name(p) + " joins");
    ring_all();
  }
  // It does not fit this run.
  void leave_out(std::size_t p) {
    if (!all_[p].refused) note(name(p) + " is left out: " + all_[p].why);
  }
  void lose(std::size_t p) {
    all_[p].lives = false;
    all_[p].was_lost = true;
    if (living() == 0) silent_since_ = clock::now();
  }

  // Says whether none answered for so many seconds, and what each did.
  bool silent_for(double seconds) const {
    return living() == 0 && std::chrono::duration<double>(clock::now() - silent_since_).count() > seconds;
  }
  std::string what_each_did() const {
    std::string all;
    for (std::size_t p = 0; p < all_.size(); ++p) all += (p == 0 ? "" : "; ") + name(p) + ": " + all_[p].why;
    return all;
  }
  static std::string seconds_text(double seconds) {
    char out[32];
    std::snprintf(out, sizeof out, "%.3g s", seconds);
    return out;
  }

  // Tells of each producer where it is, how many steps and bytes of pictures it sent, and how long steps
  // waited for it.
  json by_producer() const {
    json out(json::array{});
    for (std::size_t p = 0; p < all_.size(); ++p) {
      json one;
      one.set("at", from_[p].text());
      one.set("steps", all_[p].steps);
      one.set("picture_bytes", all_[p].picture_bytes);
      one.set("waited_seconds", all_[p].late);
      out.push_back(std::move(one));
    }
    return out;
  }
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }
  // Sentences of what happened since the last call.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  std::vector<producer_address> from_;
  std::vector<producer> all_;
  clock::time_point silent_since_;
  std::vector<std::string> notes_;
};

}  // namespace motet
