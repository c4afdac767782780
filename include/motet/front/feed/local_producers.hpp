// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/production.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace motet {

struct local_producers_options {
  isize count = 1;
  // A program and its words, which serves at the socket 3 until its standard input ends.
  std::vector<std::string> command;
  std::string token;
};

// Producers of this machine as processes of their own, for as long as this lives: one that ends is started
// again, at the same address, as the address is kept here. They end when this process does, however it does.
class local_producers {
 public:
  explicit local_producers(local_producers_options how) : how_(std::move(how)) {
    if (::pipe2(lives_, O_CLOEXEC) != 0) refuse(errno);
    try {
      for (isize p = 0; p < how_.count; ++p) {
        own& each = all_.emplace_back(std::make_unique<tcp::listener>("127.0.0.1", 0, "a producer"));
        each.begun = clock::now();
        each.process = start(*each.door);
      }
    } catch (const error&) {
      end_all();
      throw;
    }
    thread_ = std::thread([this] { look_after(); });
  }
  local_producers(const local_producers&) = delete;
  local_producers& operator=(const local_producers&) = delete;
  ~local_producers() {
    {
      const std::lock_guard hold(guard_);
      ends_ = true;
    }
    wakes_.notify_all();
    thread_.join();
    end_all();
  }

  std::vector<producer_address> addresses() const {
    std::vector<producer_address> out;
    out.reserve(all_.size());
    for (const own& each : all_) out.push_back({"127.0.0.1", ntohs(each.door->address().sin_port)});
    return out;
  }
  std::vector<pid_t> processes() const {
    const std::lock_guard hold(guard_);
    std::vector<pid_t> out;
    out.reserve(all_.size());
    for (const own& each : all_) out.push_back(each.process);
    return out;
  }

 private:
  using clock = std::chrono::steady_clock;
  struct own {
    explicit own(std::unique_ptr<tcp::listener> at) : door(std::move(at)) {}
    std::unique_ptr<tcp::listener> door;
    pid_t process = 0;
    clock::time_point begun;
  };
  [[noreturn]] static void refuse(int why) {
    fail(threads_refused, std::string("processes that produce: ") + std::strerror(why));
  }

  pid_t start(const tcp::listener& door) const {
    std::vector<std::string> told{"MOTET_TOKEN=" + how_.token};
    for (char** each = ::environ; *each != nullptr; ++each)
      if (std::strncmp(*each, "MOTET_TOKEN=", 12) != 0) told.emplace_back(*each);
    const auto pointers = [](const std::vector<std::string>& to) {
      std::vector<char*> out(to.size() + 1, nullptr);
      std::transform(to.begin(), to.end(), out.begin(),
                     [](const std::string& each) { return const_cast<char*>(each.c_str()); });
      return out;
    };
    const std::vector<char*> words = pointers(how_.command), variables = pointers(told);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&how);
    ::posix_spawn_file_actions_adddup2(&files, lives_[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, door.watched().fd, 3);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    // The terminal's signals are for the run, which ends them.
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    pid_t made = 0;
    const int failed = ::posix_spawn(&made, words[0], &files, &how, words.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&how);
    if (failed != 0) refuse(failed);
    return made;
  }
  // They know nothing that is to be kept.
  void end_all() const {
    for (const own& each : all_)
      if (each.process > 0) ::kill(each.process, SIGKILL), ::waitpid(each.process, nullptr, 0);
    for (const int end : lives_) ::close(end);
  }
  void look_after() {
    std::unique_lock hold(guard_);
    while (!wakes_.wait_for(hold, std::chrono::milliseconds(50), [&] { return ends_; }))
      for (own& each : all_) {
        if (each.process > 0 && ::waitpid(each.process, nullptr, WNOHANG) == each.process) each.process = 0;
        // One that ends as soon as it begins is not begun all the time.
        if (each.process > 0 || clock::now() - each.begun < std::chrono::milliseconds(500)) continue;
        each.begun = clock::now();
        try {
          each.process = start(*each.door);
        } catch (const error&) {
          // There is no room for it now; the others work on.
        }
      }
  }

  local_producers_options how_;
  int lives_[2] = {-1, -1};  // a pipe that nobody writes to
  std::vector<own> all_;
  mutable std::mutex guard_;
  std::condition_variable wakes_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace motet
