// SPDX-License-Identifier: Apache-2.0
#include <motet/front/trained/continuation.hpp>
#include <motet/front/trained/speaker.hpp>

#include "deviation.hpp"
#include "laws/cpu_run.hpp"
#include "layer_laws.hpp"
#include "unit/runtime/small_hearing.hpp"
#include "unit/runtime/small_sight.hpp"
#include "unit/runtime/small_talk.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Logits piece by piece are those of all rows at once; the greedy text is the same token for token.
template <decoder_config Config, class Numbers = fp32>
void check_pieces() {
  using net = decoder<Config>;
  const std::vector<float> weights =
      laws::narrowed<float>(laws::random_weights(layer::parameters_of<net>(), net::parameter_size));
  constexpr auto vocabulary = static_cast<std::size_t>(Config.vocabulary);
  // Few rows are multiplied by another kernel than many, and only products with instructions for bf16 round
  // what they read.
  const double rounded = cpu::current_kernel() >= cpu::kernel_kind::avx512_bf16 ? 3e-2 : 1e-1;
  const double near = std::is_same_v<typename Numbers::value, bf16> ? rounded : 1e-4;
  for (const int threads : {1, 3}) {
    cpu::device device(threads);
    speaker<net, Numbers> says(device, weights.data());
    continuation<typename net::logits, Numbers> text(device, weights.data(), Config.context);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}}) {
      std::vector<std::int32_t> said{2, 0, 5};
      auto got = text.begin({said.data(), {1, 3, nullptr}});
      for (;;) {
        std::vector<float> all(said.size() * vocabulary);
        says.logits({said.data(), {1, static_cast<motet::isize>(said.size()), nullptr}}, all.data());
        const std::vector<float> wanted(all.end() - Config.vocabulary, all.end());
        CHECK(laws::off_by(std::vector<float>(got.begin(), got.end()), wanted, true) <= near);
        if (text.room() < static_cast<motet::isize>(piece)) break;
        // One token that is the likeliest, and others.
        said.push_back(
            static_cast<std::int32_t>(std::max_element(wanted.begin(), wanted.end()) - wanted.begin()));
        while (said.size() < static_cast<std::size_t>(text.rows()) + piece)
          said.push_back(static_cast<std::int32_t>(said.size() % vocabulary));
        got = text.go_on({said.data() + text.rows(), piece});
      }
    }
    // Greedy, by the cache and without it. In bf16 two logits may be as good as equal.
    if (near > 1e-3) continue;
    const said_tokens by_cache = says.say(std::vector<std::int32_t>{2, 0, 5});
    std::vector<std::int32_t> said{2, 0, 5};
    for (const std::int32_t token : by_cache.tokens) {
      std::vector<float> all(said.size() * vocabulary);
      says.logits({said.data(), {1, static_cast<motet::isize>(said.size()), nullptr}}, all.data());
      const auto last = all.end() - Config.vocabulary;
      CHECK(token == std::max_element(last, all.end()) - last);
      said.push_back(token);
    }
    CHECK(static_cast<motet::isize>(said.size()) == Config.context + 1);
  }
}

// An input that is more than tokens: rows from elsewhere, then tokens.
struct lead_and_tokens {
  const float* lead = nullptr;  // (rows, width)
  motet::isize rows = 0;
  tokens text;
};
constexpr decoder_config led{.vocabulary = 19, .context = 12, .width = 16, .layers = 2, .heads = 2};
struct led_embedding {
  using input = lead_and_tokens;
  using text_embedding = token_embedding<led.tokens()>;
  static constexpr motet::isize out = 16, parameter_size = text_embedding::parameter_size;
  static void parameters(parameter_list& list) { text_embedding::parameters(list); }
  static sequences rows(const input& batch) { return {1, batch.rows + batch.text.seq.rows(), nullptr}; }
  template <class N>
  using saved = typename text_embedding::saved<N>;
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, out> y,
                      saved<N>& s) {
    const sequences first{1, batch.rows, nullptr};
    copy(ctx, first, matrix<const float>{batch.lead, batch.rows, out, out}, y.slice(0, batch.rows));
    text_embedding::forward(ctx, w, batch.text, y.slice(batch.rows, batch.text.seq.rows()), s);
  }
};
template <class Tail>
using led_tower = tower<led_embedding, led.tower(), Tail>;

}  // namespace

