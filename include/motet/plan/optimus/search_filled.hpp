// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/optimus/encoder_placement.hpp>

namespace motet {

// The search names the rules that look for a plan of encoders and a language model on the same devices.
enum class filled_search {
  optimus,   // the published method
  megatron,  // encoders as the first stage of one pipeline
  balanced,  // all layers as even as possible over the stages of one pipeline
  motet  // gaps filled by slices, any depth of the language model's pipeline, or no filling where that is shorter
};

struct filled_answer {
  grid_3d language, encoder;
  index chunks = 1, microbatches = 0,
        pipelines = 0;  // of the language model; encoder pipelines beside each of its own
  bool fills = true;
  double step_seconds = 0, mfu = 0, memory_bytes = 0, bubble_rate = 0;
  double filled_coarse = 0, filled_fine = 0;  // shares of the encoder's work in gaps
  struct {
    double gather = 0, scatter = 0, pipeline = 0,
           exchange = 0;  // shares of the step of one device, without encoders
  } idle;
  index considered = 0;
};

namespace detail {

class filled_searcher {
 public:
  filled_searcher(const filled_costs& costs, index samples) : costs_(costs), samples_(samples) {}

  filled_answer optimus() {
    filled_answer best;
    fill_over(usual_language(), {}, best);
    return finish(best);
  }
  filled_answer motet() {
    filled_answer best;
    for (index stages = 1; stages <= 16; stages *= 2) {
      const std::optional<grid_3d> on = language_on(stages);
      if (!on) continue;
      fill_over(*on, {.slices = true, .goes_on = true}, best);
      offer(balanced_over(*on), best);
    }
    return finish(best);
  }
  filled_answer balanced() { return finish(balanced_over(usual_language())); }
  filled_answer megatron() { return finish(encoders_first(usual_language())); }

  // Those of the model, each cut into so many stages.
  std::optional<encoder_work> work_of_encoders(index stages, index tensor) const {
    encoder_work out;
    out.stages = stages;
    for (const layered_model& each : model().encoders) {
      if (each.layers % stages != 0) return {};
      const index layers = each.layers / stages;
      out.forward += static_cast<double>(layers) * costs_.whole_forward(each, tensor);
      out.backward += static_cast<double>(layers) * costs_.whole_backward(each, tensor);
      put_kernels(out, costs_.forward(each, tensor), costs_.backward(each, tensor), layers);
    }
    return out;
  }

 private:
  const filled_model& model() const { return costs_.model(); }
  const layered_model& language() const { return model().language; }
  index devices() const { return costs_.cluster().devices(); }
  double memory() const { return costs_.cluster().device.memory_bytes; }

  std::optional<grid_3d> language_on(index stages) const {
    const index tensor = costs_.cluster().devices_per_node;
    if (devices() % (tensor * stages) != 0) return {};
    const grid_3d on{devices() / (tensor * stages), stages, tensor};
    if (samples_ % (on.data * model().microbatch) != 0 || language().layers % stages != 0) return {};
    if (costs_.bytes(language(), on) + costs_.kept(language(), on) * static_cast<double>(stages) > memory())
      return {};
    return on;
  }
  // Tensor groups are nodes; 8 stages for models beyond 100 billion parameters, 4 below.
  grid_3d usual_language() const {
    const std::optional<grid_3d> on = language_on(language().parameters > 1e11 ? 8 : 4);
    if (!on)
      fail(model_fits_nowhere,
           sentence({language().name.view(), " on ", devices(), " devices with a batch of ", samples_,
                     ": nodes x ", language().parameters > 1e11 ? 8 : 4, " stages, and microbatches of ",
                     model().microbatch, ", must divide them, and memory must hold it"}));
    return *on;
  }
  index microbatches(const grid_3d& on) const { return samples_ / (on.data * model().microbatch); }
  index chunks_of(index layers_of_device, index stages, index count) const {
    if (count % stages != 0 || stages == 1) return 1;
    index best = 1;
    for (index k = 1; k <= 12; ++k)
      if (layers_of_device % k == 0) best = k;
    return best;
  }
  pipeline_work work_of_language(const grid_3d& on, index chunks) const {
    const index layers = language().layers / (on.stages * chunks);
    pipeline_work out;
    out.exchange = costs_.exchange(language(), on.tensor);
    for (index s = 0; s < on.stages * chunks; ++s) {
      const auto each = static_cast<double>(layers);
      out.forward.push_back(each * costs_.whole_forward(language(), on.tensor));
      out.backward.push_back(each * costs_.whole_backward(language(), on.tensor));
      out.exchanges_forward.push_back(layers * filled_costs::exchanges);
      out.exchanges_back.push_back(layers * filled_costs::exchanges_back);
    }
    return out;
  }
  // A layer forward is a norm, three projections, attention, a projection, a norm, and the two products of
  // the mlp; backward has twice as many products.
  static void put_kernels(encoder_work& to, double forward, double backward, index layers) {
    constexpr double shares[] = {0.03, 0.22, 0.10, 0.09, 0.03, 0.265, 0.265};
    for (index l = 0; l < layers; ++l)
      for (const double each : shares) {
        to.forward_kernels.push_back(each * forward);
        for (int half = 0; half < 2; ++half) to.backward_kernels.push_back(each * backward / 2);
      }
  }
  double bytes_with(const grid_3d& on, const grid_3d& encoder, index most_microbatches) const {
    double sum = costs_.bytes(language(), on) + costs_.kept(language(), on) * static_cast<double>(on.stages);
    for (const layered_model& each : model().encoders)
      sum +=
          costs_.bytes(each, encoder) + costs_.kept(each, encoder) * static_cast<double>(most_microbatches);
    return sum;
  }
  // Visits all ways to deal microbatches that differ by two at most, the pipelines being alike but for where
  // they lie.
  template <class Visit>
  static void each_deal(index microbatches, index pipelines, Visit visit) {
    std::vector<index> parts(static_cast<std::size_t>(pipelines), microbatches / pipelines);
    for (index k = 0; k < microbatches % pipelines; ++k) ++parts[static_cast<std::size_t>(k)];
    visit(parts);
    if (pipelines > 4 || parts.back() < 2) return;
    for (std::size_t a = 0; a < parts.size(); ++a)
      for (std::size_t b = 0; b < parts.size(); ++b) {
        if (a == b) continue;
        std::vector<index> other = parts;
        ++other[a];
        --other[b];
        visit(other);
      }
  }

