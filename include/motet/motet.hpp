// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program that trains on processors needs these: nets and models, plans as constants and types, data,
// launch() and trainer. Anything else, such as a search for plans or weights of other packages, is included
// by its own name.
#include <motet/data/shards/shards.hpp>
#include <motet/data/steps/loader.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/front/trainer.hpp>
#include <motet/model/graph.hpp>
#include <motet/nn/layers/activation.hpp>
#include <motet/nn/layers/dropout.hpp>
#include <motet/nn/layers/mixture.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/plan_for.hpp>
#include <motet/runtime/state/rate.hpp>
#include <motet/tools/process/exit_code.hpp>
