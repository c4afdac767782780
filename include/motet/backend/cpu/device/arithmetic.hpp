// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>

namespace motet::cpu::detail {

using motet::detail::arithmetic;
using motet::detail::bytes_in;
using motet::detail::bytes_of;
using motet::detail::elements_in;

}  // namespace motet::cpu::detail
