// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything, with GPUs: for programs that nvcc compiles and that link motet::cuda.
#include <motet/backend/cuda/device.hpp>
#include <motet/backend/cuda/device/event.hpp>
#include <motet/backend/cuda/device/recorder.hpp>
#include <motet/backend/cuda/device/sm_share.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/front/cuda_ranks.hpp>
#include <motet/motet.hpp>

#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
#include <motet/backend/transport/nccl/nccl.hpp>
#include <motet/backend/transport/nccl/nccl_group.hpp>
#endif
