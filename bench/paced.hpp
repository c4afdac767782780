// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/front/trainer.hpp>
#include <motet/tools/report/progress.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

// Programs that train a model on random batches, by themselves or, step by step, in turns with a peer:
//
//   bench_NAME [--batch N] [--threads N] [--precision fp32|bf16] [--steps N]
//   bench_NAME --paced ...
//       for bench/peers/alternate.py: a step for each line of standard input
namespace motet::bench {

struct paced_options {
  isize batch = 8;
  int steps = 10;
  bool paced = false;
  const char *threads = "2", *precision = "fp32";
};

// Batch(samples, seed) has get(), a batch of Model, and rows().
template <class Model, class Batch, class Numbers>
void train_paced(const char* name, const paced_options& given) {
  const isize idle = peak_memory();
  const char* const words[] = {name, "--threads", given.threads};
  const auto world = launch(3, words);
  trainer<Model, Numbers> train(world, {.batch = given.batch});
  const Batch batches[2] = {{given.batch, 1}, {given.batch, 2}};
  step_result last;
  std::size_t turn = 0;
  const auto step = [&] {
    const auto began = std::chrono::steady_clock::now();
    last = train.step(batches[turn++ % 2].get(), 5e-4);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  for (int i = 0; i < 3; ++i) step();
  std::vector<double> seconds;
  if (given.paced) {
    std::puts("ready");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
      seconds.push_back(step());
      std::printf("%.9f\n", seconds.back());
      std::fflush(stdout);
    }
  } else {
    for (int i = 0; i < given.steps; ++i) seconds.push_back(step());
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  const double peak = train.device().template measure_peak<typename Numbers::value>();
  const double rate = median > 0 ? train.flops(batches[0].get()) / median : 0;
  json out{{"program", "motet"},
           {"model", name},
           {"precision", given.precision},
           {"batch", given.batch},
           {"rows", batches[0].rows()},
           {"threads", train.threads()},
           {"seconds", median},
           {"samples_per_second", median > 0 ? static_cast<double>(given.batch) / median : 0.0},
           {"tflops", rate / 1e12},
           {"share_of_peak", peak > 0 ? rate / peak : 0.0},
           {"peak_bytes", peak_memory()},
           {"idle_bytes", idle},
           {"predicted_bytes", train.memory()[0].total()},
           {"loss", last.loss},
           {"machine", train.device().describe()}};
  std::printf("%s\n", write_json(out).c_str());
}

template <class Model, class Batch>
int paced_main(const char* name, int count, char** words) {
  try {
    paced_options given;
    for (int i = 1; i < count; ++i) {
      const std::string_view word = words[i];
      const auto value = [&]() -> const char* { return i + 1 < count ? words[++i] : "0"; };
      if (word == "--paced") given.paced = true;
      else if (word == "--batch") given.batch = std::atol(value());
      else if (word == "--steps") given.steps = std::atoi(value());
      else if (word == "--threads") given.threads = value();
      else if (word == "--precision") given.precision = value();
      else if (word == "--data" || word == "--model" || word == "--device") value();  // as runners name them
      else return std::fprintf(stderr, "%s: unknown option %s\n", name, words[i]), 2;
    }
    if (std::string_view(given.precision) == "bf16") train_paced<Model, Batch, mixed_bf16>(name, given);
    else train_paced<Model, Batch, fp32>(name, given);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}

}  // namespace motet::bench
