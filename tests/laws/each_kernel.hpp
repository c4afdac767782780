// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/kernel_choice.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace motet::laws {

// Runs body() once with each variant of the kernels that this machine can run, and puts the choice back, also
// when a check throws. MOTET_TEST_KERNELS=chosen: with that alone which the machine chose, where what is
// asked is how threads share the work; all variants share it in one way.
template <class Body>
void with_each_kernel(Body&& body) {
  struct restore {
    cpu::kernel_kind before = cpu::current_kernel();
    ~restore() { cpu::set_kernel(before); }
  } guard;
  const char* const which = std::getenv("MOTET_TEST_KERNELS");
  const bool all = which == nullptr || std::string(which) != "chosen";
  for (const auto kind : cpu::kernel_kinds) {
    if (!(all || kind == guard.before) || !cpu::set_kernel(kind)) continue;
    CAPTURE(std::string(cpu::kernel_name(kind)));
    body();
  }
}

}  // namespace motet::laws
