// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/weight_copies.hpp>

#include "laws/cuda_run.hpp"

namespace motet {
using laws::flat_on_gpu;

TEST_CASE("copies of weights are found by address, follow at a refresh, and go when they are dropped") {
  std::vector<float> first(5000), second(7);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<float>(i) * 0.37f - 400;
  for (std::size_t i = 0; i < second.size(); ++i) second[i] = 1.0f / static_cast<float>(i + 3);
  const flat_on_gpu<float> first_(first), second_(second), other_(std::vector<float>(9));
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  copies.keep(first_.data(), first_.size());
  copies.keep(second_.data(), second_.size());
  copies.keep(other_.data(), 0);
  const auto refresh = [] {
    laws::gpu_run_foretold([](motet::cuda::context& ctx) { refresh_weights(ctx); });
  };
  const auto check = [&](const flat_on_gpu<float>& of, const std::vector<float>& want) {
    std::vector<bf16> got(want.size());
    motet::cuda::check(
        cudaMemcpy(got.data(), copies.copy_of(of.data()), got.size() * sizeof(bf16), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    CHECK(laws::off_by(laws::bits_of(got), laws::bits_of(laws::rounded(want))) == 0);
  };
  refresh();
  check(first_, first);
  check(second_, second);
  CHECK(copies.stale() == 0);
  // Nobody told of these: the copies are what they were.
  const std::vector<float> before = first;
  for (auto& w : first) w += 0.5f;
  first_.put(first);
  refresh();
  check(first_, before);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) { weights_changed(ctx, first_.data(), 5000); });
  CHECK(copies.stale() == 5000);
  refresh();
  check(first_, first);

  // Stretches, and such that lie in none, in two, or in a part of a buffer.
  for (const auto& [begin, count] :
       {std::pair<isize, isize>{0, 1}, {4999, 1}, {17, 30}, {2047, 2}, {100, 4100}}) {
    for (isize i = begin; i < begin + count; ++i) first[static_cast<std::size_t>(i)] *= 1.25f;
    first_.put(first);
    copies.changed(first_.data() + begin, count);
    copies.changed(other_.data(), 9);
    copies.changed(static_cast<const double*>(nullptr), 4);
    CHECK(copies.stale() >= count);
    CHECK(copies.stale() < count + 16);
    refresh();
    CHECK(copies.stale() == 0);
    check(first_, first);
  }
  first[3] = 9, first[4000] = 10, second[6] = 11;
  first_.put(first);
  second_.put(second);
  copies.changed(first_.data() + 4000, 1);
  copies.changed(first_.data() + 3, 1);
  copies.changed(second_.data() + 6, 1000);
  CHECK(copies.stale() == 4001 + 7);
  refresh();
  check(first_, first);
  check(second_, second);

  CHECK(copies.copy_of(first_.data() + 4999) == copies.copy_of(first_.data()) + 4999);
  CHECK(reinterpret_cast<std::uintptr_t>(copies.copy_of(first_.data() + 8)) % 16 == 0);
  CHECK(copies.copy_of(first_.data() + 5000) == nullptr);
  CHECK(copies.copy_of(first_.data() - 1) == nullptr);
  CHECK(copies.copy_of(other_.data()) == nullptr);
  const auto version = copies.version();
  copies.drop(first_.data());
  CHECK(copies.version() != version);
  CHECK(copies.copy_of(first_.data()) == nullptr);
  CHECK(copies.copy_of(second_.data() + 3) != nullptr);
  copies.drop(second_.data());
}

}  // namespace motet
