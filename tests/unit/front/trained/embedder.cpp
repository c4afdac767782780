// SPDX-License-Identifier: Apache-2.0
#include <motet/front/trained/embedder.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/runtime/state/initialise.hpp>

#include "unit/runtime/small_model.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("features of any number of samples are those that the net infers") {
  std::vector<float> w(small_model::parameter_size);
  initialise(small_model::parameters(), 1, w.data(), small_model::parameter_size);
  for (const motet::isize samples : {1, 7, 300}) {
    const small_batch data(samples);
    std::vector<float> wanted(static_cast<std::size_t>(samples * 8)), found(wanted);
    using net = small_model::module_at<1>::net;
    cpu::device device(1);
    const auto infer = [&](cpu::context& ctx) {
      net::infer(ctx, weights<fp32>{w.data() + small_model::offsets[1]}, std::get<1>(data.get()),
                 view<float, 8>{wanted.data(), samples});
    };
    device.prepare(device.dry_run(infer));
    device.run(infer);
    for (const int threads : {1, 2}) {
      cpu::device team(threads);
      embedder<fp32, cpu::device> by(table_of_model<small_model, cpu::context, fp32>, team);
      const tokens input = std::get<1>(data.get());
      by.embed(1, &input, w.data() + small_model::offsets[1], found.data());
      double worst = 0;
      for (std::size_t i = 0; i < found.size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs(found[i] - wanted[i])));
      CHECK(worst <= 1e-6);
      double size = 0;
      for (std::size_t i = 0; i < 8; ++i)
        size += static_cast<double>(found[i]) * static_cast<double>(found[i]);
      CHECK(size == doctest::Approx(1).epsilon(1e-5));
    }
  }
}

TEST_CASE("no samples are no work, and a sample that is too long is refused") {
  cpu::device one(1);
  embedder<fp32, cpu::device> by(table_of_model<small_model, cpu::context, fp32>, one);
  const std::vector<std::int32_t> ids(16, 1);
  const tokens none{ids.data(), {0, 6, nullptr}}, longer{ids.data(), {2, 7, nullptr}};
  by.embed(1, &none, nullptr, nullptr);
  CHECK_THROWS_WITH_AS(by.embed(1, &longer, nullptr, nullptr),
                       doctest::Contains("caption has a sample longer than 6"), error);
}
