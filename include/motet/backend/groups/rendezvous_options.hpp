// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace motet {

// The processes of a program meet here, before or beside what carries their messages.
struct rendezvous_options {
  std::int32_t rank = 0, ranks = 1;
  std::string address = "127.0.0.1";  // of rank 0: an address or a name of one of its interfaces
  std::uint16_t port = 29500;
  std::string token{};  // what only the ranks of this run know
  double seconds = 60;  // in which all have to come, and to each meeting
};

}  // namespace motet
