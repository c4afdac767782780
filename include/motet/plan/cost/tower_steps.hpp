// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/tower.hpp>
#include <motet/strategy/mesh.hpp>
#include <motet/tensor/share.hpp>

namespace motet {

// A block is its two halves, attention and what stands in the place of its perceptron, one behind the other.
enum class tower_part : std::uint8_t { before, block, behind, attention, perceptron };

// A product [rows, inner] x [inner, columns] of forward; backward makes two more of as many FLOPs.
struct product_step {
  double rows = 0, inner = 0, columns = 0;
  constexpr double flops() const { return 2 * rows * inner * columns; }
};
// Softmax attention: `pairs` of a query and a key, each `width` columns in all heads together. Backward makes
// the scores again.
struct attention_step {
  double rows = 0, width = 0, pairs = 0;
  double seen = 1;  // the share of pairs that no mask hides
};
// An operation that takes a row after the other has FLOPs of forward and of both parts of backward, and
// numbers that are read and written there.
struct row_step {
  double forward = 0, input = 0, weight = 0;
  double forward_moved = 0, input_moved = 0, weight_moved = 0;
};

// All that one rank of a tensor and context group does for one sample of the group: the largest share where a
// cut is uneven.
struct part_steps {
  list<product_step> products;
  list<attention_step> attention;
  list<row_step> row_by_row;
  double parameters = 0;   // as they lie in memory
  double of_experts = 0;   // of them those of experts
  double kept = 0;         // numbers that backward reads, beside the rows that came in
  double kept_stream = 0;  // of them those between layers, and statistics
};

namespace detail {

// Follows the layers of nn/ one by one.
struct tower_steps_builder {
  const tower_outline& of;
  degrees split;
  part_steps made;

  constexpr tower_steps_builder(const tower_outline& tower, degrees ways) : of(tower), split(ways) {}

  static constexpr double real(isize n) { return static_cast<double>(n); }
  constexpr double width() const { return real(of.width); }
  // Rows of a sample: in a cut layer those of all tensor members, elsewhere own ones.
  constexpr double all_rows() const { return real(share(of.tokens, split.context, 0).size()); }
  constexpr double own_rows() const { return all_rows() / split.tensor; }
  // A rank has this of a sample that it does not cut.
  constexpr double own_samples() const { return 1.0 / split.context / split.tensor; }
  // One rank has no more than all rows. What it has by lot hangs on the microbatch: it is even here.
  constexpr double uneven() const {
    const double sharing = real(of.sharers) * split.tensor, told = of.uneven > 0 ? of.uneven : 1;
    return told < sharing ? told : sharing;
  }
  constexpr isize largest(isize of_all) const { return share(of_all, split.tensor, 0).size(); }

  constexpr void parameter(isize count) { made.parameters += real(round_up(count, 16)); }
  constexpr void keep(double numbers) { made.kept += numbers; }
  constexpr void keep_stream(double numbers) {
    made.kept += numbers;
    made.kept_stream += numbers;
  }
  constexpr void product(double rows, isize inner, isize columns) {
    made.products.push({rows, real(inner), real(columns)});
  }
  constexpr void linear(double rows, isize inner, isize columns, bool bias) {
    product(rows, inner, columns);
    parameter(inner * columns);
    if (bias) parameter(columns);
  }
  // Backward makes the result again where `again` says so.
  constexpr void norm(double rows, bool again) {
    const double all = rows * width();
    made.row_by_row.push(
        {8 * all, (again ? 15 : 11) * all, 4 * all, 2 * all, (again ? 6 : 4) * all, 2 * all});
    parameter(of.width);
    if (!of.rms) parameter(of.width);
    keep_stream(2 * rows);
  }
  constexpr void each(double numbers, double forward, double input, double weight, double forward_moved,
                      double input_moved, double weight_moved) {
    made.row_by_row.push({forward * numbers, input * numbers, weight * numbers, forward_moved * numbers,
                          input_moved * numbers, weight_moved * numbers});
  }

  // `rows` go through the perceptron, `shared` by a tensor group or not.
  constexpr void perceptron(double rows, bool shared) {
    const isize hidden = shared ? largest(of.hidden_width()) : of.hidden_width(),
                wide = of.gated ? 2 * hidden : hidden;
    linear(rows, of.width, wide, true);
    linear(rows, hidden, of.width, true);
    if (of.gated) each(rows * real(hidden), 6, 18, 0, 3, 8, 0);
    keep(rows * real(wide));
  }
  // The router works on own rows; each expert is whole on one rank of the group, or of the groups of all
  // replicas that share them, and all have an even load.
  constexpr void mixture() {
    const isize hidden = of.hidden_width(), wide = of.gated ? 2 * hidden : hidden,
                held = share(of.experts, of.sharers * split.tensor, 0).size();
    const double rows = own_rows(), come = all_rows() * real(of.sharers),
                 choices = come * real(of.chosen) * real(held) / real(of.experts) * uneven(),
                 before = made.parameters;
    linear(rows, of.width, of.experts, false);
    each(rows * real(of.experts), 8, 8, 0, 2, 2, 0);
    product(choices, of.width, wide);
    product(choices, hidden, of.width);
    parameter(held * wide * of.width);
    parameter(held * hidden * of.width);
    made.of_experts += made.parameters - before - real(round_up(of.width * of.experts, 16));
    each(choices * width(), 2, 2, 0, 4, 6, 2);
    if (of.gated) each(choices * real(hidden), 6, 22, 0, 3, 8, 0);
    else each(choices * real(hidden), 0, 26, 0, 0, 7, 0);
    // There is room for the worst load, and for the rows that came from others.
    const double places = come * real(of.chosen < held ? of.chosen : held);
    keep(places * real(wide));
    keep_stream(rows * real(of.experts) + 4 * rows * real(of.chosen));
    if (split.tensor > 1 || of.sharers > 1) keep(come * width());
  }

