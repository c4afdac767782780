// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/nn/towers/text.hpp>

#include <tensor_members.hpp>

using namespace motet;

namespace {

constexpr text_config ear{.vocabulary = 11,
                          .context = 6,
                          .width = 8,
                          .layers = 3,
                          .heads = 5,
                          .head_width = 2,
                          .hidden = 7,
                          .embedding = 5};
constexpr text_config few_words{.vocabulary = 2,
                                .context = 6,
                                .width = 8,
                                .layers = 1,
                                .heads = 2,
                                .embedding = 5,
                                .cut_vocabulary = true};
constexpr text_config modern{.vocabulary = 11,
                             .context = 6,
                             .width = 8,
                             .layers = 2,
                             .heads = 6,
                             .kv_heads = 3,
                             .head_width = 2,
                             .hidden = 7,
                             .embedding = 5,
                             .rotary = 100,
                             .norm = norm_kind::rms,
                             .gated = true,
                             .recompute = true,
                             .cut_vocabulary = true};

template <class Net>
laws::tower_part<Net> captions(const laws::token_batch& batch, motet::isize at = 0) {
  return {batch.input,
          [&batch](interval samples, const sequences& own) {
            return laws::take_tokens(batch.input, samples, own);
          },
          at};
}

}  // namespace

TEST_CASE("a causal text tower over members, as one and in stages") {
  const laws::token_batch batch({0, 3, 9, 10, 14, 16}, 11);
  laws::check_members(captions<text_tower<ear>>(batch), {1, 2, 3});
  laws::check_members(captions<text_tower<ear>>(batch, 2), {4});
  laws::check_members<fp32>(captions<text_tower<ear>>(batch), {3}, 1e-5);
}

TEST_CASE("grouped queries, rotary positions, gates, and blocks that run again") {
  const laws::token_batch batch({0, 3, 9, 10, 14, 16}, 11);
  laws::check_members(captions<text_tower<modern>>(batch), {2, 3});
  laws::check_members(captions<text_tower<modern>>(batch, 1), {4});
}

TEST_CASE("a table of tokens that is shared, by more members than it has tokens") {
  const laws::token_batch batch({0, 3, 9, 10, 14, 16}, 2);
  laws::check_members(captions<text_tower<few_words>>(batch), {3});
}

TEST_CASE("fewer samples than members") {
  const laws::token_batch batch({0, 5, 6}, 11);
  laws::check_members(captions<text_tower<ear>>(batch), {3});
}

// Parts of one stage hold what they should: blocks are cut, the rest is shared.
TEST_CASE("what is held of a stage") {
  using net = text_tower<modern>;
  const auto middle = net::stage::parameters_of("caption", {1, 2}, {3, 1});
  motet::isize shared = 0, total = 0;
  for (const parameter& each : middle) {
    INFO(each.name);
    const bool in_core = each.name.find(".attention.qkv") != std::string::npos ||
                         each.name.find(".attention.out.weight") != std::string::npos ||
                         each.name.find(".mlp.gate_up") != std::string::npos ||
                         each.name.find(".mlp.down.weight") != std::string::npos;
    const bool in_block = each.name.find("caption.blocks.1.") == 0;
    CHECK_EQ(each.by == cut_by::nothing, !(in_core && in_block));
    CHECK_EQ(each.held() == each.size(), each.by == cut_by::nothing);
    shared += each.by == cut_by::nothing ? each.size() : 0;
    total += each.size();
  }
  CHECK(shared < total);
  const auto named = [&](const char* name) {
    for (const parameter& each : middle)
      if (each.name == name) return each;
    FAIL(name);
    return parameter{};
  };
  // Two query heads with the one pair of keys and values that they share.
  const auto qkv = named("caption.blocks.1.attention.qkv.weight").slices();
  REQUIRE_EQ(qkv.size(), 3);
  CHECK_EQ(qkv[0].rows.begin, 4);
  CHECK_EQ(qkv[0].rows.end, 8);
  CHECK_EQ(qkv[1].rows.begin, 14);
  CHECK_EQ(qkv[2].rows.begin, 20);
  CHECK_EQ(qkv[2].rows.size(), 2);
  CHECK_EQ(qkv[1].offset, qkv[0].offset + 4 * 8);
  const auto bias = named("caption.blocks.1.attention.qkv.bias").slices();
  REQUIRE_EQ(bias.size(), 3);
  CHECK_EQ(bias[1].rows.size(), 1);
  CHECK_EQ(bias[1].columns.begin, 14);
  CHECK_EQ(named("caption.blocks.1.attention.out.weight").held_columns[0].begin, 4);
  CHECK_EQ(named("caption.blocks.1.mlp.down.weight").held_columns[0].begin, 3);
  // The part of a later stage begins where those before it end.
  const tensor_cut cut{3, 1};
  CHECK_EQ(net::stage::parameter_end({0, 1}, cut), net::stage::parameter_begin({1, 2}, cut));
  CHECK_EQ(net::stage::parameter_end({1, 2}, cut), net::size(cut));
  CHECK_EQ(net::size({}), net::parameter_size);
  CHECK(net::size(cut) < net::parameter_size);
}
