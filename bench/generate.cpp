// SPDX-License-Identifier: Apache-2.0

// Counts what a language model says in a second, beside what memory allows: one row reads all weights of the
// blocks and of the last product once, so no token takes less time than a plain read of these bytes by the
// same threads. Width 512, 8 blocks of 8 heads, SwiGLU of 1,408, a vocabulary of 8,192.
//
//   bench_generate [--threads N] [--precision fp32|bf16] [--prompt N] [--tokens N] [--rounds N]
#include <motet/format/text/json_write.hpp>
#include <motet/front/trained/speaker.hpp>
#include <motet/tools/report/progress.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>

namespace motet::bench_generate {
namespace {

using talk = decoder<decoder_config{
    .vocabulary = 8192, .context = 600, .width = 512, .layers = 8, .heads = 8, .hidden = 1408}>;

struct options {
  int threads = 2, rounds = 5;
  isize prompt = 32, tokens = 64;
  const char* precision = "fp32";
};

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of.empty() ? 0 : of[of.size() / 2];
}

// Seconds of reading all of it once, each thread its own part from one end to the other.
template <class T>
double read_once(cpu::device& device, const T* from, isize count) {
  const auto read = [&](cpu::context& ctx) {
    const interval own = ctx.own(count, 4096);
    constexpr isize row = 4096;
    const isize rows = own.size() / row;
    if (ctx.measuring()) return;
    // Sums of eight numbers side by side, as additions must not be what is waited for.
    const auto* const lines = reinterpret_cast<const std::uint64_t*>(from + own.begin);
    const isize words = rows * row * static_cast<isize>(sizeof(T)) / 8;
    std::uint64_t sums[16] = {};
    for (isize i = 0; i + 16 <= words; i += 16)
      for (isize j = 0; j < 16; ++j) sums[j] += lines[i + j];
    double seen = 0;
    for (const std::uint64_t sum : sums) seen += static_cast<double>(sum);
    if (ctx.crew != nullptr) ctx.crew->slot(ctx.thread) = seen;
  };
  device.run(read);
  const auto began = std::chrono::steady_clock::now();
  device.run(read);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

template <class Numbers>
void run(const options& given) {
  const buffer<float> weights(talk::parameter_size);
  const random_stream draws(1, "weights");
  for (isize i = 0; i < weights.size(); ++i)
    weights[i] = 0.05f * (draws.uniform(static_cast<std::uint64_t>(i)) - 0.5f);
  std::vector<std::int32_t> prompt(as_size(given.prompt));
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(draws.below(i, 8192));
  cpu::device device(given.threads);
  speaker<talk, Numbers> says(device, weights.data());
  // A row reads blocks and tail, in the type that products read.
  const isize count = talk::parameter_size - talk::logits::body_at;
  constexpr bool rounded = std::is_same_v<typename Numbers::value, bf16>;
  const buffer<bf16> copy(rounded ? count : 0);
  std::fill_n(copy.data(), copy.size(), bf16(1.0f));
  says.say(prompt, {.most = 4});
  // They take turns, as the machine may be shared.
  std::vector<double> a_token, a_prompt, a_read;
  for (int round = 0; round < given.rounds; ++round) {
    const said_tokens said = says.say(prompt, {.most = given.tokens + 1});
    a_token.push_back(said.seconds / static_cast<double>(said.tokens.size() - 1));
    a_prompt.push_back(said.prompt_seconds);
    if constexpr (rounded) a_read.push_back(read_once(device, copy.data(), count));
    else a_read.push_back(read_once(device, weights.data() + talk::logits::body_at, count));
  }
  const double token = median(a_token), read = median(a_read);
  const double bytes = static_cast<double>(count) * (rounded ? 2 : 4);
  json out{{"program", "motet"},
           {"model", "lm-small"},
           {"precision", given.precision},
           {"threads", device.threads()},
           {"prompt", given.prompt},
           {"tokens", given.tokens},
           {"prompt_seconds", median(a_prompt)},
           {"tokens_per_second", 1 / token},
           {"weight_bytes", bytes},
           {"read_gbytes_per_second", bytes / read / 1e9},
           {"weights_gbytes_per_second", bytes / token / 1e9},
           {"share_of_read", read / token},
           {"machine", device.describe()}};
  std::printf("%s\n", write_json(out).c_str());
}

}  // namespace
}  // namespace motet::bench_generate

int main(int count, char** words) try {
  motet::bench_generate::options given;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto value = [&]() -> const char* { return i + 1 < count ? words[++i] : "0"; };
    if (word == "--threads") given.threads = std::atoi(value());
    else if (word == "--precision") given.precision = value();
    else if (word == "--prompt") given.prompt = std::atol(value());
    else if (word == "--tokens") given.tokens = std::atol(value());
    else if (word == "--rounds") given.rounds = std::atoi(value());
    else return std::fprintf(stderr, "bench_generate: unknown option %s\n", words[i]), 2;
  }
  if (std::string_view(given.precision) == "bf16") motet::bench_generate::run<motet::mixed_bf16>(given);
  else motet::bench_generate::run<motet::fp32>(given);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
