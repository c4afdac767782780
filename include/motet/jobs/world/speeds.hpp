// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/files/memory.hpp>
#include <motet/jobs/files/times.hpp>
#include <motet/jobs/files/trace.hpp>
#include <motet/meta/config.hpp>
#include <motet/plan/cells/measured_scale.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace motet {

// Rounds to thousandths, half to even of what the number is in binary.
inline double to_thousandths(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  return std::strtod(text, nullptr);
}

// The devices of a job: so many of one kind, equally many on each of its nodes.
struct allotment {
  std::int32_t kind = 0, devices = 0, per_node = 0;

  std::int32_t nodes() const { return devices / per_node; }
  friend bool operator==(const allotment&, const allotment&) = default;
  template <class With>
  void remembers(With& with) {
    with("kind", kind);
    with("devices", devices);
    with("per_node", per_node);
  }
};

// Samples a second of what is asked for; not there where nothing runs.
struct job_speed {
  bool runs = false;
  double samples = 0;
  double bar = 0;  // of an estimate; 0: measured
};

struct speed_rules {
  double relaxed = 0.9;        // of the speed, for each halving of the devices of a node
  double smaller = 1.8;        // times the speed of the next larger size that was measured, for each step
  double longest = 300;        // seconds of an iteration: what takes longer does not run
  double usable_memory = 0.8;  // of a device's, for who trains by data parallelism
  double noise = 0;            // deviation of the logarithm by which estimates are wrong; 0: none is
  std::uint64_t noise_seed = 1;
  bool sum_of_five = false;  // as the artifact reads times with an end-to-end column: five iterations for one
};

// A table says how fast each model runs on so many devices of a kind and layout: looking it up costs nothing.
// Speeds that were not measured are estimated: a spread over more nodes from the best layout, a size from the
// next larger one.
class speed_table {
 public:
  struct job_shape {
    std::string model, size;
    isize batch = 0;
    template <class With>
    void remembers(With& with) {
      with("model", model);
      with("size", size);
      with("batch", batch);
    }
  };

  speed_table(const job_cluster& cluster, const iteration_times& times, const data_parallel_memory& memory,
              const speed_rules& rules = {})
      : cluster_(&cluster), times_(&times), memory_(&memory), rules_(rules) {}

