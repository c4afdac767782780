// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/nn/towers/text.hpp>

#include <context_members.hpp>

using namespace motet;

namespace {

constexpr text_config ear{.vocabulary = 11,
                          .context = 9,
                          .width = 8,
                          .layers = 3,
                          .heads = 5,
                          .head_width = 2,
                          .hidden = 7,
                          .embedding = 5};
constexpr text_config modern{.vocabulary = 11,
                             .context = 9,
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
                             .cut_vocabulary = true,
                             .context_kind = context_attention::ring};

template <class Net>
laws::tower_part<Net> captions(const laws::token_batch& batch, motet::isize at = 0) {
  return {batch.input,
          [&batch](interval samples, const sequences& own) {
            return laws::take_tokens(batch.input, samples, own);
          },
          at};
}

}  // namespace

TEST_CASE("heads exchanged for rows, beside a tensor cut, as one and in stages") {
  const laws::token_batch batch({0, 3, 12, 13, 17, 19}, 11);
  laws::check_places(captions<text_tower<ear>>(batch), {{1, 2}, {1, 3}, {2, 2}, {2, 2, 5}});
  laws::check_places(captions<text_tower<ear>>(batch, 2), {{1, 2}, {2, 2}});
}

TEST_CASE("keys that go round, with their positions, and a cut table of tokens") {
  const laws::token_batch batch({0, 3, 12, 13, 17, 19}, 11);
  laws::check_places(captions<text_tower<modern>>(batch), {{1, 2}, {1, 4}, {2, 2}, {1, 3, 5}, {2, 2, 20}});
  laws::check_places(captions<text_tower<modern>>(batch, 1), {{3, 2}});
}

TEST_CASE("a rank is a team of threads, and fewer samples than ranks") {
  const laws::token_batch batch({0, 3, 12}, 11);
  const auto subject = captions<text_tower<modern>>(batch);
  laws::check_same(laws::run_places<fp64>(subject, laws::way::split, 1, 3, 2),
                   laws::run_spread<fp64>(subject, laws::way::whole, 0), 1e-12);
}
