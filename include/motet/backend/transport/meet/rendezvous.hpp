// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/rendezvous_options.hpp>
#include <motet/backend/transport/meet/socket.hpp>
#include <motet/format/sha256.hpp>

#include <exception>
#include <random>
#include <vector>

namespace motet {

// All ranks connect to rank 0 by TCP. Rank 0 listens at the named address alone, and both sides prove that
// they know the token without saying it. Meetings are few and small: what is large goes by other ways.
class rendezvous {
 public:
  explicit rendezvous(rendezvous_options options) : options_(std::move(options)) {
    if (options_.ranks < 1 || options_.rank < 0 || options_.rank >= options_.ranks)
      fail(meeting_refused, sentence({"rank ", options_.rank, " of ", options_.ranks}));
    if (options_.ranks == 1) return;
    if (!tcp::is_loopback(options_.address, options_.port) && options_.token.size() < 16)
      fail(meeting_refused,
           sentence({where(), " is no loopback address, so a token of at least 16 characters is wanted, got ",
                     options_.token.size(), " (MOTET_TOKEN)"}));
    const tcp::deadline until(options_.seconds);
    if (options_.rank == 0) welcome_all(until);
    else join(until);
  }

  std::int32_t rank() const { return options_.rank; }
  std::int32_t ranks() const { return options_.ranks; }

  // What each rank brings, in their order. All ranks come to the same meetings in the same order. When one
  // does not come, all are told which.
  std::vector<std::string> all_gather(const std::string& own) {
    std::vector<std::string> all(as_size(ranks()));
    all[as_size(rank())] = own;
    if (ranks() == 1) return all;
    const tcp::deadline until(options_.seconds);
    const auto who = [this](std::size_t r) { return sentence({"rank ", r, " at ", where()}); };
    if (rank() == 0) {
      for (std::size_t r = 1; r < all.size(); ++r) try {
          all[r] = peers_[r].receive(until, who(r));
        } catch (const error&) {
          tell_others(
              sentence({std::string(1, failed), "rank 0 at ", where(), " heard nothing from rank ", r}));
          throw;
        }
      std::string together(1, heard);
      for (const std::string& each : all) append(together, each);
      for (std::size_t r = 1; r < all.size(); ++r) peers_[r].send(together, until, who(r));
      return all;
    }
    // Rank 0 may be gone, and have said why; or it waits for others as long, and then says for whom.
    std::exception_ptr gone;
    try {
      peers_[0].send(own, until, who(0));
    } catch (const error&) {
      gone = std::current_exception();
    }
    std::string together;
    try {
      together = peers_[0].receive(tcp::deadline(gone ? 1 : options_.seconds + 5), who(0));
    } catch (const error&) {
      if (gone) std::rethrow_exception(gone);
      throw;
    }
    if (together.empty() || together[0] != heard)
      fail(meeting_refused, together.empty() ? who(0) + " says nothing" : together.substr(1));
    std::size_t at = 1;
    for (std::string& each : all) each = part(together, at);
    return all;
  }
  void barrier() { all_gather({}); }

 private:
  static constexpr std::size_t nonce_size = 32;
  static constexpr char heard = 'a', failed = 'f';  // how rank 0's answers begin

