// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/plan/cost/measured_gaps.hpp>
#include <motet/plan/describe/cluster_kinds.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/schedule/core/voice.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace motet {

// A transformer of equal layers: an encoder, or a language model.
struct layered_model {
  label name;
  double parameters = 0;
  isize width = 1, layers = 1, hidden = 1;
  bool encodes = false;

  // One layer takes so many FLOPs for so many rows in samples of `sample_rows`.
  constexpr double layer_flops(double rows, double sample_rows) const {
    const auto w = static_cast<double>(width), h = static_cast<double>(hidden);
    return rows * (2 * (4 * w * w + 2 * w * h) + 4 * sample_rows * w);
  }
};

inline constexpr layered_model known_encoders[] = {{"vit-3b", 3e9, 2304, 48, 9216, true},
                                                   {"vit-5b", 5.5e9, 3072, 48, 12288, true},
                                                   {"vit-11b", 10e9, 4096, 48, 16384, true},
                                                   {"vit-22b", 22e9, 6144, 48, 24576, true}};
inline constexpr layered_model known_languages[] = {{"gpt-11b", 11e9, 3072, 80, 12288},
                                                    {"llama-70b", 70e9, 8192, 80, 32768},
                                                    {"gpt-175b", 175e9, 12288, 96, 49152}};

// Encoders that feed a language model.
struct filled_model {
  std::string name;
  list<layered_model> encoders;
  layered_model language;
  double rows = 2048;  // of a sample, in each of them
  isize microbatch = 2;
  bool frozen = false;  // encoders stay as they are

  constexpr bool learns(const layered_model& of) const { return !(of.encodes && frozen); }
  // The FLOPs of a step, forward and back with all forwards made again, as those count who publish it.
  constexpr double step_flops(isize samples) const {
    double sum = 4 * language.layer_flops(rows, rows) * static_cast<double>(language.layers);
    for (const layered_model& each : encoders)
      sum += (learns(each) ? 4 : 1) * each.layer_flops(rows, rows) * static_cast<double>(each.layers);
    return sum * static_cast<double>(samples);
  }
};

// "vit-22b+gpt-175b", "vit-22b+vit-11b+gpt-175b"; none: the name is not of this form.
inline std::optional<filled_model> find_filled_model(std::string_view name) {
  filled_model out{std::string(name), {}, {}};
  while (!name.empty()) {
    const std::size_t plus = name.find('+');
    const std::string_view word = name.substr(0, plus);
    const bool last = plus == std::string_view::npos;
    bool known = false;
    if (last) {
      for (const layered_model& each : known_languages)
        if (each.name.view() == word) out.language = each, known = true;
    } else {
      for (const layered_model& each : known_encoders)
        if (each.name.view() == word) out.encoders.push(each), known = true;
    }
    if (!known) return {};
    name.remove_prefix(last ? name.size() : plus + 1);
  }
  if (out.encoders.empty() || out.language.width == 1) return {};
  return out;
}

// Data, stages and tensor degree of a part over all devices.
struct grid_3d {
  isize data = 1, stages = 1, tensor = 1;
  constexpr isize devices() const { return data * stages * tensor; }
  friend constexpr bool operator==(const grid_3d&, const grid_3d&) = default;
};

// The grids that encoders may have on the devices of a language model: their stages and their tensor degree
// divide its own, so that so many pipelines of theirs lie beside each of its own as they have more data.
inline list<grid_3d> encoder_grids(const grid_3d& language) {
  list<grid_3d> out;
  for (isize stages = 1; stages <= language.stages; ++stages)
    for (isize tensor = 1; tensor <= language.tensor; ++tensor)
      if (language.stages % stages == 0 && language.tensor % tensor == 0)
        out.push({language.devices() / (stages * tensor), stages, tensor});
  return out;
}

// How fast devices are with these models, and what keeps their arithmetic waiting.
struct filled_rates {
  double language = 0.435, encoder = 0.354;               // of the peak that products reach
  double language_backward = 3, encoder_backward = 1.43;  // of a forward: with it made again, and without
  double group_bytes = 300e9;                             // a second, of an exchange in a tensor group
  double gather_bytes = 47.5e9,
         scatter_bytes = 35e9;  // a second and device, of weights and of gradients at both ends
  double gap_sigma = 0.1;       // of the logarithm of a gap's length

  friend constexpr bool operator==(const filled_rates&, const filled_rates&) = default;
};

