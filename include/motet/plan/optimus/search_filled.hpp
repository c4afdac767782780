// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/optimus/encoders_apart.hpp>

namespace motet {

// The search names the rules that look for a plan of encoders and a language model on the same devices.
enum class filled_search {
  optimus,   // the published method
  megatron,  // encoders as the first stage of one pipeline
  balanced,  // all layers as even as possible over the stages of one pipeline
  // Any depth of the language model's pipeline, on as many devices as divide the batch: encoders in its gaps,
  // kernels whole or in slices, in the same pipeline, or on the devices that are left.
  motet
};

struct filled_answer {
  grid_3d language, encoder;
  isize chunks = 1, microbatches = 0,
        pipelines = 0,               // of the language model; encoder pipelines beside each of its own
      slices = 1;                    // of the encoder's kernel that is cut most
  bool fills = true, apart = false;  // in gaps, or on devices of their own; neither: in the same pipeline
  isize idle_devices = 0;
  double step_seconds = 0, mfu = 0, bubble_rate = 0;
  double filled_coarse = 0, filled_fine = 0;  // shares of the encoder's work in gaps
  struct {
    double worst = 0, mean = 0;  // of the devices
  } memory_bytes;
  idle_shares idle;             // before encoders fill it
  std::vector<label> measured;  // parts whose gaps inside operations were; those of others are counted
  isize considered = 0;
};

namespace detail {

class filled_searcher {
 public:
  filled_searcher(const filled_costs& costs, isize samples) : costs_(costs), samples_(samples) {}

  filled_answer optimus() {
    filled_answer best;
    fill_over(usual_language(), {}, best);
    return finish(best);
  }
  filled_answer motet() {
    filled_answer best;
    for (isize stages = 1; stages <= 16; stages *= 2) {
      const isize most = devices() / (stages * costs_.cluster().devices_per_node);
      for (isize data = most, filled = 0; data >= 1; --data) {
        const std::optional<grid_3d> on = language_on(stages, data);
        if (!on) continue;
        if (best.step_seconds > 0 && least_seconds(*on) >= best.step_seconds) break;
        // Fewer replicas take longer by themselves, so what fills goes to the most.
        if (filled++ == 0) {
          for (const bool slices : {false, true}) fill_over(*on, {.slices = slices, .goes_on = true}, best);
          const filled_answer chain = balanced_over(*on);
          if (!too_much(chain.memory_bytes.worst, 0)) offer(chain, best);
        }
        if (data < most) apart_over(*on, best);
      }
    }
    return finish(best);
  }
  filled_answer balanced() { return finish(balanced_over(usual_language())); }
  filled_answer megatron() { return finish(encoders_first(usual_language())); }

  // The work of the model's encoders, each cut into so many stages.
  std::optional<encoder_work> work_of_encoders(isize stages, isize tensor) const {
    encoder_work out;
    out.stages = stages;
    for (const layered_model& each : model().encoders) {
      if (each.layers % stages != 0) return {};
      const isize layers = each.layers / stages;
      out.forward += static_cast<double>(layers) * costs_.whole_forward(each, tensor);
      out.backward += static_cast<double>(layers) * costs_.whole_backward(each, tensor);
      put_kernels(out, costs_.forward(each, tensor), costs_.backward(each, tensor), layers);
    }
    return out;
  }

 private:
  const filled_model& model() const { return costs_.model(); }
  const layered_model& language() const { return model().language; }
  isize devices() const { return costs_.cluster().devices(); }
  double memory() const { return costs_.cluster().device.memory_bytes; }

