// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/decoder.hpp>

#include "adapted.hpp"
#include "labelled_batch.hpp"

using namespace motet;

namespace {

constexpr decoder_config plain{.vocabulary = 9,
                               .context = 6,
                               .width = 8,
                               .layers = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .hidden = 6,
                               .rotary = 50};
constexpr decoder_config with(adapter_config adapters, bool recompute = false) {
  decoder_config c = plain;
  c.adapters = adapters;
  c.recompute = recompute;
  return c;
}
constexpr adapter_config all{
    .rank = 3, .alpha = 4, .keys = true, .out = true, .gate = true, .up = true, .down = true};
using base = decoder<plain>;
using net = decoder<with(all)>;

// The matrices of adapters that stand beside these columns of a weight's outputs.
struct product {
  const char *weight, *adapters;
  std::vector<interval> outputs;
};
const std::vector<product> products{
    {"attention.qkv", "attention.qkv", {{0, 8}, {8, 12}, {12, 16}}},
    {"attention.out", "attention.out", {{0, 8}}},
    {"mlp.gate_up", "mlp.gate_up", {{0, 6}, {6, 12}}},
    {"mlp.down", "mlp.down", {{0, 8}}},
};

parameter find(const std::vector<parameter>& list, const std::string& name) {
  for (const parameter& each : list)
    if (each.name == name) return each;
  FAIL("no parameter " << name);
  return {};
}

// Where they lie, of each adapter of each block.
struct place {
  isize weight, a, b, rows, columns;
};
std::vector<place> places() {
  const auto weights = layer::parameters_of<base>(),
             adapters = layer::parameters_of<net>({}, {}, listed::adapters);
  std::vector<place> all_of;
  for (const char* const block : {"blocks.0.", "blocks.1."})
    for (const product& each : products) {
      const parameter w = find(weights, block + std::string(each.weight) + ".weight"),
                      a = find(adapters, block + std::string(each.adapters) + ".a"),
                      b = find(adapters, block + std::string(each.adapters) + ".b");
      isize before = 0;
      for (std::size_t k = 0; k < each.outputs.size(); ++k) {
        const interval of = each.outputs[k];
        all_of.push_back({w.offset + of.begin * w.width, a.offset + static_cast<isize>(k) * 3 * w.width,
                          b.offset + before * 3, of.size(), w.width});
        before += of.size();
      }
    }
  return all_of;
}

template <class N, class Net>
laws::outcome run(const laws::labelled_batch& batch, const laws::reals& w, int threads = 1) {
  return laws::evaluate<N>(laws::tower_subject<Net>{batch.labelled}, laws::way::whole, threads, w, {},
                           laws::reals(as_size(batch.input.seq.samples), 1.0),
                           laws::reals(as_size(Net::parameter_size), 0.0));
}
laws::labelled_batch ragged() { return {{0, 3, 3, 5, 6, 11}, 9, 0.25}; }
laws::reals base_weights() {
  return laws::in_bf16(laws::random_weights(layer::parameters_of<base>(), base::parameter_size));
}

}  // namespace

static_assert(net::parameter_size == base::parameter_size && base::adapter_size == 0);
static_assert(check(decoder_config{.adapters = {.rank = -1}}).why == reason::adapters_do_not_fit);
static_assert(check(decoder_config{.gated = false, .adapters = {.rank = 1, .up = true}}).where == 3);
static_assert(check(decoder_config{.gated = false, .adapters = {.rank = 1}}).ok());

TEST_CASE("adapters of a decoder keep the laws of nets, ragged, and where blocks run again") {
  const laws::labelled_batch batch = ragged(), one({0, 1}, 9, 0.25), none({0}, 9, 0.25);
  for (const auto* each : {&batch, &one, &none}) {
    // Adapters of every product, as large as its weights, double what bf16 rounds.
    laws::check_laws(laws::tower_subject<laws::adapted<net>>{each->labelled},
                     {.half = 0.3, .samples_of_tensor = 2});
    laws::check_laws(
        laws::tower_subject<laws::adapted<decoder<with({.rank = 2, .keys = true}, true)>>>{each->labelled},
        {.half = 9e-2, .samples_of_tensor = 2});
  }
}

TEST_CASE("adapters whose B is zero change no bit") {
  laws::reals adapters(as_size(net::adapter_size), 0.0);
  for (const parameter& each : layer::parameters_of<net>({}, {}, listed::adapters))
    if (each.name.back() == 'a')
      for (isize i = 0; i < each.size(); ++i)
        adapters[as_size(each.offset + i)] = 0.25 + 0.5 * static_cast<double>(i % 3);
  const auto same = [&]<class N>(const N&) {
    for (const int threads : {1, 2})
      CHECK(run<N, laws::adapted<net>>(ragged(), adapters, threads).y ==
            run<N, base>(ragged(), base_weights(), threads).y);
  };
  same(fp64{});
  same(fp32{});
  same(mixed_bf16{});
}

TEST_CASE("features are those of merged weights, and gradients those of the merged weights' times A and B") {
  constexpr double by = 4.0 / 3;
  laws::reals merged = base_weights(),
              adapters = laws::random_weights(layer::parameters_of<net>({}, {}, listed::adapters),
                                              net::adapter_size);
  for (const place& each : places())
    for (isize o = 0; o < each.rows; ++o)
      for (isize i = 0; i < each.columns; ++i)
        for (isize k = 0; k < 3; ++k)
          merged[as_size(each.weight + o * each.columns + i)] +=
              by * adapters[as_size(each.b + o * 3 + k)] * adapters[as_size(each.a + k * each.columns + i)];
  const laws::outcome got = run<fp64, laws::adapted<net>>(ragged(), adapters),
                      want = run<fp64, base>(ragged(), merged);
  CHECK_LE(laws::apart(got.y, want.y), 1e-13);
  laws::reals chained(adapters.size(), 0.0);
  for (const place& each : places())
    for (isize o = 0; o < each.rows; ++o)
      for (isize i = 0; i < each.columns; ++i)
        for (isize k = 0; k < 3; ++k) {
          const std::size_t a = as_size(each.a + k * each.columns + i), b = as_size(each.b + o * 3 + k);
          const double slope = by * want.g[as_size(each.weight + o * each.columns + i)];
          chained[a] += slope * adapters[b];
          chained[b] += slope * adapters[a];
        }
  CHECK_LE(laws::apart(got.g, chained), 1e-12);
  CHECK_LT(0.1, laws::size_of(chained));
}
