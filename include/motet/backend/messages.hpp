// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

namespace motet {

inline constexpr message mpi_failed{"MT-B01", "an MPI call failed", "a message is longer than its receiver wants, or a rank is gone",
                                    "See what MPI says; where the ranks run different programs, start all of them from one"};
inline constexpr message mpi_ranks_differ{"MT-B02", "MPI counts the ranks differently",
                                          "the processes were not started by mpirun, or by srun without PMIx, so each one is alone",
                                          "Start with mpirun -n RANKS PROGRAM, or srun --mpi=pmix"};
inline constexpr message mpi_not_ready{"MT-B03", "MPI cannot be used here", "no mpi::session is alive, or MPI lacks support for what is asked",
                                       "Make the session first in main, and keep it until the end"};
inline constexpr message group_disagrees{"MT-B04", "the members of a group do not do the same", "they call in different orders, or differ in sizes",
                                         "Let every member make the same calls on a group, in the same order, with the same sizes"};

inline constexpr message cut_but_alone{"MT-B05", "a net that is cut over ranks runs on a context without a spread",
                                       "the weights say that a tensor group shares the layer, and the context does not know the group",
                                       "Set context::shared for each microbatch, also in a dry run, or take the whole net"};

inline constexpr message backend_messages[] = {mpi_failed, mpi_ranks_differ, mpi_not_ready, group_disagrees, cut_but_alone};

}  // namespace motet