  // The grid of a language model with so many stages on all devices, or on `data` replicas of it.
  std::optional<grid_3d> language_on(isize stages) {
    const isize group = stages * costs_.cluster().devices_per_node;
    if (devices() % group != 0) return {};
    return language_on(stages, devices() / group);
  }
  std::optional<grid_3d> language_on(isize stages, isize data) {
    const grid_3d on{data, stages, costs_.cluster().devices_per_node};
    if (samples_ % (on.data * model().microbatch) != 0 || language().layers % stages != 0) return {};
    // What more devices would hold with ease is no reason.
    const double bytes =
        costs_.bytes(language(), on) + costs_.kept(language(), on) * static_cast<double>(stages);
    const bool most = on.devices() + on.stages * on.tensor > devices();
    if (most ? too_much(bytes, 0) : bytes > memory()) return {};
    return on;
  }
  // Tensor groups are nodes; 8 stages for models beyond 100 billion parameters, 4 below.
  grid_3d usual_language() {
    const std::optional<grid_3d> on = language_on(language().parameters > 1e11 ? 8 : 4);
    if (!on)
      fail(model_fits_nowhere,
           sentence({language().name.view(), " on ", devices(), " devices with a batch of ", samples_,
                     ": nodes x ", language().parameters > 1e11 ? 8 : 4, " stages, and microbatches of ",
                     model().microbatch, ", must divide them, and memory must hold it", too_full()}));
    return *on;
  }
  isize microbatches(const grid_3d& on) const { return samples_ / (on.data * model().microbatch); }
  isize chunks_of(isize layers_of_device, isize stages, isize count) const {
    if (count % stages != 0 || stages == 1) return 1;
    isize best = 1;
    for (isize k = 1; k <= 12; ++k)
      if (layers_of_device % k == 0) best = k;
    return best;
  }
  // A layer computes forward: norm, three projections, attention, projection, norm, and the two products of
  // the mlp; twice as many products backward.
  static void put_kernels(encoder_work& to, double forward, double backward, isize layers) {
    constexpr double shares[] = {0.03, 0.22, 0.10, 0.09, 0.03, 0.265, 0.265};
    for (isize l = 0; l < layers; ++l)
      for (const double each : shares) {
        to.forward_kernels.push_back(each * forward);
        for (int half = 0; half < 2; ++half) to.backward_kernels.push_back(each * backward / 2);
      }
  }
  // A device that meets so many microbatches of encoders holds these bytes of them.
  double bytes_of_encoders(const grid_3d& encoder, isize microbatches) const {
    double sum = 0;
    for (const layered_model& each : model().encoders)
      sum += costs_.bytes(each, encoder) + costs_.kept(each, encoder) * static_cast<double>(microbatches);
    return sum;
  }
  // Says whether a device does not hold so many bytes.
  bool too_much(double bytes, double of_encoders) {
    if (bytes <= memory()) return false;
    if (least_bytes_ == 0 || bytes < least_bytes_) least_bytes_ = bytes, least_of_encoders_ = of_encoders;
    return true;
  }
  // Sums the memory of the language model's devices with that of encoder pipelines; false: they do not hold
  // both.
  bool put_memory(const pipeline_gaps& gaps, const std::vector<isize>& parts, filled_answer& to) {
    const auto stages = static_cast<std::size_t>(to.encoder.stages);
    const std::size_t rows = gaps.bytes.size() / stages;
    double sum = 0, of_encoders = 0;
    to.memory_bytes = {};
    for (std::size_t j = 0; j < parts.size(); ++j) {
      const double more = bytes_of_encoders(to.encoder, parts[j]);
      for (std::size_t e = 0; e < stages; ++e) {
        const double own = gaps.bytes[j % rows * stages + e] + more;
        sum += own;
        if (own <= to.memory_bytes.worst) continue;
        to.memory_bytes.worst = own;
        of_encoders = more;
      }
    }
    to.memory_bytes.mean = sum / static_cast<double>(parts.size() * stages);
    return !too_much(to.memory_bytes.worst, of_encoders);
  }
  void fill_over(const grid_3d& on, placement_rules rules, filled_answer& best) {
    const isize count = microbatches(on), chunks = chunks_of(language().layers / on.stages, on.stages, count);
    const pipeline_gaps gaps = find_gaps(even_stages(costs_, language(), on, chunks), on.stages, count,
                                         costs_.gather(on), costs_.scatter(on), costs_.rates().gap_sigma);
    for (const grid_3d& encoder : encoder_grids(on)) {
      const isize pipelines = encoder.data / on.data;
      if (pipelines > count) continue;
      const std::optional<encoder_work> work = work_of_encoders(encoder.stages, encoder.tensor);
      if (!work) continue;
      each_even_deal(count, pipelines, [&](const std::vector<isize>& parts) {
        filled_answer made;
        made.language = on;
        made.encoder = encoder;
        made.chunks = chunks;
        made.microbatches = count;
        made.pipelines = pipelines;
        if (!put_memory(gaps, parts, made)) return;
        ++considered_;
        const encoder_placement found = place_encoders(gaps, *work, parts, rules);
        made.step_seconds = found.seconds;
        made.filled_coarse = found.filled_coarse;
        made.filled_fine = found.filled_fine;
        made.slices = found.slices;
        put_idle(gaps, made);
        offer(made, best);
      });
    }
  }
  // A step is no shorter than what each device of the language model computes of it.
  double least_seconds(const grid_3d& on) const {
    pipeline_stage all;
    all.add(costs_, language(), language().layers, on);
    return costs_.gather(on) + costs_.scatter(on) +
           (all.forward + all.backward) / static_cast<double>(on.stages) *
               static_cast<double>(microbatches(on));
  }
  // The language model on these, and encoders on nodes of their own behind them.
  void apart_over(const grid_3d& on, filled_answer& best) {
    const isize count = microbatches(on), chunks = chunks_of(language().layers / on.stages, on.stages, count),
                left = (devices() - on.devices()) / on.tensor;
    const std::vector<pipeline_stage> work = even_stages(costs_, language(), on, chunks);
    const double gather = costs_.gather(on), scatter = costs_.scatter(on);
    std::optional<pipeline_gaps> alone;
    for (isize stages = 1; stages <= left && stages <= 8; stages *= 2) {
      const std::optional<encoders_apart> how = apart_on(left, stages, on.data, count);
      const std::optional<encoder_work> encoders = work_of_encoders(stages, on.tensor);
      if (!how || !encoders) continue;
      if (!alone) alone = find_gaps(work, on.stages, count, gather, scatter);
      filled_answer made;
      made.language = on;
      made.encoder = {on.data * how->copies / how->shares, stages, on.tensor};
      made.chunks = chunks;
      made.microbatches = count;
      made.pipelines = how->copies;
      made.fills = false;
      made.apart = true;
      const double encoder = bytes_of_encoders(made.encoder, count * how->shares / how->copies),
                   worst = *std::max_element(alone->bytes.begin(), alone->bytes.end());
      if (too_much(std::max(worst, encoder), encoder > worst ? encoder : 0)) continue;
      ++considered_;
      made.step_seconds = seconds_apart(work, on.stages, count, *encoders, *how, gather, scatter);
      put_apart(*alone, *encoders, encoder, made);
      offer(made, best);
    }
  }
  // Memory and idle shares of devices of both kinds, by their number.
  void put_apart(const pipeline_gaps& alone, const encoder_work& work, double bytes,
                 filled_answer& to) const {
    const auto stages = static_cast<double>(to.language.stages),
               talks = static_cast<double>(to.language.devices()),
               sees = static_cast<double>(to.encoder.devices()), all = talks + sees;
    double language = 0, worst = 0, busy = 0, waits = 0;
    for (std::size_t d = 0; d < alone.bytes.size(); ++d) {
      language += alone.bytes[d] / stages;
      worst = std::max(worst, alone.bytes[d]);
      busy += alone.busy[d] / stages;
      waits += alone.exchanging[d] / stages;
    }
    to.memory_bytes = {std::max(worst, bytes), (talks * language + sees * bytes) / all};
    double kernels = 0;
    for (const auto* const each : {&work.forward_kernels, &work.backward_kernels})
      for (const double one : *each) kernels += one;
    const double each = static_cast<double>(to.microbatches * to.language.data) /
                        static_cast<double>(to.encoder.data),
                 step = to.step_seconds;
    to.idle.gather = alone.front / step;
    to.idle.scatter = alone.behind / step;
    to.idle.exchange = (talks * waits + sees * each * (work.forward + work.backward - kernels)) / all / step;
    to.bubble_rate = 1 - (talks * busy + sees * each * kernels) / all / step;
    to.idle.dependency = to.bubble_rate - to.idle.gather - to.idle.scatter - to.idle.exchange;
  }
  void put_idle(const pipeline_gaps& gaps, filled_answer& to) const {
    to.idle = idle_of(gaps);
    to.bubble_rate = to.idle.sum();
  }
  // One chain of layers, encoders first, over stages and chunks so that the slowest virtual stage is as fast
  // as can be.
  filled_answer balanced_over(const grid_3d& on) {
    filled_answer best;
    const isize most = microbatches(on) % on.stages == 0 && on.stages > 1 ? 12 : 1;
    for (isize chunks = 1; chunks <= most; ++chunks) offer(balanced_over(on, chunks), best);
    return best;
  }
  filled_answer balanced_over(const grid_3d& on, isize chunks) {
    ++considered_;
    const isize count = microbatches(on);
    std::vector<const layered_model*> layers;
    std::vector<double> seconds;
    const auto add = [&](const layered_model& of) {
      layers.insert(layers.end(), static_cast<std::size_t>(of.layers), &of);
      seconds.resize(layers.size(),
                     costs_.whole_forward(of, on.tensor) + costs_.whole_backward(of, on.tensor));
    };
    for (const layered_model& each : model().encoders) add(each);
    add(language());
    std::vector<pipeline_stage> work;
    std::size_t at = 0;
    for (const isize end : split_evenly(seconds, on.stages * chunks)) {
      work.emplace_back();
      for (; at < static_cast<std::size_t>(end); ++at) work.back().add(costs_, *layers[at], 1, on);
    }
    filled_answer out;
    const pipeline_gaps gaps = find_gaps(work, on.stages, count, costs_.gather(on), costs_.scatter(on));
    out.language = out.encoder = on;
    out.chunks = chunks;
    out.microbatches = count;
    out.fills = false;
    out.step_seconds = gaps.seconds;
    for (const double each : gaps.bytes) {
      out.memory_bytes.worst = std::max(out.memory_bytes.worst, each);
      out.memory_bytes.mean += each / static_cast<double>(gaps.bytes.size());
    }
    put_idle(gaps, out);
    return out;
  }
  // The encoders are the first stage, the language model has the others, in as many chunks as it likes.
  filled_answer encoders_first(const grid_3d& on) {
    ++considered_;
    const isize others = std::max<isize>(1, on.stages - 1),
                layers = (language().layers + others - 1) / others;
    pipeline_stage first, other;
    for (const layered_model& each : model().encoders) first.add(costs_, each, each.layers, on);
    other.add(costs_, language(), layers, on);
    filled_answer out;
    out.language = out.encoder = on;
    out.microbatches = microbatches(on);
    out.chunks = layers;
    out.fills = false;
    const auto count = static_cast<double>(out.microbatches), stages = static_cast<double>(others);
    const double takes = first.forward + first.backward, each = other.forward + other.backward;
    out.step_seconds = costs_.gather(on) + costs_.scatter(on) + takes + std::max(each, takes) * count +
                       each * (stages - 1) / static_cast<double>(layers);
    // Every stage keeps as many microbatches as come before its first gradient.
    out.memory_bytes.worst = first.bytes + first.kept * stages;
    out.memory_bytes.mean = out.memory_bytes.worst / (stages + 1);
    for (isize s = 0; s < others; ++s) {
      const double own = other.bytes + other.kept * static_cast<double>(others - s);
      out.memory_bytes.worst = std::max(out.memory_bytes.worst, own);
      out.memory_bytes.mean += own / (stages + 1);
    }
    // Waits are those of the same mean of all stages; which part of the pipeline's wait is warm-up is not
    // known.
    const double waits = exchanging(first) + stages * exchanging(other),
                 all = out.step_seconds * (stages + 1);
    out.idle.gather = costs_.gather(on) / out.step_seconds;
    out.idle.scatter = costs_.scatter(on) / out.step_seconds;
    out.idle.exchange = waits * count / all;
    out.bubble_rate = 1 - ((takes + stages * each) - waits) * count / all;
    out.idle.dependency = out.bubble_rate - out.idle.gather - out.idle.scatter - out.idle.exchange;
    return out;
  }
  // Seconds of a stage's exchanges for a microbatch.
  static double exchanging(const pipeline_stage& of) { return of.waits_forward + of.waits_back; }