  void fill_over(const grid_3d& on, placement_rules rules, filled_answer& best) {
    const index count = microbatches(on), chunks = chunks_of(language().layers / on.stages, on.stages, count);
    const pipeline_gaps gaps = find_gaps(work_of_language(on, chunks), on.stages, count, costs_.gather(on),
                                         costs_.scatter(on), costs_.rates().gap_sigma);
    for (index stages = 1; stages <= on.stages; ++stages) {
      if (on.stages % stages != 0) continue;
      for (index tensor = 1; tensor <= on.tensor; tensor *= 2) {
        if (on.tensor % tensor != 0) continue;
        const grid_3d encoder{devices() / (stages * tensor), stages, tensor};
        const index pipelines = encoder.data / on.data;
        if (pipelines > count) continue;
        const std::optional<encoder_work> work = work_of_encoders(stages, tensor);
        if (!work) continue;
        const double bytes = bytes_with(on, encoder, (count + pipelines - 1) / pipelines);
        if (bytes > memory()) continue;
        each_deal(count, pipelines, [&](const std::vector<index>& parts) {
          ++considered_;
          const encoder_placement found = place_encoders(gaps, *work, parts, rules);
          filled_answer made;
          made.language = on;
          made.encoder = encoder;
          made.chunks = chunks;
          made.microbatches = count;
          made.pipelines = pipelines;
          made.step_seconds = found.seconds;
          made.filled_coarse = found.filled_coarse;
          made.filled_fine = found.filled_fine;
          made.memory_bytes = bytes;
          put_idle(gaps, made);
          offer(made, best);
        });
      }
    }
  }
  void put_idle(const pipeline_gaps& gaps, filled_answer& to) const {
    to.idle.gather = gaps.front / gaps.seconds;
    to.idle.scatter = gaps.behind / gaps.seconds;
    to.idle.exchange = gaps.exchange_seconds / gaps.seconds;
    to.idle.pipeline =
        1 - to.idle.gather - to.idle.scatter - to.idle.exchange - gaps.busy_seconds / gaps.seconds;
    to.bubble_rate = 1 - gaps.busy_seconds / gaps.seconds;
  }
  // One chain of layers, encoders first, over stages and chunks so that the slowest virtual stage is as fast
  // as can be.
  filled_answer balanced_over(const grid_3d& on) {
    filled_answer best;
    const index most = microbatches(on) % on.stages == 0 && on.stages > 1 ? 12 : 1;
    for (index chunks = 1; chunks <= most; ++chunks) offer(balanced_over(on, chunks), best);
    return best;
  }
  filled_answer balanced_over(const grid_3d& on, index chunks) {
    ++considered_;
    const index count = microbatches(on);
    std::vector<double> forward, backward;
    const auto add = [&](const layered_model& of) {
      for (index l = 0; l < of.layers; ++l) {
        forward.push_back(costs_.whole_forward(of, on.tensor));
        backward.push_back(costs_.whole_backward(of, on.tensor));
      }
    };
    for (const layered_model& each : model().encoders) add(each);
    add(language());
    std::vector<double> both(forward.size());
    for (std::size_t l = 0; l < both.size(); ++l) both[l] = forward[l] + backward[l];
    const std::vector<index> ends = split_evenly(both, on.stages * chunks);
    pipeline_work work;
    std::size_t at = 0;
    for (const index end : ends) {
      double f = 0, b = 0;
      for (; at < static_cast<std::size_t>(end); ++at) f += forward[at], b += backward[at];
      work.forward.push_back(f);
      work.backward.push_back(b);
      work.exchanges_forward.push_back(0);
      work.exchanges_back.push_back(0);
    }
    filled_answer out;
    const pipeline_gaps gaps = find_gaps(work, on.stages, count, costs_.gather(on), costs_.scatter(on), 0);
    out.language = out.encoder = on;
    out.chunks = chunks;
    out.microbatches = count;
    out.fills = false;
    out.step_seconds = gaps.seconds;
    out.memory_bytes = bytes_with(on, on, on.stages);
    put_idle(gaps, out);
    return out;
  }
  // The encoders are the first stage, the language model has the others, in as many chunks as it likes.
  filled_answer encoders_first(const grid_3d& on) {
    ++considered_;
    const index others = std::max<index>(1, on.stages - 1),
                layers = (language().layers + others - 1) / others;
    double forward = 0, backward = 0;
    for (const layered_model& each : model().encoders) {
      forward += static_cast<double>(each.layers) * costs_.whole_forward(each, on.tensor);
      backward += static_cast<double>(each.layers) * costs_.whole_backward(each, on.tensor);
    }
    const double each = static_cast<double>(layers) * (costs_.whole_forward(language(), on.tensor) +
                                                       costs_.whole_backward(language(), on.tensor));
    filled_answer out;
    out.language = out.encoder = on;
    out.microbatches = microbatches(on);
    out.chunks = layers;
    out.fills = false;
    out.step_seconds = costs_.gather(on) + costs_.scatter(on) + forward + backward +
                       std::max(each, forward + backward) * static_cast<double>(out.microbatches) +
                       each * static_cast<double>(others - 1) / static_cast<double>(layers);
    out.memory_bytes = bytes_with(on, {on.data, 1, on.tensor}, on.stages);
    return out;
  }

