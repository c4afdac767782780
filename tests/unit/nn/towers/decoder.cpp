// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/nn/towers/decoder.hpp>

#include "labelled_batch.hpp"
#include "refused_configs.hpp"

#include <limits>

using namespace motet;

constexpr refused<decoder_config> wrong[] = {
    {{.width = 6, .heads = 2}, reason::odd_rotary_width, 3, 4},
    {{.context = 0}, reason::not_positive, 0, 1},
    {{.z_loss = -0.5f}, reason::z_loss_weight, -500000, 0},
    {{.z_loss = std::numeric_limits<float>::quiet_NaN()}, reason::z_loss_weight, -1, 0},
    {{.cut_vocabulary = true, .tied = true}, reason::tied_table_is_cut, 0, 0},
};
static_assert(are_refused(wrong));
static_assert(check(decoder_config{}).ok());

TEST_CASE("language models whose numbers do not fit") { check_refused(wrong); }

namespace {

template <decoder_config Config>
void check_decoder(const laws::law_settings& settings = {.half = 5e-2, .samples_of_tensor = 2}) {
  for (const std::vector<motet::isize>& offsets :
       {std::vector<motet::isize>{0}, {0, 1}, {0, 3, 3, 5, 6, 11}}) {
    const laws::labelled_batch batch(offsets, Config.vocabulary, 0.25);
    laws::check_laws(laws::tower_subject<decoder<Config>>{batch.labelled}, settings);
  }
}

constexpr decoder_config llama{.vocabulary = 9,
                               .context = 5,
                               .width = 8,
                               .layers = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .hidden = 6,
                               .rotary = 50};
constexpr decoder_config qwen2 = [] {
  decoder_config c = llama;
  c.bias = true;
  c.out_bias = false;
  c.recompute = true;
  return c;
}();
constexpr decoder_config qwen3 = [] {
  decoder_config c = llama;
  c.head_norm = true;
  c.head_width = 4;
  c.scaling = {8, 1, 4, 30};
  return c;
}();
constexpr decoder_config gpt{.vocabulary = 9,
                             .context = 5,
                             .width = 6,
                             .layers = 1,
                             .heads = 3,
                             .hidden = 7,
                             .act = activation::gelu_tanh,
                             .gated = false,
                             .norm = norm_kind::layer,
                             .rotary = 0,
                             .bias = true,
                             .out_bias = true,
                             .mlp_bias = true};

constexpr decoder_config calm = [] {
  decoder_config c = llama;
  c.layers = 1;
  c.z_loss = 0.25f;
  return c;
}();

constexpr decoder_config tied_of(decoder_config c) {
  c.tied = true;
  return c;
}

// What is lost at one row's logits, in double.
double lost_at(const double* logits, motet::isize vocabulary, std::int32_t target, double z) {
  if (target < 0) return 0;
  double sum = 0;
  for (motet::isize v = 0; v < vocabulary; ++v) sum += std::exp(logits[v]);
  return std::log(sum) - logits[target] + z * std::log(sum) * std::log(sum);
}

template <decoder_config Config>
void check_against_logits(const laws::labelled_batch& batch, int threads) {
  using net = decoder<Config>;
  const auto list = layer::parameters_of<net>();
  const laws::reals w = laws::random_weights(list, net::parameter_size), none(w.size(), 0.0);
  const sequences seq = batch.input.seq;
  const laws::reals lost = laws::evaluate<fp64>(laws::tower_subject<net>{batch.labelled}, laws::way::infer,
                                                threads, w, {}, laws::reals(as_size(seq.samples), 1.0), none)
                               .y;
  laws::reals logits(as_size(seq.rows() * Config.vocabulary));
  const auto speak = [&](cpu::context& ctx) {
    net::logits::infer(ctx, weights<fp64>{w.data()}, batch.input,
                       view<double, Config.vocabulary>(logits.data(), seq.rows()));
  };
  laws::cpu_run_foretold(threads, speak);
  for (motet::isize s = 0; s < seq.samples; ++s) {
    double want = 0;
    for (motet::isize r = seq.begin(s); r < seq.end(s); ++r)
      want += batch.labelled.share * lost_at(&logits[as_size(r * Config.vocabulary)], Config.vocabulary,
                                             batch.targets[as_size(r)], static_cast<double>(Config.z_loss));
    CHECK_LE(laws::off_by(lost[as_size(s)], want), 1e-10 * (1 + want));
  }
}

}  // namespace

