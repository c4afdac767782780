// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/transfer.hpp>
#include <motet/backend/cuda/kernels/transfer.hpp>
#include <motet/backend/cuda/products/weight_copies.hpp>
#include <motet/runtime/train/host_pieces.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

using namespace motet;

namespace {

std::vector<float> count_from(float first, int count) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(first + static_cast<float>(i));
  return out;
}
std::vector<float> seen(const float* from, int count) { return {from, from + count}; }

}  // namespace

TEST_CASE("what the host reaches is seen in place") {
  cpu::context ctx;
  std::vector<float> weights = count_from(1, 6), gradients = count_from(10, 6), first = count_from(20, 6),
                     second = count_from(30, 6);
  host_pieces<cpu::context, float> pieces;
  pieces.add(ctx, 3,
             {.size = 6,
              .weights = weights.data(),
              .gradients = gradients.data(),
              .first = first.data(),
              .second = second.data()});
  REQUIRE(pieces.all().size() == 1);
  CHECK(pieces.rank(0) == 3);
  CHECK(pieces.all()[0].weights == weights.data());
  CHECK(pieces.all()[0].second == second.data());
  pieces.all()[0].first[2] = -1;
  pieces.write_back();
  CHECK(first[2] == -1);
}

TEST_CASE("what it does not reach is copied, as much of moments as this rank updates, and comes back") {
  const laws::gpu_room room(64, 64);
  cuda::context ctx = room.context();
  const laws::flat_on_gpu<float> weights(count_from(1, 6)), sums(count_from(10, 4)), first(count_from(20, 4)),
      second(count_from(30, 4)), frozen(count_from(40, 3));
  update_share share = whole_share(6);
  share.moments = share.seconds = 4;
  host_pieces<cuda::context, float> pieces;
  pieces.add(ctx, 0,
             {.size = 6,
              .weights = weights.data(),
              .gradients = sums.data(),
              .first = first.data(),
              .second = second.data(),
              .sums_only = true,
              .share = &share});
  pieces.add(ctx, 1, {.size = 3, .weights = frozen.data()});
  REQUIRE(pieces.all().size() == 2);
  const auto& one = pieces.all()[0];
  const auto& other = pieces.all()[1];
  CHECK(one.weights != weights.data());
  CHECK(seen(one.weights, 6) == count_from(1, 6));
  CHECK(seen(one.gradients, 4) == count_from(10, 4));
  CHECK(seen(one.first, 4) == count_from(20, 4));
  CHECK(seen(one.second, 4) == count_from(30, 4));
  CHECK(pieces.rank(1) == 1);
  CHECK(seen(other.weights, 3) == count_from(40, 3));
  CHECK(other.gradients == nullptr);
  CHECK(other.first == nullptr);
  one.weights[5] = -5;
  one.second[3] = -3;
  other.weights[0] = -1;
  CHECK(laws::off_by(weights.back(), count_from(1, 6)) == 0);  // not yet
  pieces.write_back();
  CHECK(laws::off_by(weights.back(), std::vector<float>{1, 2, 3, 4, 5, -5}) == 0);
  CHECK(laws::off_by(second.back(), std::vector<float>{30, 31, 32, -3}) == 0);
  CHECK(laws::off_by(first.back(), count_from(20, 4)) == 0);
  CHECK(laws::off_by(frozen.back(), std::vector<float>{-1, 41, 42}) == 0);
}
