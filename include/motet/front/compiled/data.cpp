// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_DATA
#define MOTET_BODY
#include <motet/data/loader.hpp>
#include <motet/data/shards.hpp>
#include <motet/data/tokenizer_file.hpp>
