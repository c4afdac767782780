// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/rendezvous_options.hpp>
#include <motet/runtime/ranks/launch.hpp>

namespace motet {

// Where the ranks of a launcher meet by TCP. MASTER_ADDR and MASTER_PORT say where rank 0 listens,
// MOTET_TOKEN what the ranks of this run alone know. On one machine nothing need be said. Slurm names the
// node that started the job; where that is not the one of rank 0, MASTER_ADDR has to be set.
inline rendezvous_options rendezvous_of(const launched& by, const environment& of, double seconds = 120) {
  rendezvous_options found{.rank = by.rank, .ranks = by.ranks, .token = {}, .seconds = seconds};
  const auto value = [&](const char* name) {
    const auto at = of.find(name);
    return at == of.end() ? std::string() : at->second;
  };
  if (const std::string address = value("MASTER_ADDR"); !address.empty()) found.address = address;
  else if (by.nodes != 1)
    fail(meeting_refused,
         "MASTER_ADDR, the address of rank 0, is not set, and " + std::string(name_of(by.by)) +
             " started ranks on " +
             (by.nodes == 0 ? std::string("an unknown number of") : std::to_string(by.nodes)) + " machines");
  if (const std::string port = value("MASTER_PORT"); !port.empty()) {
    unsigned number = 0;
    const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (failed != std::errc{} || end != port.data() + port.size() || number == 0 || number > 65535)
      fail(meeting_refused, "MASTER_PORT is " + port + ", a number from 1 to 65535 was wanted");
    // torchrun's own store listens there.
    if (by.by == launcher::torchrun) number = number < 65535 ? number + 1 : number - 1;
    found.port = static_cast<std::uint16_t>(number);
  }
  found.token = value("MOTET_TOKEN");
  return found;
}

}  // namespace motet
