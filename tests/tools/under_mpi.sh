#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program as processes of MPI, for a minute at most: under_mpi.sh RANKS PROGRAM [ARGUMENTS]. Status 77 where that cannot be.
set -u
ranks=$1
shift
command -v mpirun >/dev/null 2>&1 || { echo "mpirun is missing (Debian: openmpi-bin)"; exit 77; }
# More ranks than processors are meant, and so is root in a container; who waits lets others have its processor.
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  timeout -k 5 60 mpirun -n "$ranks" "$@"