 public:
  // Ends of the ranges into which a row of times falls so that the longest sum is as short as can be; each
  // has one at least, where there are as many.
  static std::vector<index> split_evenly(const std::vector<double>& times, index parts) {
    const std::size_t n = times.size(), k = static_cast<std::size_t>(parts);
    std::vector<double> sums(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + times[i];
    std::vector<std::vector<double>> best(k + 1, std::vector<double>(n + 1, 1e300));
    std::vector<std::vector<std::size_t>> from(k + 1, std::vector<std::size_t>(n + 1, 0));
    best[0][0] = 0;
    for (std::size_t p = 1; p <= k; ++p)
      for (std::size_t i = 0; i <= n; ++i)
        for (std::size_t j = i; j + 1 > 0; --j) {
          const double last = sums[i] - sums[j];
          if (last >= best[p][i]) break;
          if (const double longest = std::max(best[p - 1][j], last); longest < best[p][i])
            best[p][i] = longest, from[p][i] = j;
          if (j == 0) break;
        }
    std::vector<index> ends(k);
    std::size_t at = n;
    for (std::size_t p = k; p > 0; --p) {
      ends[p - 1] = static_cast<index>(at);
      at = from[p][at];
    }
    return ends;
  }

 private:
  void offer(const filled_answer& made, filled_answer& best) const {
    if (best.step_seconds == 0 || made.step_seconds < best.step_seconds) best = made;
  }
  filled_answer finish(filled_answer found) const {
    if (found.step_seconds == 0)
      fail(model_fits_nowhere,
           sentence({model().name, " on ", devices(),
                     " devices: encoders and language model do not fit beside each other"}));
    found.mfu = model().step_flops(samples_) / found.step_seconds / static_cast<double>(devices()) /
                costs_.cluster().device.half_flops;
    found.considered = considered_;
    return found;
  }

  const filled_costs& costs_;
  index samples_;
  index considered_ = 0;
};

}  // namespace detail

// The best plan by these rules for encoders and a language model on a cluster, and a batch of so many
// samples. Throws MT-P85 where nothing fits.
inline filled_answer search_filled(filled_search by, const filled_costs& costs, index samples) {
  detail::filled_searcher searcher(costs, samples);
  switch (by) {
    case filled_search::optimus: return searcher.optimus();
    case filled_search::megatron: return searcher.megatron();
    case filled_search::balanced: return searcher.balanced();
    case filled_search::motet: break;
  }
  return searcher.motet();
}

}  // namespace motet
