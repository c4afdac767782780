// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>

#include <doctest/doctest.h>

using namespace motet;
using idx = motet::isize;

namespace {

// Copies and doubles numbers that the step works on, by way of memory that it takes.
struct twice {
  const float* from;
  float* to;
  const std::uint64_t* step;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (idx i = self.number(); i < 64; i += self.all()) to[i] = 2 * from[i] + static_cast<float>(*step);
  }
};

std::vector<float> download_of(motet::cuda::device& device, const float* from) {
  std::vector<float> out(64);
  device.run([&](motet::cuda::context& ctx) { download(ctx, from, out.data(), 64); });
  return out;
}

}  // namespace

TEST_CASE("a dry run counts memory and work, and needs no GPU") {
  const motet::cuda::device device;
  const auto work = [](auto& ctx) {
    const auto part = enter(ctx, "a");
    ctx.memory.template take<float>(1000);
    ctx.scratch.template take<float>(10);
    ctx.note("some", 5, 6);
  };
  const step_forecast needs = device.dry_run(work);
  CHECK(needs.memory == 4032);
  CHECK(needs.scratch == 64);
  CHECK(needs.costs.flops() == 5);
  CHECK(device.flops(work) == 5);
  CHECK(device.threads() == 1);
}

template <class Work>
int run_step(motet::cuda::device& device, std::vector<idx> shape, Work&& work,
             const motet::cuda::draw_key& draws = {}) {
  int found = 0;
  device.run(
      [&](motet::cuda::context& ctx) {
        run_recorded(
            ctx, [&](std::vector<idx>& into) { into.insert(into.end(), shape.begin(), shape.end()); },
            [&](motet::cuda::context& at) { found = work(at); }, found);
      },
      draws);
  return found;
}

TEST_CASE("a step is recorded when its shape comes again") {
  motet::cuda::device device;
  device.set_graphs(true);
  const auto from = device.take<float>("numbers", 64), to = device.take<float>("results", 64);
  std::vector<float> host(64, 1);
  const auto first = [&](motet::cuda::context& ctx) {
    float* const own = ctx.memory.take<float>(64);
    if (!ctx.measuring()) {
      motet::cuda::launch(ctx.stream(), {1, 64, 0}, twice{from.data(), own, ctx.on->step()});
      copy(ctx, own, to.data(), 64);
    }
    return 17;
  };
  device.prepare(device.dry_run([&](motet::cuda::context& ctx) { first(ctx); }));
  for (int step = 0; step < 5; ++step) {
    CAPTURE(step);
    for (float& each : host) each += 1;
    device.run([&](motet::cuda::context& ctx) { upload(ctx, host.data(), from.data(), 64); });
    CHECK(run_step(device, {3}, first, {1, static_cast<std::uint64_t>(step)}) == 17);
    CHECK(download_of(device, to.data())[63] == 2 * host[63] + static_cast<float>(step));
    CHECK(device.replayed() == step);
  }
  CHECK(device.recorded() == 1);
  // Other random numbers are another record, and memory that is given back makes records void.
  run_step(device, {3}, first, {2, 0});
  CHECK(device.replayed() == 4);
  device.prepare({});
  CHECK(device.recorded() == 1);
  device.prepare(device.dry_run([&](motet::cuda::context& ctx) { ctx.memory.take<float>(128); }));
  CHECK(device.recorded() == 0);
  device.set_graphs(false);
  for (int i = 0; i < 3; ++i) run_step(device, {}, first);
  CHECK(device.replayed() == 4);
}

TEST_CASE("a step that cannot be recorded runs as it is") {
  motet::cuda::device device;
  device.set_graphs(true);
  int calls = 0;
  const auto first = [&](motet::cuda::context& ctx) {
    ++calls;
    finish(ctx);  // not while recording
    return calls;
  };
  for (int i = 0; i < 4; ++i) {
    const int found = run_step(device, {}, first);
    CHECK(found == calls);
  }
  CHECK_FALSE(device.graphs());
  CHECK_FALSE(device.not_recorded().empty());
  CHECK(device.recorded() == 0);
}

TEST_CASE("a device that uses what somebody else has of the GPU") {
  motet::cuda::engine own;
  motet::cuda::device device([&]() -> motet::cuda::engine& { return own; });
  CHECK(&device.on() == &own);
  const auto numbers = device.take<float>("numbers", 64);
  device.run([&](motet::cuda::context& ctx) {
    CHECK(ctx.on == &own);
    zero(ctx, numbers.data(), 64);
  });
  CHECK(download_of(device, numbers.data())[63] == 0);
}

TEST_CASE("memory beyond the forecast is refused") {
  motet::cuda::device device;
  CHECK_THROWS_WITH_AS(device.run([](motet::cuda::context& ctx) { ctx.memory.take<float>(1); }),
                       doctest::Contains("MT-T"), error);
  device.prepare(device.dry_run([](motet::cuda::context& ctx) { ctx.memory.take<float>(16); }));
  CHECK_THROWS_WITH_AS(device.run([](motet::cuda::context& ctx) { ctx.memory.take<float>(17); }),
                       doctest::Contains("MT-T"), error);
}

TEST_CASE("it says what it is, and how fast a product can be") {
  motet::cuda::device device;
  const std::string text = device.describe();
  CAPTURE(text);
  CHECK(text.find("sm_") != std::string::npos);
  CHECK(text.find("multiprocessors") != std::string::npos);
  CHECK(text.find("driver") != std::string::npos);
  CHECK(device.measure_peak<float>(64, 32, 16) >= 0);
  CHECK(device.measure_peak<bf16>(64, 32, 16) >= 0);
}

#if !defined(__CUDACC__)
TEST_CASE("no GPU, or too small a one") {
  emulation::set_gpus(0);
  motet::cuda::device none;
  CHECK(none.describe().find("no GPU here") == 0);
  CHECK_THROWS_WITH_AS(none.on(), doctest::Contains("MT-B11"), error);
  emulation::set_gpus(1);

  motet::cuda::device small;
  std::size_t left = 0, all = 0;
  small.finish();
  motet::cuda::check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
  emulation::set_memory(all - left + 1000);
  CHECK_THROWS_WITH_AS(small.prepare({.memory = 5000}), doctest::Contains("arena of 5000 bytes"), error);
  CHECK_THROWS_WITH_AS(small.take<double>("weights", 999), doctest::Contains("weights of 7992 bytes"), error);
  emulation::set_memory(all);
  small.prepare({.memory = 5000});
}
#endif
