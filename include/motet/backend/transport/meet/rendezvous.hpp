// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/rendezvous_options.hpp>
#include <motet/backend/transport/meet/proof.hpp>
#include <motet/backend/transport/meet/socket.hpp>
#include <motet/backend/transport/meet/token_file.hpp>

#include <exception>
#include <optional>
#include <vector>

namespace motet {

// All ranks connect to rank 0 by TCP. Rank 0 listens at the named address alone, and both sides prove that
// they know the token without saying it. On a loopback address rank 0 makes one where none is given, and
// leaves it in a file of its user's. Meetings are few and small: what is large goes by other ways.
class rendezvous {
 public:
  explicit rendezvous(rendezvous_options options) : options_(std::move(options)) {
    if (options_.ranks < 1 || options_.rank < 0 || options_.rank >= options_.ranks)
      fail(meeting_refused, sentence({"rank ", options_.rank, " of ", options_.ranks}));
    if (options_.ranks == 1) return;
    const tcp::deadline until(options_.seconds);
    const sockaddr_in there = tcp::address_of(options_.address, options_.port, until);
    at_ = ntohl(there.sin_addr.s_addr);
    if (!tcp::is_loopback(there) && options_.token.size() < 16)
      fail(meeting_refused,
           sentence({where(), " is no loopback address, so a token of at least 16 characters is wanted, got ",
                     options_.token.size(), " (MOTET_TOKEN)"}));
    if (options_.rank == 0) welcome_all(until);
    else join(until);
  }

  std::int32_t rank() const { return options_.rank; }
  std::int32_t ranks() const { return options_.ranks; }

  // Each rank brings a text; all get them, in the order of ranks. All ranks come to the same meetings in the
  // same order. When one does not come, all are told which.
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
      for (const std::string& each : all) meet::append(together, each);
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
    for (std::string& each : all) each = meet::part(together, at);
    return all;
  }
  void barrier() { all_gather({}); }

 private:
  static constexpr char heard = 'a', failed = 'f';  // how rank 0's answers begin

  std::string where() const { return sentence({options_.address, ":", options_.port}); }
  std::string proof(const std::string& role, const std::string& asked, const std::string& own) const {
    return meet::proof(options_.token, sentence({role, " of ", options_.ranks}), asked, own);
  }

  // One that may be a rank of this run, and may as well say nothing.
  struct guest {
    tcp::connection at;
    std::string asked, said;
    tcp::deadline until = tcp::deadline(5), moment = tcp::deadline(0.5);
  };
  // Guests are heard all at once: strangers, ranks of other runs and those that say nothing keep nobody
  // waiting.
  void welcome_all(const tcp::deadline& until) {
    peers_.resize(as_size(options_.ranks));
    const tcp::listener door(options_.address, options_.port);
    // Behind the door, as whoever cannot listen must not take away another's.
    std::optional<token_file> left;
    if (options_.token.empty()) left.emplace(at_, options_.port, options_.token = fresh_token());
    // More than there are ranks may come. A crowd waits outside until those are gone who had a moment.
    const std::size_t most = peers_.size() + 64;
    std::vector<guest> guests;
    std::vector<pollfd> watched;
    for (std::int32_t missing = options_.ranks - 1; missing > 0;) {
      if (until.over()) fail(meeting_refused, missing_ranks() + ", in " + until.describe());
      const bool crowded = guests.size() >= most;
      int wait = crowded ? 50 : until.milliseconds();
      watched.assign(1, door.watched());
      if (crowded) watched[0].fd = -1;
      for (const guest& each : guests) {
        watched.push_back(each.at.watched());
        wait = std::min(wait, each.until.milliseconds());
      }
      ::poll(watched.data(), watched.size(), wait);
      for (guest& each : guests) {
        missing -= hear(each);
        if (crowded && each.at && each.moment.over()) turn_away(each, "late");
      }
      std::erase_if(guests, [](const guest& each) { return !each.at; });
      while (guests.size() < most) {
        tcp::connection next = door.take();
        if (!next) break;
        guests.push_back({std::move(next), meet::fresh_nonce(), {}});
        ask(guests.back());
      }
    }
  }
  static void ask(guest& who) {
    try {
      who.at.send(who.asked, who.until, "a guest");
    } catch (const error&) {
      who.at = {};
    }
  }
  // Says whether this guest is a rank that was missing.
  bool hear(guest& who) try {
    if (!who.at.take(who.said, "a guest", 256)) {
      if (who.until.over()) turn_away(who, "late");
      return false;
    }
    std::size_t at = sizeof(std::uint64_t);
    const std::string name = meet::part(who.said, at), own = meet::part(who.said, at),
                      proven = meet::part(who.said, at);
    if (!meet::same_proof(proven, proof("rank " + name, who.asked, own)))
      return turn_away(who, "token"), false;
    const std::size_t rank = number(name);
    if (rank == 0 || rank >= peers_.size() || peers_[rank]) return turn_away(who, "taken"), false;
    who.at.send(proof("host", own, who.asked), who.until, "a guest");
    peers_[rank] = std::move(who.at);
    return true;
  } catch (const error&) {
    who.at = {};
    return false;
  }
  // A word says why; it is shorter than a proof.
  static void turn_away(guest& who, const char* why) {
    try {
      who.at.send(why, tcp::deadline(0.1), "a guest");
    } catch (const error&) {
    }
    who.at = {};
  }
  void join(const tcp::deadline& until) {
    peers_.resize(1);
    peers_[0] = tcp::connect(options_.address, options_.port, until);
    const std::string asked = peers_[0].receive(until, where(), 256), own = meet::fresh_nonce(),
                      name = std::to_string(options_.rank);
    // The rank that listens has asked, so its token is there by now.
    if (options_.token.empty()) options_.token = token_file::read(at_, options_.port);
    std::string said;
    meet::append(said, name);
    meet::append(said, own);
    meet::append(said, proof("rank " + name, asked, own));
    peers_[0].send(said, until, where());
    const auto refused = [&](const std::string& why) {
      fail(meeting_refused,
           sentence({where(), " did not let rank ", name, " of ", options_.ranks, " in ", why}));
    };
    std::string answer;
    try {
      answer = peers_[0].receive(until, where(), 256);
    } catch (const error& problem) {
      refused(std::string("(another token, or another run): ") + problem.what());
    }
    if (answer == "token") refused("(another token, or another run)");
    // A crowd came, or this rank slept: it comes again while there is time.
    if (answer == "late" && !until.over()) return join(until);
    if (answer == "taken")
      fail(meeting_refused,
           sentence({"there are two ranks ", name, " of ", options_.ranks, " at ", where()}));
    if (!meet::same_proof(answer, proof("host", own, asked)))
      fail(meeting_refused, where() + " does not know the token of this run");
  }
  // Ranks that no longer listen are passed over.
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
  rendezvous_options options_;
  std::uint32_t at_ = 0;                // the address where rank 0 listens
  std::vector<tcp::connection> peers_;  // of rank 0 by rank, of others rank 0 alone
};

}  // namespace motet