// Seconds of everything that a plan is made of.
class filled_costs {
 public:
  static constexpr isize exchanges = 4;  // of a layer forward, each of which leaves a gap

  // Parts that were measured wait as long as recorded steps showed, others as long as is counted.
  filled_costs(const filled_model& model, const cluster_facts& on, filled_rates rates = {},
               list<measured_gaps> measured = {})
      : model_(model), on_(as_one_kind(on)), rates_(rates), measured_(std::move(measured)) {}

  const filled_model& model() const { return model_; }
  const cluster_facts& cluster() const { return on_; }
  const filled_rates& rates() const { return rates_; }

  // A layer of a microbatch, arithmetic alone.
  double forward(const layered_model& of, isize tensor) const {
    const double rows = model_.rows * static_cast<double>(model_.microbatch);
    return of.layer_flops(rows, model_.rows) / static_cast<double>(tensor) /
           (on_.device.half_flops * (of.encodes ? rates_.encoder : rates_.language));
  }
  double backward(const layered_model& of, isize tensor) const {
    if (!model_.learns(of)) return 0;
    return forward(of, tensor) * (of.encodes ? rates_.encoder_backward : rates_.language_backward);
  }
  // One exchange in a tensor group.
  double exchange(const layered_model& of, isize tensor) const {
    const auto ways = static_cast<double>(tensor);
    return 2 * model_.rows * static_cast<double>(model_.microbatch) * static_cast<double>(of.width) *
           (ways - 1) / ways / rates_.group_bytes;
  }
  // A layer exchanges rows so often backward, with those of the forward that is made again.
  isize exchanges_back(const layered_model& of) const { return model_.learns(of) ? 2 * exchanges : 0; }
  // The shares of a layer's operations in which a rank of a tensor group waited; null: it was not measured.
  const gap_shares* gaps(const layered_model& of, isize tensor) const {
    return find_gaps(measured_, of.name, {.tensor = static_cast<std::int32_t>(tensor)});
  }
  // Seconds of a layer's exchanges.
  double waits_forward(const layered_model& of, isize tensor) const {
    const gap_shares* const found = gaps(of, tensor);
    return found != nullptr ? waited_beside(forward(of, tensor), found->forward)
                            : static_cast<double>(exchanges) * exchange(of, tensor);
  }
  double waits_back(const layered_model& of, isize tensor) const {
    const gap_shares* const found = gaps(of, tensor);
    const double half = backward(of, tensor) / 2;
    return found != nullptr ? waited_beside(half, found->input) + waited_beside(half, found->weight)
                            : static_cast<double>(exchanges_back(of)) * exchange(of, tensor);
  }
  double whole_forward(const layered_model& of, isize tensor) const {
    return forward(of, tensor) + waits_forward(of, tensor);
  }
  double whole_backward(const layered_model& of, isize tensor) const {
    return backward(of, tensor) + waits_back(of, tensor);
  }
  // Weights that are gathered before the step, and gradients that are summed behind it.
  double gather(const grid_3d& of) const { return of.data > 1 ? 2 * held(of) / rates_.gather_bytes : 0; }
  double scatter(const grid_3d& of) const { return of.data > 1 ? 4 * held(of) / rates_.scatter_bytes : 0; }
  // Bytes of weights and gradients, and of state shared over replicas, on a device.
  double bytes(const layered_model& of, const grid_3d& on) const {
    return of.parameters / static_cast<double>(on.stages * on.tensor) *
           (model_.learns(of) ? 6 + 12.0 / static_cast<double>(on.data) : 2);
  }
  // The bytes that backward needs of a microbatch on a device, where its layers' inputs alone are kept, or
  // all.
  double kept(const layered_model& of, const grid_3d& on) const {
    if (!model_.learns(of)) return 0;
    const double rows = model_.rows * static_cast<double>(model_.microbatch),
                 layers = static_cast<double>(of.layers);
    return rows * static_cast<double>(of.width) * layers * (of.encodes ? 34.0 : 2.0) /
           static_cast<double>(on.stages * on.tensor);
  }

 private:
  double held(const grid_3d& of) const {
    return model_.language.parameters / static_cast<double>(of.stages * of.tensor);
  }

  filled_model model_;
  cluster_facts on_;
  filled_rates rates_;
  list<measured_gaps> measured_;
};

}  // namespace motet
