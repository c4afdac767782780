// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/trained/time_tokens.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace motet {

// A saying tells a language model until when it goes on, and which token it takes of those that are likely.
struct saying {
  isize most = 0;         // tokens; 0: until the context is full
  std::int32_t end = -1;  // the token after which nothing follows; negative: none
  float temperature = 0;  // logits are divided by it; 0: always the likeliest token
  isize top_k = 0;        // only so many of the likeliest; 0: all
  float top_p = 1;        // only the likeliest that have this much of the probability together
  std::uint64_t seed = 0;
  time_tokens times{};  // that are said among the words; without a first one none are
};

// Said tokens follow a prompt; they tell how long they took.
struct said_tokens {
  std::vector<std::int32_t> tokens;  // those after the prompt; where one ended it, that is the last
  isize prompt = 0;                  // rows before them
  double prompt_seconds = 0;         // until the first token
  double seconds = 0;                // for all others
  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(tokens.size() - 1) / seconds : 0;
  }
};

void check_saying(const saying& how);

// Chooses a next token by its logits. What is drawn depends on the seed and on how many tokens are before it
// alone, so a text that is continued in two parts is the text that is said at once.
// Asks for: one logit for each token of the vocabulary; options that check_saying() accepts.
// Memory: two numbers for each token, kept from call to call.
// Errors: MT-R18
// Example:
//   std::int32_t surprise(std::span<const float> logits) {
//     return token_choice().of(logits, {.temperature = 0.8f, .top_k = 40, .seed = 7}, 3);
//   }
class token_choice {
 public:
  // `before`: tokens, or rows, that the new one follows.
  template <class T>
  std::int32_t of(std::span<const T> logits, const saying& how, isize before) {
    const std::int32_t likeliest = find_likeliest(logits);
    if (how.temperature == 0 || how.top_k == 1) return likeliest;
    const double top = static_cast<double>(logits[as_size(likeliest)]);
    const double slope = 1 / static_cast<double>(how.temperature);
    all_.clear();
    for (std::size_t i = 0; i < logits.size(); ++i)
      all_.push_back(
          {std::exp((static_cast<double>(logits[i]) - top) * slope), static_cast<std::int32_t>(i)});
    keep_likeliest(how);
    double whole = 0;
    for (const candidate& each : all_) whole += each.weight;
    double left =
        static_cast<double>(random_stream(how.seed, "say").uniform(static_cast<std::uint64_t>(before))) *
        whole;
    for (const candidate& each : all_) {
      left -= each.weight;
      if (left < 0) return each.token;
    }
    return likeliest;  // what rounding leaves
  }

 private:
  struct candidate {
    double weight;  // probability, but for a factor that all have
    std::int32_t token;
  };
  static bool likelier(const candidate& a, const candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  }

  template <class T>
  static std::int32_t find_likeliest(std::span<const T> logits) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (!std::isfinite(static_cast<double>(logits[i])))
        fail(logits_not_finite, sentence({"token ", i, " has ", static_cast<double>(logits[i])}));
      if (logits[i] > logits[best]) best = i;
    }
    return static_cast<std::int32_t>(best);
  }
  void keep_likeliest(const saying& how);
  std::vector<candidate> all_;
};

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY void check_saying(const saying& how) {
  if (!(how.temperature >= 0 && std::isfinite(how.temperature)))
    fail(bad_saying, sentence({"temperature ", how.temperature}));
  if (!(how.top_p > 0 && how.top_p <= 1)) fail(bad_saying, sentence({"top_p ", how.top_p}));
  if (how.top_k < 0) fail(bad_saying, sentence({"top_k ", how.top_k}));
  if (how.most < 0) fail(bad_saying, sentence({"most ", how.most}));
  const time_tokens& times = how.times;
  if (times.told() && !(times.words >= 0 && times.words < times.first))
    fail(bad_saying, sentence({"times from token ", times.first, " on, words below ", times.words,
                               "; wanted words before times"}));
  if (times.latest_begin < 0) fail(bad_saying, sentence({"times.latest_begin ", times.latest_begin}));
}
MOTET_BODY void token_choice::keep_likeliest(const saying& how) {
  if (how.top_k > 0 && as_size(how.top_k) < all_.size()) {
    std::nth_element(all_.begin(), all_.begin() + how.top_k, all_.end(), likelier);
    all_.resize(as_size(how.top_k));
  }
  // Tokens get one order, whatever the library's nth_element leaves.
  if (how.top_k > 0 || how.top_p < 1) std::sort(all_.begin(), all_.end(), likelier);
  if (!(how.top_p < 1)) return;
  double whole = 0, kept = 0;
  for (const candidate& each : all_) whole += each.weight;
  const double wanted = static_cast<double>(how.top_p) * whole;
  std::size_t count = 0;
  while (count < all_.size() && kept < wanted) kept += all_[count++].weight;
  all_.resize(std::max<std::size_t>(count, 1));
}
#endif

}  // namespace motet
