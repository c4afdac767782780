// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/cuda/experts/expert_rows.hpp>
#include <motet/backend/cuda/experts/grouped.hpp>
#include <motet/backend/cuda/experts/router.hpp>
#include <motet/backend/cuda/products/linear.hpp>
#include <motet/backend/cuda/rows/activation.hpp>
#include <motet/backend/cuda/rows/swiglu.hpp>

#include <motet/nn/layers/mixture.hpp>

#include <doctest/doctest.h>

#include <gpu_layer_members.hpp>

// A mixture of experts is a layer on a GPU as it is on the CPU, alone and where ranks share its experts.

namespace motet {
namespace {
constexpr mixture_config even{.width = 8, .experts = 5, .hidden = 16};
constexpr mixture_config gated{.width = 6,
                               .experts = 3,
                               .hidden = 5,
                               .top_k = 1,
                               .gated = true,
                               .gates = gate_kind::probability,
                               .balance = 0.2f,
                               .z = 0.1f};
constexpr mixture_config tight{.width = 16,
                               .experts = 4,
                               .hidden = 8,
                               .top_k = 3,
                               .act = activation::silu,
                               .capacity = 0.75f,
                               .balance = 0.1f};
const std::vector<isize> offsets{0, 4, 4, 13, 14, 20};
const sequences ragged{5, 1, offsets.data()};
}  // namespace

TEST_CASE("a mixture of experts on one rank") {
  laws::check_gpu_members<mixture<even>, fp64>(ragged, {1}, 1e-11);
  laws::check_gpu_members<mixture<gated>, fp64>(ragged, {1}, 1e-11);
  laws::check_gpu_members<mixture<tight>, fp64>({3, 7, nullptr}, {1}, 1e-11);
  laws::check_gpu_members<mixture<even>, fp32>({2, 9, nullptr}, {1}, 1e-5);
  laws::check_gpu_members<mixture<tight>, fp32>(ragged, {1}, 1e-5);
  laws::check_gpu_members<mixture<tight>, mixed_bf16>(ragged, {1}, 2e-2);
}

TEST_CASE("experts shared by ranks") {
  laws::check_gpu_members<mixture<even>, fp64>(ragged, {2, 4}, 1e-11);
  laws::check_gpu_members<mixture<tight>, fp64>(ragged, {2, 4}, 1e-11);
  laws::check_gpu_members<mixture<gated>, fp32>({6, 3, nullptr}, {2, 4}, 1e-5);
  laws::check_gpu_members<mixture<even>, mixed_bf16>(ragged, {3}, 2e-2);
}

}  // namespace motet
