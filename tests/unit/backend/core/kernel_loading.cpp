// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/kernel_loading.hpp>

#include <doctest/doctest.h>

#include <string>

#include "support/cuda/in_child.hpp"

namespace {

std::string asked_for(const char* by_the_user) {
  return motet::laws::in_child([&] {
           if (by_the_user != nullptr) ::setenv("CUDA_MODULE_LOADING", by_the_user, 1);
           else ::unsetenv("CUDA_MODULE_LOADING");
           motet::load_kernels_first();
           motet::load_kernels_first();
           std::fputs(std::getenv("CUDA_MODULE_LOADING"), stderr);
         })
      .said;
}

}  // namespace

TEST_CASE("all kernels are asked for, unless the user said otherwise") {
  CHECK(asked_for(nullptr) == "EAGER");
  CHECK(asked_for("LAZY") == "LAZY");
  CHECK(asked_for("EAGER") == "EAGER");
}
