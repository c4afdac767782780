// SPDX-License-Identifier: Apache-2.0
// Bodies that bring samples are in data.cpp.
#undef MOTET_COMPILED_DATA
#define MOTET_COMPILED_DATA 1
#undef MOTET_COMPILED_RANKS
#define MOTET_BODY
#include <motet/front/trained/sampling.hpp>
#include <motet/model/describe.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/plan/prove/scores_of_plan.hpp>
#include <motet/runtime/feeds/own_samples.hpp>
#include <motet/runtime/gradients/program_ownership.hpp>
#include <motet/runtime/ranks/executor.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/save/checkpoint.hpp>
#include <motet/runtime/stage/any_microbatches.hpp>
#include <motet/runtime/stage/program_fit.hpp>
