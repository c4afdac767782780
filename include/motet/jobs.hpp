// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything about jobs that share a cluster. It stands beside motet.hpp: who trains one model needs none of
// it.
#include <motet/jobs/emit/fluxion.hpp>
#include <motet/jobs/emit/kueue.hpp>
#include <motet/jobs/emit/slurm.hpp>
#include <motet/jobs/files/cell_times.hpp>
#include <motet/jobs/files/cluster_file.hpp>
#include <motet/jobs/play/measures.hpp>
#include <motet/jobs/policies/policies.hpp>
#include <motet/jobs/watch/job_watch.hpp>
#include <motet/jobs/watch/line_socket.hpp>
