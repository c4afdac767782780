// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/continued_attention.hpp>
#include <motet/backend/cpu/device.hpp>
#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/towers/last_logits.hpp>
#include <motet/runtime/messages.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace motet {

// Runs a language model over one sample piece by piece: begin() all rows of a first input at once, go_on()
// only the tokens that follow, against the keys and values of the rows before them. Both give the logits of
// what comes next. Logits is a tower that makes those of all rows, such as decoder<...>::logits; the first
// input may be more than tokens (see continued).
// Asks for: the flat weights of the net, which stay where they are; at most `most_rows` rows in all.
// Memory: 2 x layers x rows x width of keys, once; temporaries of the longest piece. Where values are bf16, a
// copy of the weights in bf16, made at begin(): a single row is as slow as the weights are long.
// Errors: MT-R16, MT-N11, MT-N13, MT-N14
// Example:
//   #include <motet/nn/towers/decoder.hpp>
//   constexpr decoder_config little{.vocabulary = 256, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   float of_token_3(cpu::device& device, const float* weights, std::span<const std::int32_t> said) {
//     continuation<decoder<little>::logits> text(device, weights, 64);
//     const auto rows = static_cast<motet::isize>(said.size());
//     return text.begin({said.data(), {1, rows, nullptr}})[3];
//   }
template <class Logits, class Numbers = fp32>
class continuation {
 public:
  using parts = continued<Logits>;
  using input = typename parts::first::input;
  using value = typename Numbers::value;
  using master = typename Numbers::master;
  static constexpr isize vocabulary = parts::vocabulary;

  continuation(cpu::device& device, const master* weights, isize most_rows)
      : device_(device), weights_(weights), most_(most_rows) {}
  continuation(const continuation&) = delete;
  continuation& operator=(const continuation&) = delete;

  isize rows() const { return cache_ ? cache_->rows() : 0; }
  isize room() const { return most_ - rows(); }
  isize cache_bytes() const { return cache_ ? cache_->bytes() : 0; }

  // Forgets what was before. The logits stay until the next call.
  std::span<const master> begin(const input& batch) {
    const sequences seq = parts::first::rows(batch);
    if (seq.samples != 1) fail(text_does_not_fit, sentence({"wanted 1 sample at a time, got ", seq.samples}));
    check_room(seq.rows(), most_);
    if (!cache_) cache_.emplace(parts::layers, parts::key_heads, parts::head_width, most_);
    cache_->clear();
    if constexpr (looks_beside) {
      beside_ = batch;
      cache_->hold_beside(batch.entering_count(), 2 * parts::key_heads * parts::head_width);
    }
    copy_weights();
    return pass<typename parts::first>(batch, seq.rows());
  }
  std::span<const master> go_on(std::span<const std::int32_t> following) {
    static_assert(require<parts::check_rows()>);
    const auto rows = static_cast<isize>(following.size());
    check_room(rows, room());
    if (this->rows() == 0) fail(text_does_not_fit, "go_on() was called before begin()");
    const tokens words{following.data(), {1, rows, nullptr}};
    if constexpr (looks_beside) return pass<typename parts::later>(input{{words}, beside_}, rows);
    else return pass<typename parts::later>(words, rows);
  }

 private:
  static constexpr bool looks_beside = std::is_base_of_v<rows_beside, input>;
  static constexpr bool copies_weights = std::is_same_v<value, bf16> && std::is_same_v<master, float>;

  static void check_room(isize rows, isize room) {
    if (rows < 1) fail(text_does_not_fit, "it has no tokens");
    if (rows > room) fail(text_does_not_fit, sentence({"it has ", rows, " rows, there is room for ", room}));
  }
  // Anew each time, as weights that learn change in between.
  void copy_weights() {
    if constexpr (copies_weights) {
      constexpr isize count = parts::first::parameter_size;
      if (copy_.size() == 0) copy_ = buffer<bf16>(count);
      device_.run([&](cpu::context& ctx) {
        const interval own = ctx.own(count);
        cpu::convert_rows(matrix<const float>{weights_ + own.begin, 1, own.size(), own.size()},
                          matrix<bf16>{copy_.data() + own.begin, 1, own.size(), own.size()});
      });
    }
  }
  template <class Tower, class Input>
  std::span<const master> pass(const Input& batch, isize rows) {
    logits_.resize(as_size(vocabulary));
    cpu::rounded_weights rounded;
    if constexpr (copies_weights) rounded = {weights_, copy_.data()};
    const auto run = [&](cpu::context& ctx) {
      cpu::continue_rows(ctx, *cache_, rounded, [&](cpu::continued_context<value>& here) {
        Tower::infer(here, weights<Numbers>{weights_}, batch, view<master, vocabulary>(logits_.data(), 1));
      });
    };
    // Once for each length: what a pass takes does not depend on what was before it.
    if (rows != 1 || !prepared_for_one_) {
      device_.prepare(device_.dry_run(run));
      prepared_for_one_ = prepared_for_one_ || rows == 1;
    }
    device_.run(run, {0, 0, 0, false});
    cache_->add(rows);
    return {logits_.data(), logits_.size()};
  }

  cpu::device& device_;
  const master* weights_;
  isize most_;
  std::optional<cpu::key_value_cache<value>> cache_;
  buffer<bf16> copy_;
  rows_beside beside_;  // of the sample that is gone on with, where the caller has them
  std::vector<master> logits_;
  bool prepared_for_one_ = false;
};

}  // namespace motet
