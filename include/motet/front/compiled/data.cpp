// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_DATA
#define MOTET_BODY
#include <motet/data/shards/shards.hpp>
#include <motet/data/steps/loader.hpp>
#include <motet/data/words/tokenizer_file.hpp>
