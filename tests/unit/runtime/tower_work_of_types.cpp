// SPDX-License-Identifier: Apache-2.0
#include "tower_dry_runs.hpp"

#include <motet/meta/mixed_bits.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

using namespace motet;
using namespace motet::dry_runs;

namespace {

// Numbers in [least, most], always the same ones for a seed.
struct draws {
  std::uint64_t state;
  constexpr motet::isize between(motet::isize least, motet::isize most) {
    return least + static_cast<motet::isize>(motet::mixed_bits(state += motet::golden_step) %
                                             static_cast<std::uint64_t>(most - least + 1));
  }
  constexpr bool coin() { return between(0, 1) == 1; }
};

// Both kinds of towers have these, on heads of an even width.
template <class Config>
constexpr Config random_blocks(draws& roll, Config out) {
  const motet::isize d = 2 * roll.between(3, 8);
  out.kv_heads = roll.between(1, 3);
  out.heads = out.kv_heads * roll.between(1, 3);
  out.width = 4 * roll.between(4, 16);
  if (roll.coin() || out.width % out.heads != 0) out.head_width = d;
  out.layers = roll.between(2, 5);
  if (roll.coin()) out.hidden = roll.between(20, 200);
  out.embedding = roll.between(5, 40);
  out.norm = roll.coin() ? norm_kind::layer : norm_kind::rms;
  out.gated = roll.coin();
  return out;
}
constexpr vit_config random_picture(std::uint64_t seed) {
  draws roll{seed};
  vit_config out = random_blocks(roll, vit_config{});
  out.patch = roll.between(2, 6);
  out.image = out.patch * roll.between(2, 5);
  out.pool = static_cast<pool_kind>(roll.between(0, 3));
  if (out.pool == pool_kind::last) out.pool = pool_kind::first;
  out.position = roll.coin() ? position_kind::learned : position_kind::sine;
  out.patch_bias = roll.coin();
  out.pre_norm = roll.coin();
  return out;
}
constexpr text_config random_caption(std::uint64_t seed) {
  draws roll{seed};
  text_config out = random_blocks(roll, text_config{});
  out.vocabulary = roll.between(10, 400);
  out.context = roll.between(3, 40);
  out.pool = static_cast<pool_kind>(roll.between(0, 3));
  if (roll.coin() && out.pool != pool_kind::first) out.mask = mask_kind::full;
  if (roll.coin()) out.rotary = 10000;
  out.cut_vocabulary = roll.coin();
  return out;
}

// All of a tower, and its stages, which differ in what is before and behind their blocks.
template <class Net>
void check_tower(const char* name) {
  CAPTURE(name);
  const tower_outline of = outline_of<Net>(name);
  REQUIRE(check(of).ok());
  CHECK(parameters_of(of) == Net::parameter_size);
  for (const stage_range range : {stage_range{0, of.layers}, stage_range{0, 1}, stage_range{1, of.layers},
                                  stage_range{of.layers - 1, of.layers}}) {
    // Nothing is rounded but places in memory, to 64 bytes.
    check_range<Net>(of, range, {}, 0.005, 0.01);
  }
  // Sums over a tensor group count as FLOPs there.
  for (const std::int32_t tensor : {2, 3})
    if (tensor <= of.keyed_heads()) check_range<Net>(of, {0, of.layers}, {.tensor = tensor}, 0.02, 0.02);
}

template <std::uint64_t... Seeds>
void check_pictures(std::integer_sequence<std::uint64_t, Seeds...>) {
  (check_tower<vit<random_picture(Seeds)>>("picture"), ...);
}
template <std::uint64_t... Seeds>
void check_captions(std::integer_sequence<std::uint64_t, Seeds...>) {
  (check_tower<text_tower<random_caption(Seeds)>>("caption"), ...);
}

}  // namespace

TEST_CASE("random towers of pictures") { check_pictures(std::integer_sequence<std::uint64_t, 2, 5, 12>{}); }

TEST_CASE("random towers of captions") { check_captions(std::integer_sequence<std::uint64_t, 1, 3, 5>{}); }
