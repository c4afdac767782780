// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/input_traits.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace motet {

// What a decoder says: the logits of all rows of some samples, and the likeliest next token, on the
// processors of this process.
// Asks for: the flat weights of the net, as trainer::weights() gives them, which stay where they are; tokens
// of the vocabulary; samples of at most `context` tokens.
// Memory: temporaries of the largest batch. Nothing is kept between calls, so each token that is said costs a
// pass over all before it.
// Errors: MT-R03, MT-R15
// Example:
//   constexpr decoder_config little{.vocabulary = 256, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   std::int32_t go_on(cpu::device& device, const float* weights, std::span<const std::int32_t> said) {
//     return speaker<decoder<little>>(device, weights).next(said);
//   }
template <class Net, class Numbers = fp32>
class speaker {
 public:
  using master = typename Numbers::master;
  static constexpr index vocabulary = Net::config.vocabulary;

  speaker(cpu::device& device, const master* weights) : device_(device), weights_(weights) {}

  // `to` has (rows, vocabulary).
  void logits(const tokens& batch, master* to) {
    for (index s = 0; s < batch.seq.samples; ++s)
      if (batch.seq.rows_of(s) > Net::config.context)
        fail(step_too_large, sentence({"sample ", s, " has ", batch.seq.rows_of(s), " tokens, longer than ",
                                       Net::config.context}));
    if (const std::string what = input_traits<Net, tokens>::unknown(batch); !what.empty())
      fail(unknown_token, what);
    if (batch.seq.rows() == 0) return;
    const auto run = [&](cpu::context& ctx) {
      Net::logits::infer(ctx, motet::weights<Numbers>{weights_}, batch,
                         view<master, vocabulary>(to, batch.seq.rows()));
    };
    device_.prepare(device_.dry_run(run));
    device_.run(run, {0, 0, 0, false});
  }
  // The likeliest token after these, of which there is one at least.
  std::int32_t next(std::span<const std::int32_t> said) {
    const auto rows = static_cast<index>(said.size());
    all_.resize(as_size(rows * vocabulary));
    logits({said.data(), {1, rows, nullptr}}, all_.data());
    const auto last = all_.end() - vocabulary;
    return static_cast<std::int32_t>(std::max_element(last, all_.end()) - last);
  }

 private:
  cpu::device& device_;
  const master* weights_;
  std::vector<master> all_;
};

}  // namespace motet
