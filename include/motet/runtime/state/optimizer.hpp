// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/backend/core/update_step.hpp>
#include <motet/nn/core/parameter.hpp>
#include <motet/runtime/state/rate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace motet {

enum class optimizer_kind : std::uint8_t { adamw, lion, muon };
inline constexpr std::array<std::string_view, 3> optimizer_names = {"adamw", "lion", "muon"};
constexpr std::string_view name_of(optimizer_kind kind) { return optimizer_names[as_size(kind)]; }

// AdamW (Loshchilov and Hutter, ICLR'19), Lion (Chen and others, 2023), or Muon (Jordan and others, 2024) for
// the matrices of blocks and AdamW for the rest. Decay is decoupled, and only for parameters that ask for it:
// not for norms, biases and single numbers.
struct optimizer_settings {
  double beta1 = 0.9;
  double beta2 = 0.98;    // Lion's authors take 0.99
  double epsilon = 1e-6;  // of AdamW
  double decay = 0.2;
  double clip = 1;  // largest norm of the whole gradient; 0 clips nothing
  optimizer_kind kind = optimizer_kind::adamw;
  double momentum = 0.95;  // of the matrices that Muon moves
};

// A run learns by an optimizer that moves its weights; a moving average with this decay follows them; 0:
// none.
struct learning {
  optimizer_settings optimizer{};
  double ema = 0;
};

struct module_pace {
  double rate = 1;                          // share of the step's, or of what its own schedule says
  std::optional<double> decay{};            // of weights, in place of the optimizer's
  std::optional<rate_schedule> schedule{};  // its own, in place of what steps are given
  double layers = 1;                        // the rate of a block, as a share of that of the block above it
};

// Says whether Muon moves it: a matrix of a block. Embeddings, heads, biases and gains are AdamW's.
inline bool moves_as_matrix(const parameter& of, optimizer_kind by) {
  return by == optimizer_kind::muon && of.block >= 0 && !of.vector && of.decay && of.rows > of.stacked &&
         of.width > 1;
}
inline bool has_second_moment(const parameter& of, optimizer_kind by) {
  return by != optimizer_kind::lion && !moves_as_matrix(of, by);
}
// The share of a module's rate that a parameter has, of a net of so many blocks: all of it behind the blocks,
// `each` of the rate above it from block to block, and as much less again before them.
inline double layer_rate(const parameter& of, isize blocks, double each) {
  if (each == 1 || of.block == parameter::behind_blocks) return 1;
  return std::pow(each, static_cast<double>(blocks - std::max(of.block, isize{-1})));
}

// Neighbours in the flat buffer that are treated alike.
struct parameter_run {
  isize offset = 0;
  isize size = 0;
  bool decay = false;
  double rate = 1;              // share of the step's
  isize rows = 0, stacked = 0;  // of matrices that Muon moves, and how many there are; else 0
};

// Covers [0, trainable) by as few runs as allow each parameter its decay, its share of the rate and, where
// Muon moves it, its shape. Gaps between tensors are zero and stay zero, so they join a neighbour. blocks: of
// the net.
inline std::vector<parameter_run> update_runs(std::span<const parameter> parameters, isize trainable,
                                              optimizer_kind by = optimizer_kind::adamw,
                                              const module_pace& pace = {}, isize blocks = 0) {
  std::vector<parameter_run> runs;
  for (const parameter& each : parameters) {
    if (each.offset >= trainable) continue;
    const isize end = std::min(each.offset + parameter_space(each.held()), trainable);
    parameter_run own{each.offset, end - each.offset, each.decay,
                      pace.rate * layer_rate(each, blocks, pace.layers)};
    if (moves_as_matrix(each, by)) own.size = each.held(), own.rows = each.rows, own.stacked = each.stacked;
    if (!runs.empty() && own.rows == 0 && runs.back().rows == 0 && runs.back().decay == own.decay &&
        runs.back().rate == own.rate && runs.back().offset + runs.back().size == own.offset) {
      runs.back().size = end - runs.back().offset;
    } else {
      runs.push_back(own);
    }
  }
  return runs;
}

// A context has operations for matrices that Muon moves.
template <class Context, class Master>
concept moves_matrices =
    requires(Context& ctx, std::span<const matrix_run<Master>> runs) { muon(ctx, runs, update_step{}); };

// The settings of update number `update`, counted from 1.
inline update_step update_step_for(const optimizer_settings& settings, isize update, double rate,
                                   double scale, bool decay) {
  update_step step;
  step.rate = rate;
  step.beta1 = settings.beta1;
  step.beta2 = settings.beta2;
  step.epsilon = settings.epsilon;
  step.decay = decay ? settings.decay : 0;
  step.clip_scale = scale;
  step.momentum = settings.momentum;
  step.correction1 = 1 - std::pow(settings.beta1, static_cast<double>(update));
  step.correction2 = 1 - std::pow(settings.beta2, static_cast<double>(update));
  return step;
}

}  // namespace motet
