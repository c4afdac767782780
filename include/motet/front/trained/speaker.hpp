// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/front/trained/continuation.hpp>
#include <motet/front/trained/sampling.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/input_traits.hpp>

#include <chrono>
#include <span>
#include <string>
#include <type_traits>

namespace motet {

// A decoder speaks here, on the processors of this process: it gives the logits of all rows of some samples,
// the next token of a text, or many of them, which costs one pass over the text and then one row for each
// token.
// Asks for: the flat weights of the net, as trainer::weights() gives them, which stay where they are and may
// change between calls; tokens of the vocabulary; samples of at most `context` tokens.
// Memory: temporaries of the largest batch; from the first next() or say() on, keys and values of `context`
// rows, and where values are bf16 a copy of the weights in bf16.
// Errors: MT-R03, MT-R15, MT-R16, MT-R17, MT-R18, MT-N14
// Example:
//   constexpr decoder_config little{.vocabulary = 256, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   said_tokens go_on(cpu::device& device, const float* weights, std::span<const std::int32_t> said) {
//     return speaker<decoder<little>>(device, weights).say(said, {.most = 20, .temperature = 0.8f, .seed = 1});
//   }
template <class Net, class Numbers = fp32>
class speaker {
 public:
  using master = typename Numbers::master;
  using text = continuation<typename Net::logits, Numbers>;
  using input = typename Net::logits::input;
  static constexpr isize vocabulary = Net::config.vocabulary;

  speaker(cpu::device& device, const master* weights)
      : device_(device), weights_(weights), text_(device, weights, Net::config.context) {}

  // `to` has (rows, vocabulary).
  void logits(const tokens& batch, master* to) {
    for (isize s = 0; s < batch.seq.samples; ++s)
      if (batch.seq.rows_of(s) > Net::config.context)
        fail(step_too_large, sentence({"sample ", s, " has ", batch.seq.rows_of(s), " tokens, longer than ",
                                       Net::config.context}));
    check_tokens(batch);
    if (batch.seq.rows() == 0) return;
    const auto run = [&](cpu::context& ctx) {
      Net::logits::infer(ctx, motet::weights<Numbers>{weights_}, batch,
                         view<master, vocabulary>(to, batch.seq.rows()));
    };
    device_.prepare(device_.dry_run(run));
    device_.run(run, {0, 0, 0, false});
  }

  // The token after these, of which there is one at least: the likeliest, if `how` does not say otherwise.
  // All rows run again, as the weights may be others than before.
  std::int32_t next(std::span<const std::int32_t> said, const saying& how = {}) {
    check_saying(how);
    if (how.times.told())
      fail(bad_saying, "times after a text whose prompt next() cannot tell from what was said; use say()");
    const std::span<const master> likely = begin(one_sample(said));
    return choice_.of(likely, how, text_.rows());
  }

  // Says what follows an input of one sample, token by token, until one ends it, `most` are said or the
  // context is full. Each is told to hear(token) at once, which may return false to hear no more.
  template <class Hear>
  said_tokens say_after(const input& prompt, const saying& how, Hear&& hear) {
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point from) {
      return std::chrono::duration<double>(clock::now() - from).count();
    };
    check_saying(how);
    if (how.times.first >= vocabulary)
      fail(bad_saying,
           sentence({"times from token ", how.times.first, " on, of a vocabulary of ", vocabulary}));
    const auto began = clock::now();
    said_tokens said;
    std::span<const master> from = begin(prompt);
    said.prompt = text_.rows();
    // The last token needs no row of its own.
    const isize most = how.most > 0 ? std::min(how.most, text_.room() + 1) : text_.room() + 1;
    auto first = began;
    for (;;) {
      const std::int32_t token = choice_.of(allowed(from, said.tokens, how), how,
                                            said.prompt + static_cast<isize>(said.tokens.size()));
      said.tokens.push_back(token);
      if (said.tokens.size() == 1) {
        first = clock::now();
        said.prompt_seconds = since(began);
      }
      if constexpr (std::is_void_v<std::invoke_result_t<Hear&, std::int32_t>>) hear(token);
      else if (!hear(token)) break;
      if (token == how.end || static_cast<isize>(said.tokens.size()) == most) break;
      from = text_.go_on({&token, 1});
    }
    if (said.tokens.size() > 1) said.seconds = since(first);
    return said;
  }
  said_tokens say_after(const input& prompt, const saying& how = {}) {
    return say_after(prompt, how, [](std::int32_t) {});
  }
  // The prompt may be tokens alone.
  template <class Hear>
  said_tokens say(std::span<const std::int32_t> prompt, const saying& how, Hear&& hear) {
    return say_after(one_sample(prompt), how, hear);
  }
  said_tokens say(std::span<const std::int32_t> prompt, const saying& how = {}) {
    return say_after(one_sample(prompt), how);
  }

 private:
  static tokens one_sample(std::span<const std::int32_t> said) {
    return {said.data(), {1, static_cast<isize>(said.size()), nullptr}};
  }
  static void check_tokens(const input& batch) {
    if constexpr (requires { input_traits<Net, input>::unknown(batch); })
      if (const std::string what = input_traits<Net, input>::unknown(batch); !what.empty())
        fail(unknown_token, what);
  }
  std::span<const master> begin(const input& prompt) {
    check_tokens(prompt);
    return text_.begin(prompt);
  }
  std::span<const master> allowed(std::span<const master> likely, std::span<const std::int32_t> said,
                                  const saying& how) {
    if (!how.times.told()) return likely;
    timely_.assign(likely.begin(), likely.end());
    keep_timely(std::span<master>(timely_), said, how.times);
    return timely_;
  }

  cpu::device& device_;
  const master* weights_;
  text text_;
  token_choice choice_;
  std::vector<master> timely_;
};

}  // namespace motet
