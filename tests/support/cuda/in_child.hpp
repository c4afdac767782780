// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace motet::laws {

// `ended` says what became of a piece of work in a process of its own, and what it said on stderr.
struct ended {
  bool well = false;
  std::string said;
  bool says(const char* text) const { return said.find(text) != std::string::npos; }
};

// Runs work() in a child, which ends as a program does when `to_the_end`, and at once otherwise.
template <class Work>
ended in_child(Work&& work, bool to_the_end = false) {
  int ends[2];
  ended found;
  if (pipe(ends) != 0) return found;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], 2);
    for (const int each : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(each, SIG_DFL);
    work();
    if (to_the_end) std::exit(0);
    _exit(0);
  }
  close(ends[1]);
  char bytes[4096];
  for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof bytes)) > 0;)
    found.said.append(bytes, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  found.well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return found;
}

}  // namespace motet::laws
