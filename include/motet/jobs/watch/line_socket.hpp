// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/messages.hpp>
#include <motet/jobs/watch/line_feed.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace motet {

// A socket on this machine to which others send lines, and each line is answered by one. Only this user may
// connect. Who sends too much before its answers are read, or stops within a line, is let go; nothing of the
// others is lost. Throws MT-J44.
class line_socket {
 public:
  explicit line_socket(std::string path) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof address.sun_path)
      fail(jobs_no_socket,
           sentence({path_, " has ", path_.size(), " bytes, wanted at most ", sizeof address.sun_path - 1}));
    path_.copy(address.sun_path, path_.size());
    listens_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    // A socket that a killed one left stands in the way; one at which somebody listens does not belong to us.
    struct stat facts {};
    if (listens_ >= 0 && ::lstat(path_.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) {
      if (::connect(listens_, where, sizeof address) == 0) {
        ::close(listens_);
        fail(jobs_no_socket, path_ + ": somebody listens there");
      }
      ::close(listens_);
      ::unlink(path_.c_str());
      listens_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    const mode_t before = ::umask(0177);
    const bool bound = listens_ >= 0 && ::bind(listens_, where, sizeof address) == 0;
    const int why = errno;
    ::umask(before);
    if (!bound || ::listen(listens_, 64) != 0) {
      const int reason = bound ? errno : why;
      if (listens_ >= 0) ::close(listens_);
      fail(jobs_no_socket, path_ + ": " + std::strerror(reason));
    }
  }
  line_socket(const line_socket&) = delete;
  line_socket& operator=(const line_socket&) = delete;
  ~line_socket() {
    for (const auto& each : guests_) ::close(each->handle);
    ::close(listens_);
    ::unlink(path_.c_str());
  }

  // A line, and who waits for its answer.
  struct asked_line {
    fed_line line;
    isize guest = 0;
  };
  // Waits for as long as this at most, and takes what has come.
  std::vector<asked_line> take(int milliseconds, std::vector<std::string>& trouble) {
    std::vector<pollfd> waits{{listens_, POLLIN, 0}};
    for (const auto& each : guests_)
      waits.push_back({each->handle,
                       static_cast<short>((each->gone ? 0 : POLLIN) | (each->answers.empty() ? 0 : POLLOUT)),
                       0});
    std::vector<asked_line> out;
    if (::poll(waits.data(), waits.size(), milliseconds) <= 0) return out;
    for (std::size_t g = 0; g < guests_.size(); ++g) {
      guest& each = *guests_[g];
      if ((waits[g + 1].revents & POLLOUT) != 0) send(each);
      if (!each.gone && (waits[g + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        receive(each, out, trouble);
      // Nobody is there any more, not even for answers.
      if (each.gone && (waits[g + 1].revents & (POLLHUP | POLLERR)) != 0) each.answers.clear();
    }
    if ((waits[0].revents & POLLIN) != 0) welcome();
    let_go(trouble);
    return out;
  }
  void answer(isize who, const std::string& line) {
    for (const auto& each : guests_)
      if (each->number == who) {
        each->answers += line + "\n";
        send(*each);
      }
  }

 private:
  static constexpr std::size_t most_guests = 64, most_unread = std::size_t{1} << 22;
  struct guest {
    int handle;
    isize number;
    line_splitter lines;
    std::string answers{};
    bool gone = false;
  };
  void welcome() {
    while (guests_.size() < most_guests) {
      const int handle = ::accept4(listens_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (handle < 0) return;
      ++count_;
      guests_.push_back(
          std::make_unique<guest>(guest{handle, count_, line_splitter(sentence({"guest ", count_}))}));
    }
  }
  static void receive(guest& from, std::vector<asked_line>& to, std::vector<std::string>& trouble) {
    char bytes[65536];
    const ssize_t got = ::recv(from.handle, bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      from.gone = true;
      if (from.lines.has_open())
        trouble.push_back(from.lines.origin() + " left within a line, which is not taken");
      return;
    }
    std::vector<fed_line> lines;
    from.lines.add({bytes, static_cast<std::size_t>(got)}, lines);
    for (fed_line& each : lines) to.push_back({std::move(each), from.number});
  }
  static void send(guest& to) {
    while (!to.answers.empty()) {
      const ssize_t sent = ::send(to.handle, to.answers.data(), to.answers.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) {
        if (errno == EAGAIN) return;
        to.gone = true;
        to.answers.clear();
        return;
      }
      to.answers.erase(0, static_cast<std::size_t>(sent));
    }
  }
  void let_go(std::vector<std::string>& trouble) {
    std::erase_if(guests_, [&](const std::unique_ptr<guest>& each) {
      const bool slow = each->answers.size() > most_unread;
      if (slow) trouble.push_back(each->lines.origin() + " does not read its answers");
      // A guest that sent its last line may still wait for the answer.
      const bool done = slow || (each->gone && each->answers.empty());
      if (done) ::close(each->handle);
      return done;
    });
  }

  std::string path_;
  int listens_ = -1;
  isize count_ = 0;
  std::vector<std::unique_ptr<guest>> guests_;
};

}  // namespace motet
