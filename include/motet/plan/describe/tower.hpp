// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rules.hpp>
#include <motet/plan/describe/model_facts.hpp>

namespace motet {

// The end says how the rows of a sample become a feature.
enum class tower_end : std::uint8_t {
  row,           // one of them is read
  block_of_row,  // one of them is read, and the last block is computed for it alone
  mean,
  attention,  // a learned query looks over all of them
};

// The costs of a module follow from its outline: a stack of equal transformer blocks over the rows (patches,
// tokens) of its samples, something before it that makes rows of a sample, and a projection to features.
// Asks for: numbers that check() accepts, as check() of a net's configuration does.
// Memory: some numbers.
// Errors: MT-N01, MT-N03, MT-N04, MT-N09
// Example:
//   constexpr tower_outline eye{.name = "picture", .layers = 12, .width = 768, .heads = 12, .tokens = 196};
//   static_assert(check(eye).ok() && eye.hidden_width() == 4 * 768);
struct tower_outline {
  label name;
  isize layers = 1;
  isize width = 1;
  isize heads = 1;
  isize key_heads = 0;   // 0: as many as heads
  isize hidden = 0;      // of the perceptron, or of one expert; 0: four times the width
  bool gated = false;    // a perceptron of three products instead of two
  isize tokens = 1;      // rows of a sample
  isize vocabulary = 0;  // 0: the rows are not tokens of a table
  isize patch = 0;       // numbers of a patch of a picture; 0: none
  isize embedding = 0;   // width of a feature; 0: no projection
  bool causal = false;
  bool frozen = false;  // no backward, no gradients, no state
  bool cached = false;  // frozen, and its features were computed before: they are only read

  // Details, as vit and text_tower have them.
  isize head_width = 0;  // 0: width / heads
  tower_end end = tower_end::row;
  bool rms = false;             // norms have no bias
  bool positions = true;        // each row has learned ones
  bool rotary = false;          // queries and keys are turned by theirs
  bool class_row = false;       // one row is learned, the others are patches
  bool patch_bias = false;      //
  bool pre_norm = false;        // a norm before the first block
  bool cut_vocabulary = false;  // tensor parallelism shares the table of tokens
  bool ring = false;            // context parallelism sends keys and values round, instead of rows for heads
  isize experts = 0;            // in the place of each perceptron; 0: none
  isize chosen = 1;             // of them, for each row
  isize sharers = 1;            // replicas that share them, as a plan says
  // Of ranks that share experts the busiest one has so many times its even share of rows. No description of a
  // model tells it: this is what is assumed of its router; 0: what it has by lot (cost/expert_load.hpp).
  double uneven = 0;

  friend constexpr bool operator==(const tower_outline&, const tower_outline&) = default;

  constexpr isize keyed_heads() const { return key_heads > 0 ? key_heads : heads; }
  constexpr isize columns_of_head() const { return head_width > 0 ? head_width : width / heads; }
  constexpr isize query_width() const { return heads * columns_of_head(); }
  constexpr isize key_width() const { return keyed_heads() * columns_of_head(); }
  constexpr isize hidden_width() const { return hidden > 0 ? hidden : 4 * width; }
  // Blocks that run for all rows.
  constexpr isize whole_blocks() const { return end == tower_end::block_of_row ? layers - 1 : layers; }
};

// The numbers of a tower fit each other, as check() of a net's configuration asks; found.where is 0 for
// sizes, 1 for heads, 2 for key heads, 3 for experts, 4 for how uneven they are.
constexpr verdict check(const tower_outline& of) {
  for (const isize each : {of.layers, of.width, of.heads, of.tokens})
    if (each < 1) return {reason::not_positive, 0, each, 1};
  for (const isize each :
       {of.key_heads, of.hidden, of.vocabulary, of.patch, of.embedding, of.head_width, of.experts})
    if (each < 0) return {reason::not_positive, 0, each, 0};
  if (of.head_width == 0 && of.width % of.heads != 0)
    return {reason::heads_do_not_divide, 1, of.heads, of.width};
  if (of.heads % of.keyed_heads() != 0) return {reason::kv_heads_do_not_divide, 2, of.key_heads, of.heads};
  if (of.experts > 0 && (of.chosen < 1 || of.chosen > of.experts))
    return {reason::experts_do_not_fit, 3, of.experts, of.chosen};
  if (of.uneven != 0 && !(of.uneven >= 1)) return {reason::not_positive, 4, 0, 1};
  return {};
}

// Towers, and where they meet.
struct model_shape {
  label name;
  list<tower_outline> towers;
  label join = "info_nce";  // or sigmoid
  friend constexpr bool operator==(const model_shape&, const model_shape&) = default;
};

// check_plan() asks these of each tower.
constexpr list<module_facts> facts_of(const model_shape& of) {
  list<module_facts> out;
  for (const tower_outline& each : of.towers) {
    out.push({each.name, each.layers, each.keyed_heads(), true, each.frozen || each.cached});
    out.back().experts = each.experts;
  }
  return out;
}

}  // namespace motet
