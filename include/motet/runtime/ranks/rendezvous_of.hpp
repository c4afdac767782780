// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/rendezvous_options.hpp>
#include <motet/runtime/ranks/launch.hpp>

namespace motet {

// A meeting place is where rank 0 listens, in words of the environment; empty: nobody says. They are
// MASTER_ADDR and MASTER_PORT, or what the launcher that is believed calls them.
struct meeting_place {
  std::string address, port;
};
inline meeting_place find_meeting_place(launcher by, const environment& of) {
  const auto value = [&](const char* name) {
    const auto at = of.find(name);
    return at == of.end() ? std::string() : at->second;
  };
  meeting_place all{value("MASTER_ADDR"), value("MASTER_PORT")}, own;
  const char *address = "PET_MASTER_ADDR", *port = "PET_MASTER_PORT";
  if (by == launcher::elastic) {
    own = {value(address), value(port)};
  } else if (by == launcher::jax) {
    address = port = "JAX_COORDINATOR_ADDRESS";
    own.address = value(address);
    if (const std::size_t colon = own.address.rfind(':'); colon != std::string::npos) {
      own.port = own.address.substr(colon + 1);
      own.address.resize(colon);
    }
  }
  const auto choose = [](std::string& said, const char* name, const std::string& here, const char* owner) {
    if (!said.empty() && !here.empty() && said != here)
      fail(launchers_disagree, sentence({name, " is ", said, ", ", owner, " says ", here}));
    if (said.empty()) said = here;
  };
  choose(all.address, "MASTER_ADDR", own.address, address);
  choose(all.port, "MASTER_PORT", own.port, port);
  return all;
}

// The ranks of a launcher meet by TCP at the meeting place, with MOTET_TOKEN, which the ranks of this run
// alone know. On one machine nothing need be said. Slurm names the node that started the job; where that is
// not the one of rank 0, MASTER_ADDR has to be set.
inline rendezvous_options rendezvous_of(const launched& by, const environment& of, double seconds = 120) {
  rendezvous_options found{.rank = by.rank, .ranks = by.ranks, .token = {}, .seconds = seconds};
  const auto [address, port] = find_meeting_place(by.by, of);
  if (!address.empty()) found.address = address;
  else if (by.nodes != 1)
    fail(meeting_refused,
         "MASTER_ADDR, the address of rank 0, is not set, and " + std::string(name_of(by.by)) +
             " started ranks on " +
             (by.nodes == 0 ? std::string("an unknown number of") : std::to_string(by.nodes)) + " machines");
  if (!port.empty()) {
    unsigned number = 0;
    const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (failed != std::errc{} || end != port.data() + port.size() || number == 0 || number > 65535)
      fail(meeting_refused, "MASTER_PORT is " + port + ", a number from 1 to 65535 was wanted");
    // torchrun's own store listens there.
    if (by.by == launcher::torchrun) number = number < 65535 ? number + 1 : number - 1;
    found.port = static_cast<std::uint16_t>(number);
  }
  if (const auto token = of.find("MOTET_TOKEN"); token != of.end()) found.token = token->second;
  return found;
}

}  // namespace motet
