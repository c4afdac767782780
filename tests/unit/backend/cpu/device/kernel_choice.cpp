// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/device/kernel_choice.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace {

using namespace motet::cpu;

std::string refusal_of(const char* name) {
  try {
    kernel_named(name);
  } catch (const motet::error& refused) {
    return refused.what();
  }
  return "";
}

TEST_CASE("a kernel that the machine lacks cannot be chosen, and the choice is described") {
  const kernel_kind before = current_kernel();
  CHECK(before == kernel_named(std::getenv("MOTET_KERNELS")));
  for (const kernel_kind kind : kernel_kinds) {
    const kernel_kind held = current_kernel();
    CHECK(set_kernel(kind) == kernel_available(kind));
    CHECK(current_kernel() == (kernel_available(kind) ? kind : held));
    if (kernel_available(kind))
      CHECK(describe_cpu().find(std::string("kernels ") + kernel_name(kind)) != std::string::npos);
  }
  CHECK(kernel_available(kernel_kind::portable));
  CHECK(kernel_available(best_kernel()));
  CHECK(set_kernel(before));
}

TEST_CASE("kernels are found by their names, and without a name the best are") {
  CHECK(kernel_named(nullptr) == best_kernel());
  CHECK(kernel_named("") == best_kernel());
  std::string available;
  for (const kernel_kind kind : kernel_kinds)
    if (kernel_available(kind)) available += (available.empty() ? "" : ", ") + std::string(kernel_name(kind));
  for (const kernel_kind kind : kernel_kinds) {
    CAPTURE(std::string(kernel_name(kind)));
    if (kernel_available(kind)) {
      CHECK(kernel_named(kernel_name(kind)) == kind);
    } else {
      CHECK(refusal_of(kernel_name(kind)) ==
            "motet: the kernels that were asked for cannot run here: MOTET_KERNELS=" +
                std::string(kernel_name(kind)) + ", which " + features().name + " lacks; it has " +
                available +
                ". Name kernels that this processor has, or unset MOTET_KERNELS to take the best [MT-B20]");
    }
  }
  for (const char* wrong : {"sse4", "AVX2", "avx2 ", "avx"}) {
    CAPTURE(std::string(wrong));
    CHECK(refusal_of(wrong) ==
          "motet: the kernels that were asked for cannot run here: MOTET_KERNELS=" + std::string(wrong) +
              ", which is no kernel's name; " + features().name + " has " + available +
              ". Name kernels that this processor has, or unset MOTET_KERNELS to take the best [MT-B20]");
  }
}

}  // namespace