TEST_CASE("a decoder of grouped queries, rotary positions and SwiGLU") { check_decoder<llama>(); }
TEST_CASE("biases of queries, keys and values, recomputed") { check_decoder<qwen2>(); }
TEST_CASE("norms of heads, and turns that are slowed") { check_decoder<qwen3>(); }
TEST_CASE("learned positions, layer norms and biases everywhere") { check_decoder<gpt>(); }
TEST_CASE("a z loss beside the surprise") { check_decoder<calm>(); }

TEST_CASE("a table of tokens that is the last product, too, with learned positions") {
  check_decoder<tied_of(gpt)>();
}

TEST_CASE("a tied table loses what two equal tables lose, and its gradient is the sum of theirs") {
  using apart = decoder<llama>;
  using tied = decoder<tied_of(llama)>;
  static_assert(tied::parameter_size == apart::parameter_size - parameter_space(9 * 8));
  const laws::labelled_batch batch({0, 3, 3, 5, 6, 11}, 9, 0.25);
  const laws::reals one = laws::random_weights(layer::parameters_of<tied>(), tied::parameter_size);
  laws::reals two = one;
  two.insert(two.end(), one.begin(), one.begin() + 9 * 8);
  two.resize(as_size(apart::parameter_size), 0.0);
  const auto run = [&]<class Net>(const laws::reals& w, laws::way how) {
    return laws::evaluate<fp64>(laws::tower_subject<Net>{batch.labelled}, how, 2, w, {},
                                laws::reals(as_size(batch.input.seq.samples), 1.0),
                                laws::reals(w.size(), 0.0));
  };
  const auto got = run.operator()<tied>(one, laws::way::whole),
             want = run.operator()<apart>(two, laws::way::whole);
  CHECK(got.y == want.y);
  laws::reals sum(want.g.begin(), want.g.begin() + tied::parameter_size);
  for (std::size_t i = 0; i < 9 * 8; ++i) sum[i] += want.g[as_size(tied::parameter_size) + i];
  CHECK_LE(laws::apart(got.g, sum), 1e-14);
  CHECK_LT(0.1, laws::size_of(laws::reals(sum.begin(), sum.begin() + 9 * 8)));
}

TEST_CASE("a sample loses the surprise at its targets, by its logits; rows come in pieces") {
  for (const int threads : {1, 2}) {
    check_against_logits<llama>(laws::labelled_batch({0, 3, 3, 5, 6, 11}, 9, 0.25), threads);
    check_against_logits<calm>(laws::labelled_batch({0, 3, 3, 5, 6, 11}, 9, 0.25), threads);
    check_against_logits<tied_of(gpt)>(laws::labelled_batch({0, 3, 3, 5, 6, 11}, 9, 0.25), threads);
    // 128 rows at a time
    check_against_logits<decoder_config{
        .vocabulary = 33000, .context = 200, .width = 4, .layers = 1, .heads = 1, .hidden = 4}>(
        laws::labelled_batch({0, 180, 181, 300}, 33000, 0.5), threads);
  }
}

TEST_CASE("parameters are named by what they are") {
  std::vector<std::string> names;
  for (const parameter& each : layer::parameters_of<decoder<qwen3>>()) names.push_back(each.name);
  CHECK(names ==
        std::vector<std::string>{
            "embed.token", "blocks.0.attention.norm.weight", "blocks.0.attention.qkv.weight",
            "blocks.0.attention.out.weight", "blocks.0.attention.query_norm.weight",
            "blocks.0.attention.key_norm.weight", "blocks.0.mlp.norm.weight", "blocks.0.mlp.gate_up.weight",
            "blocks.0.mlp.down.weight", "blocks.1.attention.norm.weight", "blocks.1.attention.qkv.weight",
            "blocks.1.attention.out.weight", "blocks.1.attention.query_norm.weight",
            "blocks.1.attention.key_norm.weight", "blocks.1.mlp.norm.weight", "blocks.1.mlp.gate_up.weight",
            "blocks.1.mlp.down.weight", "norm.weight", "head.weight"});
}
