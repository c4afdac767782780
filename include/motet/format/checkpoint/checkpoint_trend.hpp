// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_index_json.hpp>
#include <motet/format/checkpoint/checkpoint_run.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace motet {

// The loss and the gradient's norm of a step, and their means over the last twenty or so, by which a rise is
// told from noise. A program keeps it as the member "trend" of a checkpoint's state; older checkpoints have
// none.
struct loss_trend {
  double loss = 0, norm = 0, mean_loss = 0, mean_norm = 0;
  std::int64_t steps = 0;
  static constexpr int mean_steps = 20;

  void add(double own_loss, double own_norm) {
    ++steps;
    const double share = 1 / static_cast<double>(std::min<std::int64_t>(steps, mean_steps));
    loss = own_loss;
    norm = own_norm;
    mean_loss += share * (loss - mean_loss);
    mean_norm += share * (norm - mean_norm);
  }
  // A step whose numbers are far from those around it, so that its weights are not to be trusted.
  bool jumps() const { return loss > mean_loss + std::abs(mean_loss) + 0.1 || norm > 10 * mean_norm; }
};

inline json trend_json(const loss_trend& of) {
  json out;
  out.set("loss", of.loss);
  out.set("gradient_norm", of.norm);
  out.set("mean_loss", of.mean_loss);
  out.set("mean_norm", of.mean_norm);
  out.set("steps", of.steps);
  return out;
}
// The trend that a checkpoint's state keeps; nothing where it keeps none, or what stands there is no trend.
inline std::optional<loss_trend> trend_of(const json& state) {
  const json* const kept = state.is_object() ? state.find("trend") : nullptr;
  if (kept == nullptr || !kept->is_object()) return {};
  const auto number = [&](const char* name) {
    const json* const found = kept->find(name);
    return found != nullptr && found->is_number() ? found->number() : NAN;
  };
  loss_trend out{number("loss"), number("gradient_norm"), number("mean_loss"), number("mean_norm")};
  const double steps = number("steps");
  if (!std::isfinite(out.loss + out.norm + out.mean_loss + out.mean_norm) || !(steps >= 1)) return {};
  // More steps than the means are of tell nothing more.
  out.steps = static_cast<std::int64_t>(std::min(steps, double{loss_trend::mean_steps}));
  return out;
}

struct kept_checkpoint {
  std::int64_t step = 0;
  loss_trend trend;
};
// The checkpoints of a run that tell a trend, in order of their steps. One that cannot be read tells none.
inline std::vector<kept_checkpoint> trends_of(const std::filesystem::path& run) {
  std::vector<kept_checkpoint> out;
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(run, ignored), end; it != end; it.increment(ignored)) {
    const auto step = detail::folder_step(it->path().filename().string());
    if (!step) continue;
    try {
      const mapped_file text(it->path() / "index.json");
      const json whole = read_json(text.text());
      const json* const state = whole.is_object() ? whole.find("state") : nullptr;
      if (state == nullptr || !detail::seal_holds(whole)) continue;
      if (const auto trend = trend_of(*state)) out.push_back({*step, *trend});
    } catch (const error&) {
    }
  }
  std::ranges::sort(out, {}, &kept_checkpoint::step);
  return out;
}
// The one with the lowest mean, of those that do not jump; null where there is none.
inline const kept_checkpoint* best_of(std::span<const kept_checkpoint> run) {
  const kept_checkpoint* best = nullptr;
  for (const kept_checkpoint& each : run)
    if (!each.trend.jumps() && (best == nullptr || each.trend.mean_loss < best->trend.mean_loss))
      best = &each;
  return best;
}

enum class loss_course { falls, rises, ruined };
// Compares this checkpoint with the best one of its run: its loss rises by more than a tenth, or its weights
// are ruined, though all numbers are finite.
inline loss_course course_of(const loss_trend& newest, const kept_checkpoint* best) {
  if (newest.jumps()) return loss_course::ruined;
  if (best == nullptr) return loss_course::falls;
  const double least = best->trend.mean_loss, rise = newest.mean_loss - least;
  // A net whose rows have all become one has nearly no gradient; one that knows nothing any more may have the
  // loss of a guess, and gradients beyond all that the best one had.
  const bool still = newest.norm < 1e-3 * newest.mean_norm;
  const bool wild = newest.norm > 1e3 * best->trend.mean_norm;
  if (rise > std::abs(least) + 0.1 || (rise > 0 && (still || wild))) return loss_course::ruined;
  return rise > 0.1 * std::abs(least) + 0.01 ? loss_course::rises : loss_course::falls;
}

}  // namespace motet
