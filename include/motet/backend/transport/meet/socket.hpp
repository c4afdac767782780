// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// TCP, where every wait has an end.

namespace motet::tcp {

class deadline {
 public:
  explicit deadline(double seconds)
      : end_(clock::now() +
             std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds))),
        seconds_(seconds) {}
  bool over() const { return clock::now() >= end_; }
  int milliseconds() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - clock::now()).count() + 1;
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
  }
  std::string describe() const { return std::to_string(seconds_) + " s"; }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point end_;
  double seconds_;
};

// An IPv4 address or a host's name, or the name of an interface of this machine. A host that begins later
// gets its name later, as pods of a cluster do: it is asked for until then.
inline sockaddr_in address_of(const std::string& name, std::uint16_t port,
                              const deadline& until = deadline(0)) {
  sockaddr_in found{};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
      if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET && name == each->ifa_name)
        std::memcpy(&found, each->ifa_addr, sizeof found);
    ::freeifaddrs(all);
  }
  if (found.sin_family != AF_INET) {
    addrinfo wanted{}, *list = nullptr;
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    const bool possible = std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    });
    int failed = 0;
    while ((failed = ::getaddrinfo(name.c_str(), nullptr, &wanted, &list)) != 0 && possible && !until.over())
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (failed != 0)
      fail(meeting_refused,
           "\"" + name + "\" is neither an address nor an interface: " + ::gai_strerror(failed));
    std::memcpy(&found, list->ai_addr, sizeof found);
    ::freeaddrinfo(list);
  }
  found.sin_port = htons(port);
  return found;
}
inline bool is_loopback(const sockaddr_in& address) { return ntohl(address.sin_addr.s_addr) >> 24 == 127; }

// One end of a connection; messages are whole texts.
class connection {
 public:
  connection() = default;
  explicit connection(int socket) : socket_(socket) {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  connection(connection&& from) noexcept : socket_(std::exchange(from.socket_, -1)) {}
  connection& operator=(connection&& from) noexcept {
    std::swap(socket_, from.socket_);
    return *this;
  }
  ~connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  explicit operator bool() const { return socket_ >= 0; }

  void send(const std::string& text, const deadline& until, const std::string& to) const {
    const auto size = static_cast<std::uint64_t>(text.size());
    move(reinterpret_cast<char*>(const_cast<std::uint64_t*>(&size)), sizeof size, POLLOUT, until, to);
    move(const_cast<char*>(text.data()), text.size(), POLLOUT, until, to);
  }
  // `most` bounds what a stranger may make us take.
  std::string receive(const deadline& until, const std::string& from,
                      std::uint64_t most = std::uint64_t{1} << 30) const {
    std::uint64_t size = 0;
    move(reinterpret_cast<char*>(&size), sizeof size, POLLIN, until, from);
    if (size > most)
      fail(meeting_refused, sentence({from, " sends ", size, " bytes, at most ", most, " are taken"}));
    std::string text(as_size(size), '\0');
    move(text.data(), text.size(), POLLIN, until, from);
    return text;
  }

  // Bytes without a size before them, whose number both ends know.
  void put(std::span<const std::byte> bytes, const deadline& until, const std::string& to) const {
    move(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size(), POLLOUT, until, to);
  }
  void get(std::span<std::byte> bytes, const deadline& until, const std::string& from) const {
    move(reinterpret_cast<char*>(bytes.data()), bytes.size(), POLLIN, until, from);
  }

  // Adds what has come to `so_far`, without waiting. Whether a whole text is there, behind its size.
  bool take(std::string& so_far, const std::string& from, std::uint64_t most) const {
    for (;;) {
      std::uint64_t size = 0;
      const bool sized = so_far.size() >= sizeof size;
      if (sized) std::memcpy(&size, so_far.data(), sizeof size);
      if (size > most)
        fail(meeting_refused, sentence({from, " sends ", size, " bytes, at most ", most, " are taken"}));
      const std::size_t left = sizeof size + as_size(size) - so_far.size();
      if (sized && left == 0) return true;
      char piece[256];
      const ssize_t moved = ::recv(socket_, piece, std::min(sizeof piece, left), MSG_DONTWAIT);
      if (moved == 0) fail(meeting_refused, from + " closed the connection");
      if (moved < 0 && errno == EAGAIN) return false;
      if (moved < 0 && errno != EINTR) fail(meeting_refused, from + ": " + std::strerror(errno));
      if (moved > 0) so_far.append(piece, as_size(moved));
    }
  }
  pollfd watched() const { return {socket_, POLLIN, 0}; }

 private:
  void move(char* at, std::size_t left, short way, const deadline& until, const std::string& other) const {
    while (left > 0) {
      pollfd watched{socket_, way, 0};
      const int ready = ::poll(&watched, 1, until.milliseconds());
      if (ready == 0 && until.over())
        fail(meeting_refused,
             other + " did not " + (way == POLLIN ? "answer" : "listen") + " in " + until.describe());
      if (ready <= 0) continue;
      // A long text would fill what the other end's machine takes, and this wait would have no end.
      const ssize_t moved = way == POLLIN ? ::recv(socket_, at, left, MSG_DONTWAIT)
                                          : ::send(socket_, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (moved == 0) fail(meeting_refused, other + " closed the connection");
      if (moved < 0 && errno != EINTR && errno != EAGAIN)
        fail(meeting_refused, other + ": " + std::strerror(errno));
      if (moved < 0) continue;
      at += moved;
      left -= as_size(moved);
    }
  }
  int socket_ = -1;
};

// Waits for guests at one address of this machine.
class listener {
 public:
  // Port 0: any that is free.
  listener(const std::string& name, std::uint16_t port, const char* who = "rank 0")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in here = address_of(name, port);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 &&
        ::listen(socket_, 1024) == 0)
      return;
    const std::string why = std::strerror(errno);
    ::close(socket_);
    fail(meeting_refused, sentence({who, " cannot listen at ", name, ":", port, ": ", why}));
  }
  // One that listens already, and was handed down.
  explicit listener(int socket) : socket_(socket) {}
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener() { ::close(socket_); }

