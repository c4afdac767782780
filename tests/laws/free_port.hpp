// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace motet::laws {

// A port of this machine that nobody else is given until this process ends: it stays bound, without
// listening, and a listener may bind it once more.
inline std::uint16_t free_port() {
  const int kept = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  ::setsockopt(kept, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  ::bind(kept, reinterpret_cast<const sockaddr*>(&here), sizeof here);
  ::getsockname(kept, reinterpret_cast<sockaddr*>(&here), &size);
  return ntohs(here.sin_port);
}

}  // namespace motet::laws