  std::string where() const { return sentence({options_.address, ":", options_.port}); }
  static std::string fresh() {
    std::random_device source;
    std::string bytes(nonce_size, '\0');
    for (char& each : bytes) each = static_cast<char>(source());
    return bytes;
  }
  // That `role` knows the token, for these two numbers, which nobody can have seen before.
  std::string proof(const std::string& role, const std::string& asked, const std::string& own) const {
    const std::string text = sentence({"motet ", role, " of ", options_.ranks, '\n', asked, own});
    const digest made =
        keyed_digest(options_.token, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return {reinterpret_cast<const char*>(made.data()), made.size()};
  }
  static bool matches(const std::string& a, const std::string& b) {
    digest one{}, two{};
    if (a.size() != one.size() || b.size() != two.size()) return false;
    std::memcpy(one.data(), a.data(), one.size());
    std::memcpy(two.data(), b.data(), two.size());
    return same(one, two);
  }

  void welcome_all(const tcp::deadline& until) {
    peers_.resize(as_size(options_.ranks));
    const tcp::listener door(options_.address, options_.port);
    for (std::int32_t missing = options_.ranks - 1; missing > 0;) {
      tcp::connection guest = door.accept(until, [&] { return missing_ranks(); });
      // Strangers and ranks of other runs are sent away, and keep nobody waiting for long.
      const tcp::deadline soon(std::min(5.0, options_.seconds));
      try {
        const std::string asked = fresh();
        guest.send(asked, soon, "a guest");
        const std::string said = guest.receive(soon, "a guest", 256);
        std::size_t at = 0;
        const std::string name = part(said, at), own = part(said, at), proven = part(said, at);
        if (!matches(proven, proof("rank " + name, asked, own))) continue;
        const std::size_t rank = number(name);
        if (rank == 0 || rank >= peers_.size() || peers_[rank]) {
          guest.send("taken", soon, "a guest");
          continue;
        }
        guest.send(proof("host", own, asked), soon, "a guest");
        peers_[rank] = std::move(guest);
        --missing;
      } catch (const error&) {
      }
    }
  }
  void join(const tcp::deadline& until) {
    peers_.resize(1);
    peers_[0] = tcp::connect(options_.address, options_.port, until);
    const std::string asked = peers_[0].receive(until, where(), 256), own = fresh(),
                      name = std::to_string(options_.rank);
    std::string said;
    append(said, name);
    append(said, own);
    append(said, proof("rank " + name, asked, own));
    peers_[0].send(said, until, where());
    std::string answer;
    try {
      answer = peers_[0].receive(until, where(), 256);
    } catch (const error& problem) {
      fail(meeting_refused, sentence({where(), " did not let rank ", name, " of ", options_.ranks,
                                      " in (another token, or another run): ", problem.what()}));
    }
    if (answer == "taken")
      fail(meeting_refused,
           sentence({"there are two ranks ", name, " of ", options_.ranks, " at ", where()}));
    if (!matches(answer, proof("host", own, asked)))
      fail(meeting_refused, where() + " does not know the token of this run");
  }
  // Whoever still listens.
  void tell_others(const std::string& text) const {
    const tcp::deadline soon(1);
    for (std::size_t r = 1; r < peers_.size(); ++r) try {
        peers_[r].send(text, soon, "a rank");
      } catch (const error&) {
      }
  }
  std::string missing_ranks() const {
    std::string text = "at " + where() + " these ranks did not come:";
    int named = 0;
    for (std::size_t r = 1; r < peers_.size(); ++r)
      if (!peers_[r] && named++ < 8) text += ' ' + std::to_string(r);
    return text + (named > 8 ? sentence({" and ", named - 8, " more"}) : "");
  }
  static std::size_t number(const std::string& digits) {
    std::size_t value = 0;
    if (digits.empty() || digits.size() > 9) return 0;
    for (const char each : digits) {
      if (each < '0' || each > '9') return 0;
      value = value * 10 + as_size(each - '0');
    }
    return value;
  }
  // Texts one behind the other, each after its length.
  static void append(std::string& to, const std::string& text) {
    const auto size = static_cast<std::uint64_t>(text.size());
    to.append(reinterpret_cast<const char*>(&size), sizeof size);
    to += text;
  }
  static std::string part(const std::string& of, std::size_t& at) {
    std::uint64_t size = 0;
    if (of.size() - at < sizeof size) fail(meeting_refused, "a message ends too early");
    std::memcpy(&size, of.data() + at, sizeof size);
    at += sizeof size;
    if (of.size() - at < size) fail(meeting_refused, "a message ends too early");
    at += as_size(size);
    return of.substr(at - as_size(size), as_size(size));
  }

  rendezvous_options options_;
  std::vector<tcp::connection> peers_;  // of rank 0 by rank, of others rank 0 alone
};

}  // namespace motet
