// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/meet/forum.hpp>
#include <motet/backend/transport/mpi/mpi_session.hpp>

namespace motet::mpi {

// The ranks of MPI as a forum, while a session lives: for what carries messages by other ways.
inline forum everyone() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return {rank, ranks, [ranks](const std::string& own) {
            std::vector<int> sizes(as_size(ranks)), starts(sizes.size());
            const int mine = static_cast<int>(own.size());
            check(MPI_Allgather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD),
                  "MPI_Allgather");
            int all = 0;
            for (std::size_t r = 0; r < sizes.size(); all += sizes[r++]) starts[r] = all;
            std::string together(as_size(all), '\0');
            check(MPI_Allgatherv(own.data(), mine, MPI_BYTE, together.data(), sizes.data(), starts.data(),
                                 MPI_BYTE, MPI_COMM_WORLD),
                  "MPI_Allgatherv");
            std::vector<std::string> parts;
            for (std::size_t r = 0; r < sizes.size(); ++r)
              parts.push_back(together.substr(as_size(starts[r]), as_size(sizes[r])));
            return parts;
          }};
}

}  // namespace motet::mpi
