// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A dry run, which counts what the operations themselves say, tells what a step takes at least, and what it
// may be expected to take.
namespace motet::bench {

struct chip {
  double gemm = 790e12;       // FLOP/s of a large product in bf16, of random numbers
  double bandwidth = 4.3e12;  // bytes/s of a copy, read and written
  double link = 55e9;         // bytes/s from the host
  double launch = 2e-6;       // s, for each kernel of a graph
};

// Operations that reach about the same share of what the chip can do.
enum class family : int {
  products,
  weight_gradients,
  bias_gradients,
  attention,
  attention_backward,
  norms,
  activations,
  copies,
  update,
  small,
  inputs
};
struct operation_family {
  const char* name;
  double of_gemm, of_bandwidth;  // expected shares; 0: does not bind
  const char* why;
};
inline constexpr operation_family families[] = {
    // by family
    {"products forward and to inputs", 0.82, 0.80,
     "The rate of reference is that of sums over 4,096, for a moment. Those over 768 and 1,024 begin and end "
     "more often, and a chip that works for long is held to its power"},
    {"products of weight gradients", 0.91, 0.75,
     "Long sums; where tiles are few they are cut into pieces, which are added up through memory in fp32"},
    {"sums of biases' gradients", 0, 0.94, "Rows of gradients are read once more, and nothing else"},
    {"attention forward", 0.17, 0.70,
     "257 and 77 rows fill tiles of 128 to 67 and 60 % in both directions; a softmax of 64 columns stands "
     "between its two products"},
    {"attention backward", 0.15, 0.70,
     "The same with five products, gradients of queries that several blocks add to, and a pass before and "
     "behind"},
    {"norms", 0, 0.89, "A row stays in registers, two sums over it wait for each other"},
    {"activations", 0, 0.87,
     "An exact GELU takes 23 instructions for 4 bytes, backward 29 for 8: less than memory takes, but not by "
     "much"},
    {"casts and copies", 0, 0.90, "Nothing but memory"},
    {"update", 0, 0.91, "Five streams of 4 bytes, a square root and a division"},
    {"embedding, pooling, loss, sums", 0.05, 0.60,
     "Small, gathered rows, fp32 without matrix units; most are no larger than what a launch costs"},
    {"inputs", 0, 0,
     "Over the host's link, while the step before is computed; what is longer than that is waited for"},
};

inline const operation_family& about(family which) { return families[static_cast<int>(which)]; }

struct operation_kind {
  const char* name;
  family belongs;
  // pieces of the name of its kernel, with | between them; empty: a library's, or a copy of the runtime
  const char* kernel;
};
inline constexpr operation_kind operation_kinds[] = {
    {"linear_forward", family::products, ""},
    {"linear_backward_input", family::products, ""},
    {"linear_backward_weight", family::weight_gradients, ""},
    {"attention_forward", family::attention, ""},
    {"attention_backward", family::attention_backward, ""},
    {"attention_lengths", family::small, "tell_samples"},
    {"norm_forward", family::norms, "norm_rows<"},
    {"norm_replay", family::norms, "normed_again<"},
    {"norm_backward_input", family::norms, "norm_rows_backward<"},
    {"norm_backward_weight", family::norms, "sum_of_chunks<|one_group"},
    {"activation_forward", family::activations, "finish_product<|epilogue_mode)1"},
    {"activation_backward", family::activations, "finish_product<|epilogue_mode)2"},
    {"cast", family::copies, "finish_product<float|bf16|epilogue_mode)0"},
    {"copy", family::copies, "each_run<|unchanged"},
    {"adamw", family::update, "adamw_chunks<"},
    {"lion", family::update, "lion_chunks<"},
    {"average", family::update, "average_chunks<"},
    {"sum_of_squares", family::update, "squares_of_chunks<"},
    {"settle_sums", family::small, "settle_sums<"},
    {"add_number", family::small, "number_sum"},
    {"clear", family::small, ""},
    {"move", family::copies, ""},
    {"tell_numbers", family::small, "tell_numbers"},
    {"clamp_to", family::small, "clamp_number<"},
    {"accumulate", family::small, "each_run<|plus"},
    {"sum_of_chunks", family::small, "sum_of_chunks<"},
    {"patches", family::small, "cut_to_patches<"},
    {"class_token_forward", family::small, "class_token_put<"},
    {"class_token_backward_weight", family::small, "sum_chunks<|first_rows"},
    {"position_forward", family::small, "positioned<"},
    {"position_backward_weight", family::small, "sum_chunks<|rows_at_position"},
    {"linear_backward_bias", family::bias_gradients, "sum_chunks<|plain_values"},
    {"token_forward", family::small, "looked_up<"},
    {"add_rows_at", family::small, "added_at<"},
    {"token_keys", family::small, "token_keys"},
    {"sort_pairs", family::small, "sort_plainly"},
    {"token_backward_weight", family::small, "sum_tokens<"},
    {"sum_token_parts", family::small, "sum_token_parts<"},
    {"pick_forward", family::small, "picked<|each_run<"},
    {"pick_backward", family::small, "picked_slope<"},
    {"normalize_forward", family::small, "normalize_rows<"},
    {"normalize_backward", family::small, "normalize_rows_backward<"},
    {"zero", family::small, "cleared<"},
    {"info_nce_loss", family::small, "pair_softmax<"},
    {"merge_softmax", family::small, "merge_softmax<"},
    {"complete_softmax", family::small, "complete_softmax<"},
    {"info_nce_slopes", family::small, "info_nce_slopes<"},
    {"add_slopes", family::small, "add_pair_product<"},
    {"bring", family::inputs, ""},
};

// The operation that a kernel of ours belongs to; none: of a library, or of an operation that has no row
// here.
inline const operation_kind* kind_of_kernel(std::string_view kernel) {
  for (const operation_kind& each : operation_kinds) {
    std::string_view left = each.kernel;
    bool all = !left.empty();
    while (all && !left.empty()) {
      const std::string_view piece = left.substr(0, left.find('|'));
      all = kernel.find(piece) != std::string_view::npos;
      left.remove_prefix(std::min(left.size(), piece.size() + 1));
    }
    if (all) return &each;
  }
  return nullptr;
}
inline const operation_kind& kind_of(const char* name) {
  for (const operation_kind& each : operation_kinds)
    if (std::strcmp(each.name, name) == 0) return each;
  throw std::runtime_error(std::string("the operation ") + name +
                           " has no kind: name it in operation_kinds of bench/gpu/roofline.hpp");
}

// All calls of an operation in one section that cost alike.
struct roofline_row {
  std::string section;
  const operation_kind* kind = nullptr;
  long calls = 0;
  double flops = 0, bytes = 0;  // of one call
  bool products = false;
  double floor = 0, expected = 0;  // seconds of all calls
  const operation_family& family() const { return about(kind->belongs); }
  bool is_input() const { return kind->belongs == motet::bench::family::inputs; }
  double all_flops() const { return products ? flops * static_cast<double>(calls) : 0; }
  double all_bytes() const { return bytes * static_cast<double>(calls); }
};

struct step_roofline {
  std::string model;
  long batch = 0;
  std::string streams;
  bool keeps_outputs = false;
  double kept = 0;  // bytes from forward to backward
  chip on;
  std::vector<roofline_row> rows;

