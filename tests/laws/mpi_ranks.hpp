// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests of the MPI transport: one session for the whole program, alone or under mpirun. Without MPI the test leaves as skipped.
#if !defined(MOTET_HAS_MPI)
#include <doctest/doctest.h>

#include <cstdlib>

TEST_CASE("MPI is not there") { std::exit(77); }
#else
#include <motet/backend/transport/mpi_session.hpp>

#include <memory>

// What MPI keeps to the end is not our leak.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }

namespace motet::tests {

inline mpi::session& mpi_session() {
  static const auto here = std::make_unique<mpi::session>();
  return *here;
}

}  // namespace motet::tests
#endif
