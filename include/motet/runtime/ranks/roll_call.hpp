// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace motet {

// A rank that has waited for long asks those that it waits for, and those that they wait for, what they do:
// one that computes will come, one that does not answer will not, and where all wait for each other nobody
// will. A thread of each process answers, while the rank computes as well; it sleeps until it is asked. The
// letters are UDP over IPv4, beside the transport, which may be what is stuck.
class roll_call {
 public:
  struct verdict {
    bool hopeless = false;
    std::vector<std::int32_t> silent;  // who did not answer; hopeless and empty: all wait for each other
  };

  // From the moment that another rank dies, look() takes half of `bound` seconds to say so.
  roll_call(std::int32_t rank, double bound) : rank_(rank), bound_(bound) {
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    sockaddr_in any{};
    any.sin_family = AF_INET;
    socklen_t size = sizeof any;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &size) != 0 ||
        ::pipe2(end_, O_CLOEXEC) != 0) {
      ::close(std::exchange(socket_, -1));
      return;
    }
    port_ = ntohs(any.sin_port);
  }
  roll_call(const roll_call&) = delete;
  roll_call& operator=(const roll_call&) = delete;
  ~roll_call() {
    leave();
    for (const int each : {socket_, end_[0], end_[1]})
      if (each >= 0) ::close(each);
  }

  // This rank can be asked here: machine, port, its addresses.
  std::string address() const {
    if (socket_ < 0) return {};
    std::string text = sentence({machine(), " ", port_});
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return text;
    for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
          (each->ifa_flags & IFF_UP) == 0)
        continue;
      if ((each->ifa_flags & IFF_LOOPBACK) != 0) continue;
      char digits[INET_ADDRSTRLEN] = "";
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, digits,
                  sizeof digits);
      text += std::string(" ") + digits;
    }
    ::freeifaddrs(all);
    return text;
  }
  // This rank answers from now on. addresses: of all ranks, in their order; run: a number that only they
  // know.
  void begin(const std::vector<std::string>& addresses, std::uint64_t run) {
    run_ = run;
    for (const std::string& each : addresses) peers_.push_back(read_address(each));
    if (socket_ >= 0) thread_ = std::thread([this] { answer_all(); });
  }
  // Returns true when a rank answers within so many seconds.
  bool reaches(std::int32_t rank, double seconds) {
    const auto begin = clock::now();
    {
      const std::lock_guard lock(mutex_);
      asked_.clear();
      ++round_;
      asked_[rank];
    }
    for (bool answered = false; since(begin) < seconds;
         std::this_thread::sleep_for(std::chrono::milliseconds(answered ? 0 : 5))) {
      const std::lock_guard lock(mutex_);
      answered = asked_[rank].answered;
      if (answered) return true;
      write(rank, kind::question);
    }
    return false;
  }
  void set_bound(double seconds) { bound_ = seconds; }
  // Answers no more: who waits for this rank from now on waits in vain.
  void leave() {
    if (!thread_.joinable()) return;
    const char over = 0;
    while (::write(end_[1], &over, 1) < 0 && errno == EINTR) {
    }
    thread_.join();
  }
  // Ranks cannot reach each other: whoever is waited for in vain counts as silent, though it may compute.
  void cannot_ask() { deaf_ = true; }
  bool can_ask() const { return !deaf_; }

  // On the rank's own thread, now and then while it waits: for how long, and for whom.
  verdict look(double seconds, const std::vector<std::int32_t>& lacking) {
    const std::lock_guard lock(mutex_);
    const auto now = clock::now();
    if (!waits_) waits_since_ = now - in_seconds(seconds);
    waits_ = true;
    lacking_ = lacking;
    if (seconds < patience()) return {};
    if (deaf_ || peers_.empty()) return {seconds >= patience() + asking(), lacking};
    if (now < next_round_) return {};
    if (asked_.empty()) {
      ++round_;
      for (const std::int32_t each : lacking) asked_[each];
    }
    return go_round(now);
  }
  void goes_on() {
    const std::lock_guard lock(mutex_);
    waits_ = false;
    asked_.clear();
  }

 private:
  using clock = std::chrono::steady_clock;
  enum class kind : std::uint32_t { question, answer };
  static constexpr int tries = 4, most_named = 32;
  struct letter {
    std::uint64_t run = 0;
    kind what = kind::question;
    std::uint32_t round = 0;
    std::int32_t from = 0, waits = 0, named = 0;
    std::int32_t lacking[most_named] = {};
    double seconds = 0;
  };
  struct person {
    int asked = 0;
    clock::time_point next{};
    bool answered = false, waits = false;
    double seconds = 0;
    std::vector<std::int32_t> lacking;
  };

  double patience() const { return 0.4 * bound_; }
  double asking() const { return 0.1 * bound_; }
  static clock::duration in_seconds(double count) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(count));
  }
  static double since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

  // A rank that did not answer is asked again; one that waits as well leads to others. Ends when all have
  // answered, or never will.
  verdict go_round(clock::time_point now) {
    verdict found;
    std::vector<std::int32_t> further;
    bool open = false, somebody_goes_on = false;
    for (auto& [rank, one] : asked_) {
      if (one.answered) {
        const bool waits = one.waits && one.seconds >= patience();
        somebody_goes_on = somebody_goes_on || !waits;
        if (waits) further.insert(further.end(), one.lacking.begin(), one.lacking.end());
      } else if (now < one.next) {
        open = true;
      } else if (one.asked == tries) {
        found.silent.push_back(rank);
      } else {
        open = true;
        ++one.asked;
        one.next = now + in_seconds(asking() / tries);
        write(rank, kind::question);
      }
    }
    for (const std::int32_t each : further) {
      if (each == rank_ || each < 0 || as_size(each) >= peers_.size() || asked_.contains(each)) continue;
      asked_[each];
      open = true;
    }
    if (open) return {};
    asked_.clear();
    next_round_ = now + in_seconds(asking());
    found.hopeless = !found.silent.empty() || !somebody_goes_on;
    return found;
  }

  // Names a machine by something that no two share.
  static std::string machine() {
    std::string name;
    if (std::ifstream file("/proc/sys/kernel/random/boot_id"); file >> name) return name;
    char host[256] = "?";
    ::gethostname(host, sizeof host - 1);
    return host;
  }
  static std::vector<sockaddr_in> read_address(const std::string& text) {
    std::istringstream words(text);
    std::string where, digits;
    int port = 0;
    std::vector<sockaddr_in> found;
    const auto add = [&](const char* address) {
      sockaddr_in one{};
      one.sin_family = AF_INET;
      one.sin_port = htons(static_cast<std::uint16_t>(port));
      if (::inet_pton(AF_INET, address, &one.sin_addr) == 1) found.push_back(one);
    };
    if (!(words >> where >> port)) return found;
    if (where == machine()) add("127.0.0.1");
    while (words >> digits) add(digits.c_str());
    return found;
  }
  void write(std::int32_t to, kind what) const {
    letter out;
    out.run = run_;
    out.what = what;
    out.round = round_;
    out.from = rank_;
    for (const sockaddr_in& each : peers_[as_size(to)]) post(out, each);
  }
  void post(const letter& out, const sockaddr_in& to) const {
    ::sendto(socket_, &out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
             sizeof to);
  }

  void answer_all() {
    pollfd watched[] = {{socket_, POLLIN, 0}, {end_[0], POLLIN, 0}};
    for (;;) {
      if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
      if (watched[1].revents != 0) return;
      if (watched[0].revents == 0) continue;
      letter in;
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const auto got =
          ::recvfrom(socket_, &in, sizeof in, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
      if (got != static_cast<ssize_t>(sizeof in) || in.run != run_) continue;
      const std::lock_guard lock(mutex_);
      if (in.what == kind::question) answer(in.round, from);
      else note(in);
    }
  }
  void answer(std::uint32_t round, const sockaddr_in& to) const {
    letter out;
    out.run = run_;
    out.what = kind::answer;
    out.round = round;
    out.from = rank_;
    out.waits = waits_ ? 1 : 0;
    if (waits_) out.seconds = since(waits_since_);
    out.named = waits_ ? static_cast<std::int32_t>(std::min<std::size_t>(lacking_.size(), most_named)) : 0;
    std::copy_n(lacking_.begin(), out.named, out.lacking);
    post(out, to);
  }
  void note(const letter& in) {
    const auto found = asked_.find(in.from);
    if (in.round != round_ || found == asked_.end() || in.named < 0 || in.named > most_named) return;
    found->second = {found->second.asked, {},         true,
                     in.waits != 0,       in.seconds, {in.lacking, in.lacking + in.named}};
  }

  std::int32_t rank_;
  double bound_;
  int socket_ = -1, end_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  std::uint64_t run_ = 0;
  std::vector<std::vector<sockaddr_in>> peers_;
  bool deaf_ = false;
  std::mutex mutex_;
  bool waits_ = false;
  clock::time_point waits_since_, next_round_;
  std::vector<std::int32_t> lacking_;
  std::uint32_t round_ = 0;
  std::map<std::int32_t, person> asked_;
  std::thread thread_;  // last: it begins with the rest in place
};

}  // namespace motet
