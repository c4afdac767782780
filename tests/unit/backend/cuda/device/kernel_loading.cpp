// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/kernel_loading.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>

#include <doctest/doctest.h>

#include "support/cuda/in_child.hpp"

// CUDA begins once in a process, so each case is one of its own, and this one never begins it.

#if !defined(__CUDACC__)

using namespace motet;

namespace {

// A process in which so many ranks share a GPU, after first(), says this; "late" where CUDA loads kernels at
// their first launch.
template <class First>
laws::ended ranks_after(const char* by_the_user, std::int32_t ranks, First&& first) {
  return laws::in_child([&] {
    ::unsetenv("MOTET_QUIET");
    if (by_the_user != nullptr) ::setenv("CUDA_MODULE_LOADING", by_the_user, 1);
    else ::unsetenv("CUDA_MODULE_LOADING");
    first();
    shared_gpu::world world(ranks, 0, {});
    for (std::int32_t r = 0; r < ranks; ++r) shared_gpu::endpoint(world, r).on();
    if (motet::cuda::loads_kernels_late()) std::fputs("late", stderr);
  });
}
const auto nothing = [] {};
const auto begin_cuda = [] { motet::cuda::require_gpus(); };

}  // namespace

TEST_CASE("ranks of one process ask for all kernels before CUDA begins; one rank alone does not") {
  CHECK(ranks_after(nullptr, 2, nothing).said.empty());
  CHECK(ranks_after(nullptr, 1, nothing).said == "late");
}

TEST_CASE("who begins CUDA before is warned once; who chose it is not") {
  const auto told = ranks_after(nullptr, 2, begin_cuda);
  CHECK(told.well);
  CHECK(told.said ==
        "motet: kernels are brought to the GPU at their first launch, where ranks may wait for each other "
        "for ever: CUDA was called before the ranks "
        "were made. Set CUDA_MODULE_LOADING=EAGER for the program, or call motet::load_kernels_first() "
        "before anything of CUDA; MOTET_QUIET=1 says "
        "nothing [MT-B38]\nlate");
  CHECK(ranks_after("LAZY", 2, nothing).said == "late");
  CHECK(ranks_after(nullptr, 2, [] { load_kernels_first(), begin_cuda(); }).said.empty());
}

#else

TEST_CASE("a GPU says how it loads kernels") { CHECK_NOTHROW(motet::cuda::loads_kernels_late()); }

#endif
