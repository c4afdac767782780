// SPDX-License-Identifier: Apache-2.0
// Bodies that trainers have are in programs.cpp and launch.cpp.
#undef MOTET_COMPILED_RANKS
#define MOTET_COMPILED_RANKS 1
#undef MOTET_COMPILED_DATA
#define MOTET_BODY
#include <motet/data/pictures/resize.hpp>
#include <motet/data/shards/shards.hpp>
#include <motet/data/sound/log_mel.hpp>
#include <motet/data/steps/loader.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/format/files/checksum.hpp>
#include <motet/plan/order/program_order.hpp>
