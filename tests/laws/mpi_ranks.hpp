// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/mpi/mpi_session.hpp>

#include <memory>

// Tests of the MPI transport, which are built where MPI is, have one session for the whole program, alone or
// under mpirun.

// Memory that MPI keeps to the end is not our leak.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }

namespace motet::tests {

inline mpi::session& mpi_session() {
  static const auto here = std::make_unique<mpi::session>();
  return *here;
}

}  // namespace motet::tests