  step_roofline(std::string of, long samples, std::string stream, bool keeps, double kept_bytes,
                const chip& by, const step_costs& costs)
      : model(std::move(of)),
        batch(samples),
        streams(std::move(stream)),
        keeps_outputs(keeps),
        kept(kept_bytes),
        on(by) {
    if (costs.unlisted() > 0)
      throw std::runtime_error(std::to_string(costs.unlisted()) +
                               " calls found no place: raise step_costs::most_operations");
    double inputs = 0, work_of_step = 0;
    for (const operation_cost& each : costs.operations()) {
      roofline_row row{costs.path(each),
                       &kind_of(each.name),
                       each.calls,
                       each.flops,
                       each.bytes,
                       each.kind == flops_of::products || each.kind == flops_of::attention,
                       0,
                       0};
      const auto calls = static_cast<double>(row.calls);
      if (row.is_input()) {
        inputs += row.all_bytes() / on.link;
      } else {
        const double work = row.products ? row.flops / on.gemm : 0, traffic = row.bytes / on.bandwidth;
        const operation_family& reaches = row.family();
        row.floor = calls * std::max(work, traffic);
        row.expected =
            calls *
            (std::max(work > 0 ? work / reaches.of_gemm : 0, traffic / reaches.of_bandwidth) + on.launch);
        work_of_step += row.expected;
      }
      rows.push_back(std::move(row));
    }
    // Of the inputs, which come while the step before is computed, what that does not hide.
    for (roofline_row& row : rows)
      if (row.is_input())
        row.expected = std::max(0.0, inputs - work_of_step) * row.all_bytes() / (inputs * on.link);
  }

  std::string choice() const { return "streams in " + streams + (keeps_outputs ? ", outputs kept" : ""); }

  template <class Of>
  double sum(Of&& of) const {
    double all = 0;
    for (const roofline_row& each : rows) all += of(each);
    return all;
  }
  double floor() const {
    return sum([](const auto& row) { return row.floor; });
  }
  double expected() const {
    return sum([](const auto& row) { return row.expected; });
  }
  double launches() const {
    return sum([](const auto& row) { return row.is_input() ? 0.0 : static_cast<double>(row.calls); });
  }
  double gemm_flops() const {
    return sum([](const auto& row) { return row.all_flops(); });
  }
};

// printf to the end of a text.
inline void print_to(std::string& text, const char* format, ...) {
  char line[1024];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  text += line;
}

}  // namespace motet::bench