TEST_CASE("grouped queries, biases, norms of heads and scaled turns") {
  check_pieces<decoder_config{.vocabulary = 23,
                              .context = 13,
                              .width = 16,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .hidden = 20,
                              .rotary = 100,
                              .scaling = {.factor = 8, .slow = 1, .fast = 4, .context = 8},
                              .bias = true,
                              .head_norm = true}>();
}

TEST_CASE("learned positions, layer norms, mlps and heads that do not divide the width") {
  check_pieces<decoder_config{.vocabulary = 37,
                              .context = 14,
                              .width = 20,
                              .layers = 3,
                              .heads = 3,
                              .head_width = 10,
                              .act = activation::gelu,
                              .gated = false,
                              .norm = norm_kind::layer,
                              .rotary = 0,
                              .bias = true,
                              .mlp_bias = true,
                              .recompute = true}>();
}

TEST_CASE("experts, and one head of keys") {
  check_pieces<decoder_config{.vocabulary = 11,
                              .context = 9,
                              .width = 16,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 1,
                              .hidden = 24,
                              .mix = {.experts = 4, .top_k = 2}}>();
}

TEST_CASE("values in bf16, and a copy of the weights with them") {
  check_pieces<decoder_config{.vocabulary = 23, .context = 11, .width = 32, .layers = 2, .heads = 2},
               mixed_bf16>();
}

TEST_CASE("a first input that is more than tokens is continued by tokens") {
  using norm_of = norm<16, norm_config{led.norm, led.epsilon}>;
  using all_rows = led_tower<logits_tail<norm_of, 19>>;
  const std::vector<float> weights = laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<decoder<led>>(), all_rows::parameter_size));
  const std::vector<float> lead(48, 0.25f);
  const std::vector<std::int32_t> said{3, 1, 4, 1, 5, 9};
  cpu::device device(2);
  const auto all_of = [&](motet::isize count) {
    const lead_and_tokens batch{lead.data(), 3, {said.data(), {1, count, nullptr}}};
    std::vector<float> logits(as_size((3 + count) * 19));
    const auto run = [&](cpu::context& ctx) {
      all_rows::infer(ctx, motet::weights<fp32>{weights.data()}, batch,
                      view<float, 19>(logits.data(), 3 + count));
    };
    device.prepare(device.dry_run(run));
    device.run(run);
    return std::vector<float>(logits.end() - 19, logits.end());
  };
  continuation<all_rows> text(device, weights.data(), 12);
  auto got = text.begin({lead.data(), 3, {said.data(), {1, 2, nullptr}}});
  CHECK(text.rows() == 5);
  for (motet::isize count = 2;; ++count) {
    CHECK(laws::off_by(std::vector<float>(got.begin(), got.end()), all_of(count), true) <= 1e-4);
    if (count == 6) break;
    got = text.go_on({said.data() + count, 1});
  }
}

TEST_CASE("what does not fit is refused, and what was before stays") {
  cpu::device device(1);
  const std::vector<float> weights(small_talk::parameter_size, 0.01f);
  continuation<small_talk::logits> text(device, weights.data(), 7);
  const std::vector<std::int32_t> some(9, 1);
  CHECK_THROWS_WITH_AS(text.go_on({some.data(), 1}), doctest::Contains("go_on() was called before begin()"),
                       error);
  CHECK_THROWS_WITH_AS(text.begin({some.data(), {1, 0, nullptr}}), doctest::Contains("it has no tokens"),
                       error);
  CHECK_THROWS_WITH_AS(text.begin({some.data(), {2, 1, nullptr}}), doctest::Contains("1 sample at a time"),
                       error);
  CHECK_THROWS_WITH_AS(text.begin({some.data(), {1, 8, nullptr}}),
                       doctest::Contains("it has 8 rows, there is room for 7"), error);
  text.begin({some.data(), {1, 6, nullptr}});
  CHECK_THROWS_WITH_AS(text.go_on({some.data(), 2}), doctest::Contains("it has 2 rows, there is room for 1"),
                       error);
  CHECK(text.rows() == 6);
  text.go_on({some.data(), 1});
  CHECK(text.room() == 0);
  CHECK(text.cache_bytes() == 2 * 2 * 7 * 8 * 4);
}