  // Lets in a guest that stands at the door, without waiting; the result is none where nobody does.
  connection take() const {
    const int guest = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    return guest >= 0 ? connection(guest) : connection();
  }
  pollfd watched() const { return {socket_, POLLIN, 0}; }
  sockaddr_in address() const {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size);
    return own;
  }
  // missing() says who did not come in time.
  template <class Missing>
  connection accept(const deadline& until, Missing&& missing) const {
    for (;;) {
      pollfd watched{socket_, POLLIN, 0};
      if (::poll(&watched, 1, until.milliseconds()) > 0)
        if (connection guest = take()) return guest;
      if (until.over()) fail(meeting_refused, missing() + ", in " + until.describe());
    }
  }

 private:
  int socket_;
};

// Says whether both ends are one: a socket that asks for a port of its own machine, where nobody listens, may
// be given that very port, and meets itself.
inline bool meets_itself(int socket) {
  sockaddr_in own{}, other{};
  socklen_t size = sizeof own, other_size = sizeof other;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size) == 0 &&
         own.sin_port == other.sin_port && own.sin_addr.s_addr == other.sin_addr.s_addr;
}

// One try, with an end of its own: a machine that is gone says nothing. None, and errno, where nobody
// listens.
inline connection reach(const sockaddr_in& there, const deadline& until) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  connection made(socket);
  int why = 0;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) why = errno;
  if (why == EINPROGRESS) {
    pollfd watched{socket, POLLOUT, 0};
    while (::poll(&watched, 1, until.milliseconds()) == 0 && !until.over()) {
    }
    why = watched.revents == 0 ? ETIMEDOUT : 0;
    socklen_t size = sizeof why;
    if (why == 0) ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &why, &size);
  }
  if (why == 0 && meets_itself(socket)) why = ECONNREFUSED;
  if (why == 0) return made;
  errno = why;
  return {};
}

// Tries again until somebody listens there.
inline connection connect(const std::string& name, std::uint16_t port, const deadline& until) {
  const sockaddr_in there = address_of(name, port, until);
  for (;;) {
    if (connection made = reach(there, until)) return made;
    const std::string why = std::strerror(errno);
    if (until.over())
      fail(meeting_refused,
           sentence({"nobody listens at ", name, ":", port, " for ", until.describe(), ": ", why}));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace motet::tcp
