// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace motet::reorder {

// The command line of reorder.
struct settings {
  std::string headers, emit = "text", order = "all", output;
  isize stages = 0, replicas = 1, microbatches = 0, chunks = 1, defer = 1, rows = 0, tries = 200, draws = 20,
        seed = 1;
  double encoder = 1, language = 1, generator = 1, backward = 2;
};

// The result is false when --help was asked for and printed.
inline bool read_settings(int count, const char* const* words, settings& to) {
  options line(
      "reorder",
      "which replica gets which sample of a step, which of them share a microbatch, and in which turn these "
      "run, so that a pipeline waits least; played before a byte of the samples is read");
  line.text(
      "--headers", to.headers, "FILE.csv",
      "a line for each sample: encoder (or pictures, images), language (or rows, tokens), generator, what it "
      "costs in each, and sample, its name; what is left out costs nothing, and in the language model 1");
  line.count("--stages", to.stages, 1,
             "of the pipeline: the first is the encoder, the last the generator if there is one");
  line.count("--replicas", to.replicas, 1, "of the pipeline");
  line.count("--microbatches", to.microbatches, 1, "of a replica");
  line.count("--chunks", to.chunks, 1, "stages of each rank, interleaved; 1: 1F1B");
  line.real("--encoder", to.encoder, 0, 1e12, "seconds forward of one unit of that column");
  line.real("--language", to.language, 0, 1e12, "the same of the language model, on all of its stages");
  line.real("--generator", to.generator, 0, 1e12, "the same of the generator");
  line.real("--backward", to.backward, 0, 1e3, "times as long as forward");
  line.choice("--order", to.order, {"all", "ranks", "slots", "none"},
              "what is chosen: who gets which sample, in which turn microbatches run, both, or nothing");
  line.count("--defer", to.defer, 1,
             "steps that the file has; heavy samples wait for the last of them where all take less by it");
  line.count(
      "--rows", to.rows, 0,
      "of the language column that a microbatch has room for: samples of any number are packed so that "
      "none has more and picture work is even; 0: each microbatch has as many samples");
  line.count("--tries", to.tries, 0, "swaps of two microbatches that are tried for each replica");
  line.count("--draws", to.draws, 1, "orders by chance, whose mean is told beside the chosen one");
  line.count("--seed", to.seed, 0, "of what is drawn");
  line.choice("--emit", to.emit, {"text", "json"}, "what to print");
  line.text("--output", to.output, "FILE", "write there instead of standard output");
  if (!line.parse(count, words)) {
    std::fputs((line.help() + exit_table()).c_str(), stdout);
    return false;
  }
  for (const char* needed : {"--headers", "--stages", "--microbatches"}) line.require(needed);
  const auto refuse = [](const std::string& what) { fail(bad_option_value, what); };
  constexpr isize most = 1 << 16;
  for (const auto& [name, value] : {std::pair("--stages", to.stages),
                                    {"--replicas", to.replicas},
                                    {"--microbatches", to.microbatches},
                                    {"--chunks", to.chunks},
                                    {"--defer", to.defer}})
    if (value > most) refuse(sentence({name, " wants at most ", most, ", got ", value}));
  if (to.tries > 1000000) refuse(sentence({"--tries wants at most 1000000, got ", to.tries}));
  if (to.draws > 10000) refuse(sentence({"--draws wants at most 10000, got ", to.draws}));
  if (to.chunks > 1 && to.microbatches % to.stages != 0)
    refuse(sentence({"--chunks wants --microbatches to be a multiple of --stages, got ", to.microbatches,
                     " and ", to.stages}));
  if (to.rows > 0 && to.defer > 1)
    refuse("--rows does not go with --defer, whose steps have as many samples: leave out one of them");
  return true;
}

}  // namespace motet::reorder
