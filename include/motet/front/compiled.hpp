// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/local_group.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>

// What trains any model on ranks that are threads, by number type: MOTET_RUNTIME(extern, fp32) says that another file has it, MOTET_RUNTIME(, fp32) makes
// this file have it. It knows nothing of a model's type, so a program that defines MOTET_COMPILED_KERNELS (see backend/cpu/compiled.hpp) compiles it once.

#define MOTET_RUNTIME(KEYWORD, NUMBERS) \
  KEYWORD template class motet::model_trainer<motet::cpu::device, motet::NUMBERS, motet::thread_ranks<motet::local::world, motet::local::endpoint>>;

#if defined(MOTET_COMPILED_KERNELS) && !defined(MOTET_RUNTIME_HERE)
MOTET_RUNTIME(extern, fp32)
MOTET_RUNTIME(extern, fp64)
MOTET_RUNTIME(extern, mixed_bf16)
#endif