  // The number of a job's model, its size and its batch; throws MT-J05, with the place in `origin` where the
  // job stands, where the times do not know them.
  isize shape_of(const traced_job& job, const std::string& origin) {
    const std::string& name = job.model;
    const isize batch = job.batch;
    const std::size_t bar = name.find("__");
    const std::string model = name.substr(0, bar), size = bar == name.npos ? "" : name.substr(bar + 2);
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      if (shapes_[s].batch == batch && shapes_[s].size == size && shapes_[s].model == model)
        return static_cast<isize>(s);
    const std::vector<std::string> sizes = times_->sizes(model);
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      std::string has;
      for (const std::string& each : sizes) has += (has.empty() ? "" : ", ") + each;
      fail(
          jobs_unknown_model,
          sentence({origin, ", line ", job.line, ", column model_name: got \"", name, "\", the times have ",
                    sizes.empty() ? "the models " + times_->models() : "of " + model + " the sizes " + has}));
    }
    if (!knows({model, size, batch}))
      fail(jobs_unknown_model,
           sentence({origin, ", line ", job.line, ", column batch_size: of \"", name, "\" with a batch of ",
                     batch, ", or a larger size, the times have nothing on the kinds of ", cluster_->name,
                     "; of all kinds they have batches of ", times_->batches(model, size)}));
    shapes_.push_back({model, size, batch});
    fill();
    return static_cast<isize>(shapes_.size()) - 1;
  }
  const std::vector<job_shape>& shapes() const { return shapes_; }

  // A job runs so with the best plan.
  const job_speed& best(isize shape, const allotment& on) const { return entry_of(shape, on).best; }
  // Those who train by data parallelism see the same, where its memory suffices.
  const job_speed& data_parallel(isize shape, const allotment& on) const {
    return entry_of(shape, on).fitting;
  }
  // The most of `best` over all layouts of so many devices of a kind.
  double bound(isize shape, isize kind, isize devices) const {
    return bounds_[(as_size(shape) * cluster_->kinds.size() + as_size(kind)) * as_size(job_sizes) +
                   bits(devices)];
  }
  // Seconds of an iteration; endless where nothing runs.
  double seconds(isize shape, const job_speed& at) const {
    return at.runs ? to_thousandths(static_cast<double>(shapes_[as_size(shape)].batch) / at.samples) : never;
  }
  // Seconds of an iteration of the best plan.
  double best_seconds(isize shape, const allotment& on) const { return entry_of(shape, on).seconds; }

  // These seconds are as long as they can well be: by the lower bound of an estimate, which a measured time
  // then raises.
  double cautious_seconds(isize shape, const allotment& on) const {
    const entry& of = entry_of(shape, on);
    return of.seconds >= never ? never : of.seconds + of.took.bar;
  }
  // A job ran so, and an iteration of it took so long: this is measured from now on, and all estimates of its
  // model on the kind are corrected. Measured times stay as they are.
  void learn(isize shape, const allotment& on, double seconds) {
    const std::size_t group = as_size(shape) * cluster_->kinds.size() + as_size(on.kind);
    entry& ran = entries_[place_of(shape, on)];
    if (!(ran.guessed.bar > 0)) return;
    learnt_.push_back({shape, on, seconds});
    scales_[group].learn(ran.guessed.value, seconds);
    ran.guessed = {seconds, 0, provenance::measured};
    take(ran, ran.guessed, shapes_[as_size(shape)].batch);
    for (std::size_t n = 0; n < as_size(job_sizes); ++n) {
      double& most = bounds_[group * as_size(job_sizes) + n] = 0;
      for (std::size_t p = 0; p < as_size(node_sizes); ++p) {
        entry& each = entries_[(group * as_size(job_sizes) + n) * as_size(node_sizes) + p];
        if (each.guessed.bar > 0)
          take(each, scales_[group].correct(each.guessed), shapes_[as_size(shape)].batch);
        most = std::max(most, each.best.runs ? each.best.samples : 0.0);
      }
    }
  }

  // What was learnt, in its order: who learns it again knows the same.
  struct learnt_time {
    isize shape = 0;
    allotment on;
    double seconds = 0;
    template <class With>
    void remembers(With& with) {
      with("shape", shape);
      with("on", on);
      with("seconds", seconds);
    }
  };
  const std::vector<learnt_time>& learnt() const { return learnt_; }

  // Whole nodes, or within one.
  allotment packed(isize kind, isize devices) const {
    const isize size = cluster_->kinds[as_size(kind)].per_node;
    return {static_cast<std::int32_t>(kind), static_cast<std::int32_t>(devices),
            static_cast<std::int32_t>(std::min(devices, size))};
  }
  const job_cluster& cluster() const { return *cluster_; }
  const speed_rules& rules() const { return rules_; }

 private:
  // Powers of two that a job, and its part of a node, may have.
  static constexpr isize job_sizes = std::bit_width(as_size(most_devices_of_job)),
                         node_sizes = std::bit_width(as_size(most_devices_of_node));
  struct entry {
    job_speed best, fitting;
    double seconds = never;
    uncertain guessed, took;  // as it was estimated, and by what was measured since
  };
  static constexpr double never = 1e9;
  static void take(entry& to, const uncertain& seconds, isize batch) {
    to.took = seconds;
    to.seconds = to_thousandths(seconds.value);
    to.best.samples = static_cast<double>(batch) / seconds.value;
    to.best.bar = to.best.samples - static_cast<double>(batch) / seconds.upper();
    if (to.fitting.runs) to.fitting = to.best;
  }
  struct found_time {
    const measured_time* time = nullptr;
    double factor = 1;
  };

  static std::size_t bits(isize of) { return static_cast<std::size_t>(std::bit_width(as_size(of)) - 1); }
  const entry& entry_of(isize shape, const allotment& on) const { return entries_[place_of(shape, on)]; }
  std::size_t place_of(isize shape, const allotment& on) const {
    return ((as_size(shape) * cluster_->kinds.size() + as_size(on.kind)) * as_size(job_sizes) +
            bits(on.devices)) *
               as_size(node_sizes) +
           bits(on.per_node);
  }
  // The error by which the estimate in the last place so far is wrong: half of it is common to its model on
  // its kind.
  double drawn_error() const {
    const random_stream chance(rules_.noise_seed, "errors of estimates");
    const std::size_t group = entries_.size() / as_size(job_sizes * node_sizes);
    return std::exp(rules_.noise * std::sqrt(0.5) *
                    (static_cast<double>(chance.normal(2 * group)) +
                     static_cast<double>(chance.normal(2 * entries_.size() + 1))));
  }
  found_time look_up(const job_shape& of, const std::string& kind, isize devices, isize per_node,
                     isize size) const {
    const isize nodes = devices / per_node, packed = std::min(devices, size);
    if (const auto* at = times_->find(of.model, of.size, of.batch, kind, nodes, per_node)) return {at, 1};
    if (const auto* at = times_->find(of.model, of.size, of.batch, kind, devices / packed, packed)) {
      const auto halvings = packed > per_node ? static_cast<double>(bits(packed / per_node)) : 0.0;
      return {at, std::pow(rules_.relaxed, halvings)};
    }
    const std::vector<std::string> sizes = times_->sizes(of.model);
    const auto own = std::find(sizes.begin(), sizes.end(), of.size);
    for (auto larger = own; larger != sizes.end(); ++larger)
      if (const auto* at = times_->find(of.model, *larger, of.batch, kind, nodes, per_node))
        return {at, std::pow(rules_.smaller, static_cast<double>(larger - own))};
    return {};
  }
  // Says whether anything can be told of it, be it that it does not run.
  bool knows(const job_shape& of) const {
    for (const device_group& kind : cluster_->kinds)
      for (isize devices = 1; devices <= most_devices_of_job; devices *= 2)
        for (isize per_node = 1; per_node <= std::min(devices, kind.per_node); per_node *= 2)
          if (look_up(of, kind.kind, devices, per_node, kind.per_node).time != nullptr) return true;
    return false;
  }
  void fill() {
    const job_shape& of = shapes_.back();
    const std::string name = of.model + "_" + of.size + "_" + std::to_string(of.batch);
    for (std::size_t k = 0; k < cluster_->kinds.size(); ++k) {
      const device_group& kind = cluster_->kinds[k];
      scales_.emplace_back();
      for (isize n = 0; n < job_sizes; ++n) {
        double most = 0;
        for (isize p = 0; p < node_sizes; ++p) {
          entry made;
          double relative_bar = 0;
          const isize devices = isize{1} << n, per_node = isize{1} << p;
          if (per_node <= std::min(devices, kind.per_node)) {
            const found_time at = look_up(of, kind.kind, devices, per_node, kind.per_node);
            const double seconds = at.time == nullptr    ? 0
                                   : at.time->whole != 0 ? at.time->whole * (rules_.sum_of_five ? 5 : 1)
                                                         : at.time->seconds;
            if (seconds > 0 && seconds <= rules_.longest) {
              relative_bar = at.time->bar / seconds;
              const double samples = to_thousandths(static_cast<double>(of.batch) / seconds);
              made.best = {samples > 0, at.factor == 1 ? samples : samples * at.factor};
              if (memory_->fits(name, devices, kind.memory_gb * rules_.usable_memory))
                made.fitting = made.best;
            }
          }
          if (made.best.runs) {
            made.seconds = to_thousandths(static_cast<double>(of.batch) / made.best.samples);
            if (rules_.noise > 0) {
              relative_bar = std::hypot(relative_bar, rules_.noise);
              made.seconds *= drawn_error();
            }
            if (relative_bar > 0) {
              made.guessed = {made.seconds, made.seconds * relative_bar, provenance::modelled};
              take(made, made.guessed, of.batch);
            }
            most = std::max(most, made.best.samples);
          }
          entries_.push_back(made);
        }
        bounds_.push_back(most);
      }
    }
  }

  const job_cluster* cluster_;
  const iteration_times* times_;
  const data_parallel_memory* memory_;
  speed_rules rules_;
  std::vector<job_shape> shapes_;
  std::vector<entry> entries_;
  std::vector<double> bounds_;
  std::vector<measured_scale> scales_;  // of each shape on each kind
  std::vector<learnt_time> learnt_;
};

}  // namespace motet