 public:
  // Ends of the ranges into which a row of times falls so that the longest sum is as short as can be; each
  // has one at least, where there are as many.
  static std::vector<isize> split_evenly(const std::vector<double>& times, isize parts) {
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
    std::vector<isize> ends(k);
    std::size_t at = n;
    for (std::size_t p = k; p > 0; --p) {
      ends[p - 1] = static_cast<isize>(at);
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
                     " devices: encoders and language model do not fit beside each other", too_full()}));
    found.mfu = model().step_flops(samples_) / found.step_seconds / static_cast<double>(devices()) /
                costs_.cluster().device.half_flops;
    found.considered = considered_;
    found.idle_devices = devices() - found.language.devices() - (found.apart ? found.encoder.devices() : 0);
    const auto note = [&](const layered_model& of, const grid_3d& on) {
      if (costs_.gaps(of, on.tensor) != nullptr) found.measured.push_back(of.name);
    };
    for (const layered_model& each : model().encoders) note(each, found.encoder);
    note(language(), found.language);
    return found;
  }

  // "; a device would hold 95 GB at least, 20 of them the encoders', and has 80".
  std::string too_full() const {
    if (least_bytes_ == 0) return "";
    const auto gb = [](double bytes) { return static_cast<isize>(bytes / 1e9 + 0.5); };
    return sentence(
        {"; a device would hold ", gb(least_bytes_), " GB at least",
         least_of_encoders_ > 0 ? sentence({", ", gb(least_of_encoders_), " of them the encoders',"}) : "",
         " and has ", gb(memory())});
  }

  const filled_costs& costs_;
  isize samples_;
  isize considered_ = 0;
  double least_bytes_ = 0, least_of_encoders_ = 0;  // of what is too much for a device
};

}  // namespace detail

// The best plan by these rules for encoders and a language model on a cluster, and a batch of so many
// samples. Throws MT-P85 where nothing fits.
filled_answer search_filled(filled_search by, const filled_costs& costs, isize samples);

#if !defined(MOTET_COMPILED_PLANNER)
MOTET_BODY filled_answer search_filled(filled_search by, const filled_costs& costs, isize samples) {
  detail::filled_searcher searcher(costs, samples);
  switch (by) {
    case filled_search::optimus: return searcher.optimus();
    case filled_search::megatron: return searcher.megatron();
    case filled_search::balanced: return searcher.balanced();
    case filled_search::motet: break;
  }
  return searcher.motet();
}
#endif

}  // namespace motet
