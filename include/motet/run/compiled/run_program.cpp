// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_RUN
#define MOTET_BODY
#include <motet/run/run_program.hpp>
