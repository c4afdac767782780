// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/device/profiler_range.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>

#include "laws/cuda_run.hpp"
#include "support/cuda/in_child.hpp"

#include <doctest/doctest.h>

#if MOTET_NVTX_RANGES && !defined(__CUDACC__)
#include "support/cuda/fake_profiler.hpp"

using namespace motet;

namespace {

// A profiler sees this of sections, a dry run of them, and a rank's instruction around some; each in a
// process of its own, as a process decides once.
std::string seen_with(const char* name, const char* value) {
  return laws::in_child([&] {
           for (const char* each : {"MOTET_NVTX", "NVTX_INJECTION64_PATH"}) ::unsetenv(each);
           if (name != nullptr) ::setenv(name, value, 1);
           emulation::fake_profiler::attach();
           const laws::gpu_room room(0, 0);
           step_costs costs;
           const auto sections = [&](motet::cuda::context ctx) {
             ctx.costs = &costs;
             const auto picture = enter(ctx, "picture");
             for (int k = 0; k < 2; ++k) const auto blocks = enter(ctx, "blocks");
           };
           sections({});
           sections(room.context());
           {
             const auto range = shared_gpu::endpoint::range("forward of picture, stage 0, microbatch 3");
             sections(room.context());
           }
           std::string all;
           for (const std::string& each : emulation::fake_profiler::one().seen()) all += each + "\n";
           if (!emulation::fake_profiler::one().all_closed()) all += "NOT CLOSED\n";
           std::fputs(all.c_str(), stderr);
         })
      .said;
}

}  // namespace

TEST_CASE("sections and instructions lie inside each other; dry runs are no ranges") {
  const std::string all =
      "picture\npicture / blocks\npicture / blocks\n"
      "forward of picture, stage 0, microbatch 3\nforward of picture, stage 0, microbatch 3 / picture\n"
      "forward of picture, stage 0, microbatch 3 / picture / blocks\nforward of picture, stage 0, microbatch "
      "3 / picture / blocks\n";
  CHECK(seen_with("MOTET_NVTX", "1") == all);
  CHECK(seen_with(nullptr, nullptr).empty());
  CHECK(seen_with("MOTET_NVTX", "0").empty());
}

TEST_CASE("a profiler that is there is shown all, unless the user does not want it") {
  CHECK(laws::in_child([] {
          ::unsetenv("MOTET_NVTX");
          ::setenv("NVTX_INJECTION64_PATH", "/nowhere/profiler.so", 1);
          std::fputs(motet::cuda::wants_ranges() ? "yes" : "no", stderr);
        }).said == "yes");
  CHECK(laws::in_child([] {
          ::setenv("MOTET_NVTX", "0", 1);
          ::setenv("NVTX_INJECTION64_PATH", "/nowhere/profiler.so", 1);
          std::fputs(motet::cuda::wants_ranges() ? "yes" : "no", stderr);
        }).said == "no");
}

#else

TEST_CASE("a range is nothing without a profiler") { const motet::cuda::profiler_range one("alone"); }

#endif