  constexpr void attention() {
    const isize keyed = largest(of.keyed_heads()), heads = keyed * (of.heads / of.keyed_heads()),
                d = of.columns_of_head();
    const isize query = heads * d, key = keyed * d, packed = query + 2 * key;
    const double rows = all_rows(), tokens = real(of.tokens);
    norm(own_rows(), true);
    linear(rows, of.width, packed, true);
    // Rows are exchanged for heads, whole ones; or keys and values go round.
    const bool exchanged = split.context > 1 && !of.ring;
    const double met = exchanged ? real(share(heads, split.context, 0).size()) * split.context : real(heads);
    const double met_rows = exchanged ? tokens / split.context : rows;
    made.attention.push({tokens, met * real(d) / split.context, tokens * met_rows * split.context,
                         of.causal ? (tokens + 1) / (2 * tokens) : 1});
    if (of.rotary) each(rows * real(query + key), 3, 3, 0, 2, 2, 0);
    linear(rows, query, of.width, true);
    keep(met_rows * met * real(packed + query) / real(heads));
    keep_stream(met_rows * met);
    if (exchanged) keep(rows * real(query));  // what came back
  }
  constexpr void perceptron_or_mixture() {
    // This stream runs between the two halves.
    keep_stream(own_rows() * width());
    norm(own_rows(), true);
    if (of.experts > 0) mixture();
    else perceptron(all_rows(), true);
  }

  constexpr void before() {
    const double rows = own_rows(), numbers = rows * width();
    if (of.vocabulary > 0) {
      parameter((of.cut_vocabulary ? largest(of.vocabulary) : of.vocabulary) * of.width);
      each(numbers, 0, 0, 1, 2, 0, 3);
    }
    if (of.patch > 0) linear(rows, of.patch, of.width, of.patch_bias);
    if (of.class_row) parameter(of.width);
    if (of.positions) {
      parameter(of.tokens * of.width);
      each(numbers, 1, 0, 1, 2, 0, 1);
    }
    if (of.pre_norm) {
      const bool rms = of.rms;
      norm(rows, false);
      if (rms) parameter(of.width);  // this one is a layer norm in any tower
      keep_stream(numbers);
    }
  }

  // One query of each sample looks over all its rows.
  constexpr void look_over() {
    const double samples = own_samples(), rows = own_rows(), query = real(of.query_width());
    linear(rows, of.width, 2 * of.key_width(), true);
    made.attention.push({samples, query, samples * real(of.tokens), 1});
    linear(samples, of.query_width(), of.width, true);
    keep(2 * rows * real(of.key_width()) + 2 * samples * query);
    keep_stream(samples * real(of.heads));
  }
  constexpr void behind() {
    const double samples = own_samples(), rows = own_rows();
    if (of.whole_blocks() > 0) keep_stream(rows * width());  // what the last block wrote
    switch (of.end) {
      case tower_end::row:
        norm(samples, false);
        each(samples * width(), 0, 1, 0, 2, 3, 0);
        keep_stream(samples * width());
        break;
      case tower_end::block_of_row: last_block(); break;
      case tower_end::mean:
        norm(rows, false);
        each(rows * width(), 1, 1, 0, 1, 1, 0);
        keep(rows * width());
        break;
      case tower_end::attention:
        norm(rows, false);
        keep(rows * width());
        look_over();
        parameter(of.query_width());
        each(samples * real(of.query_width()), 1, 0, 1, 1, 0, 1);
        break;
    }
    keep(samples * width());
    if (of.embedding <= 0) return;
    linear(samples, of.width, of.embedding, false);
    each(samples * real(of.embedding), 3, 5, 0, 2, 3, 0);
    keep_stream(samples * real(of.embedding + 1));
  }
  // Keys and values of all rows, the rest for one row of each sample.
  constexpr void last_block() {
    const double samples = own_samples();
    norm(own_rows(), true);
    const isize query = of.query_width();
    look_over();
    product(samples, of.width, query);
    made.parameters += real(round_up(of.width * (query + 2 * of.key_width()), 16) -
                            round_up(2 * of.width * of.key_width(), 16));
    made.parameters += real(round_up(query + 2 * of.key_width(), 16) - round_up(2 * of.key_width(), 16));
    each(samples * width(), 0, 2, 0, 4, 6, 0);
    norm(samples, true);
    perceptron(samples, false);
    norm(samples, false);
    keep_stream(2 * samples * width());
  }
};

}  // namespace detail

constexpr part_steps steps_of(const tower_outline& of, tower_part which, degrees split = {}) {
  detail::tower_steps_builder builder(of, split);
  if (of.cached) return builder.made;
  if (which == tower_part::before) builder.before();
  if (which == tower_part::block || which == tower_part::attention) builder.attention();
  if (which == tower_part::block || which == tower_part::perceptron) builder.perceptron_or_mixture();
  if (which == tower_part::behind) builder.behind();
  return builder.made;
}

}  // namespace motet