TEST_CASE("words go on behind pictures: by the cache and without it") {
  const std::vector<float> weights = laws::narrowed<float>(
      laws::random_weights(layer::parameters_of<small_sight>(), small_sight::parameter_size));
  const small_seen_text drawn(7, 5);
  const pictured_tokens all = drawn.get();
  auto room = input_traits<small_sight>::room(1);
  int seen = 0;
  for (const int threads : {1, 3}) {
    cpu::device device(threads);
    speaker<small_sight> says(device, weights.data());
    for (motet::isize s = 0; s < all.seq.samples; ++s) {
      const pictured_tokens prompt = input_traits<small_sight>::slice(all, s, 1, room);
      seen += prompt.seen.samples > 0 ? 1 : 0;
      const said_tokens said = says.say_after(prompt);
      CHECK(said.prompt == prompt.seq.rows());
      CHECK(said.prompt + static_cast<motet::isize>(said.tokens.size()) == small_sight::config.context + 1);
      std::vector<std::int32_t> ids(prompt.ids, prompt.ids + prompt.seq.rows());
      for (const std::int32_t token : said.tokens) {
        pictured_tokens whole = prompt;
        const auto rows = static_cast<motet::isize>(ids.size());
        whole.ids = ids.data();
        whole.seq = {1, rows, nullptr};
        std::vector<float> logits(as_size(rows * 23));
        laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
          small_sight::logits::infer(ctx, motet::weights<fp32>{weights.data()}, whole,
                                     view<float, 23>(logits.data(), rows));
        });
        const auto last = logits.end() - 23;
        CHECK(token == std::max_element(last, logits.end()) - last);
        ids.push_back(token);
      }
    }
  }
  CHECK(seen > 2);
}

TEST_CASE("tokens that follow look at the rows beside the first ones, by the cache and without it") {
  using net = small_hearing<>::module_at<1>::net;
  const std::vector<float> weights =
      laws::narrowed<float>(laws::random_weights(layer::parameters_of<net>(), net::parameter_size));
  const std::vector<std::int32_t> said{2, 0, 5, 1, 9, 3};
  std::vector<float> last;
  for (const int threads : {1, 3})
    for (const motet::isize heard : {6, 3, 0}) {
      const std::vector<float> rows = laws::narrowed<float>(laws::random_reals(heard * 8, "rows"));
      const motet::isize offsets[] = {0, heard};
      const rows_beside beside{offsets, {rows.data(), nullptr}};
      const auto input = [&](motet::isize count) {
        return tokens_beside{{{said.data(), {1, count, nullptr}}}, beside};
      };
      cpu::device device(threads);
      continuation<net::logits> text(device, weights.data(), 6);
      auto got = text.begin(input(2));
      for (motet::isize count = 2; count <= 6; ++count) {
        if (count > 2) got = text.go_on({said.data() + count - 1, 1});
        std::vector<float> all(static_cast<std::size_t>(count * 23));
        const auto run = [&](cpu::context& ctx) {
          net::logits::infer(ctx, motet::weights<fp32>{weights.data()}, input(count),
                             view<float, 23>(all.data(), count));
        };
        device.prepare(device.dry_run(run));
        device.run(run, {0, 0, 0, false});
        CHECK(laws::off_by(std::vector<float>(got.begin(), got.end()),
                           std::vector<float>(all.end() - 23, all.end()), true) <= 1e-4);
      }
      const std::vector<float> now(got.begin(), got.end());
      if (threads > 1) continue;
      CHECK(now != last);
      last = now;
    }
}
