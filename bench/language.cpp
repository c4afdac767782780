// SPDX-License-Identifier: Apache-2.0

// Training steps of a language model on ragged text: width 512, 8 blocks of 8 heads, SwiGLU of 1,408, a
// vocabulary of 8,192; samples of 64 to 600 tokens, the same lengths as its peer's
// (bench/peers/language_torch.py).
//
//   bench_language [--batch N] [--threads N] [--precision fp32|bf16] [--steps N]
//   bench_language --paced ...
//       for bench/peers/alternate.py: a step for each line of standard input
#include <motet/format/json_write.hpp>
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/tools/progress.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

namespace motet::bench_language {
namespace {

using talk = decoder<decoder_config{
    .vocabulary = 8192, .context = 600, .width = 512, .layers = 8, .heads = 8, .hidden = 1408}>;
using speech = model<join<next_token, module<"talk", talk>>>;

// Text that follows no rule, but is not the same for two steps.
struct text {
  std::vector<std::int32_t> ids, targets;
  std::vector<index> offsets{0};
  text(index samples, std::uint64_t seed) {
    const random_stream words(seed, "words");
    for (index s = 0; s < samples; ++s) {
      const index length = 64 + (s * 197) % 537;
      for (index k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 8192)));
      offsets.push_back(static_cast<index>(ids.size()));
      for (index k = 0; k + 1 < length; ++k) targets.push_back(ids[as_size(offsets[as_size(s)] + k + 1)]);
      targets.push_back(-100);
    }
  }
  speech::batch get() const {
    const auto samples = static_cast<index>(offsets.size()) - 1;
    const double asked = static_cast<double>(static_cast<index>(ids.size()) - samples);
    return {labelled_tokens{{ids.data(), {samples, 0, offsets.data()}}, targets.data(), 1 / asked}};
  }
};

struct options {
  index batch = 8;
  int steps = 10;
  bool paced = false;
  const char *threads = "2", *precision = "fp32";
};

template <class Numbers>
void run(const options& given) {
  const index idle = peak_memory();
  const char* const words[] = {"bench_language", "--threads", given.threads};
  const auto world = launch(3, words);
  trainer<speech, Numbers> train(world, {.batch = given.batch});
  const text batches[2] = {text(given.batch, 1), text(given.batch, 2)};
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
           {"model", "lm-small"},
           {"precision", given.precision},
           {"batch", given.batch},
           {"rows", static_cast<index>(batches[0].ids.size())},
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

}  // namespace
}  // namespace motet::bench_language

int main(int count, char** words) try {
  motet::bench_language::options given;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto value = [&]() -> const char* { return i + 1 < count ? words[++i] : "0"; };
    if (word == "--paced") given.paced = true;
    else if (word == "--batch") given.batch = std::atol(value());
    else if (word == "--steps") given.steps = std::atoi(value());
    else if (word == "--threads") given.threads = value();
    else if (word == "--precision") given.precision = value();
    else if (word == "--data" || word == "--model" || word == "--device") value();  // as runners name them
    else return std::fprintf(stderr, "bench_language: unknown option %s\n", words[i]), 2;
  }
  if (std::string_view(given.precision) == "bf16") motet::bench_language::run<motet::mixed_bf16>(given);
  else motet::bench_language::run<motet::fp32>(given);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
