// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/draw_key.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/runtime/stage/staged_microbatches.hpp>

namespace motet {

// Makes features of a module's samples on a device of this process, from weights that lie in the host's
// memory, or where the device's operations read them, whole. Memory grows to the largest input.
template <class Numbers, class Device>
class embedder {
 public:
  using master = typename Numbers::master;
  using context = typename Device::context;
  using model_type = model_table<context, Numbers>;

  embedder(const model_type& model, Device& device) : model_(model), device_(device) {}
  embedder(const embedder&) = delete;
  embedder& operator=(const embedder&) = delete;
  ~embedder() { drop(); }

  // `input` is the module's own kind of input; `weights` its flat buffer; rows of length one go to `out`.
  // there: the buffer lies where the device's operations read it, with all that it keeps of it.
  void embed(std::size_t module, const void* input, const master* weights, master* out, bool there = false) {
    const auto& net = *model_.nets[module];
    const index samples = net.of->samples(input), width = net.of->embedding;
    if (samples == 0) return;
    if (!net.of->fits(input, samples))
      fail(step_too_large, std::string(model_.of->names[module]) + " has a sample longer than " +
                               std::to_string(net.of->longest()));
    const auto parts =
        net.of->microbatches({samples, 1, 1, (samples + at_once - 1) / at_once}, 0, {}, {}, {}, 0);
    parts->cut(input);
    const stage_range all{0, net.of->layers};
    const auto infer = [&](context& ctx, index m, master* to, index rows) {
      stage_ends<Numbers> ends;
      ends.features = {to, rows, width, width};
      net.infer(ctx, all, motet::weights<Numbers>{weights}, *parts, m, ends);
    };
    const index most = std::min(samples, at_once);
    device_.prepare(device_.dry_run(
        [&](context& ctx) { infer(ctx, any_microbatches::largest, nowhere<master>(), most); }));
    const draw_key no_draws{0, 0, 0, false};
    if constexpr (Device::shares_memory) {
      for (index m = 0; m < parts->count(); ++m)
        device_.run(
            [&](context& ctx) { infer(ctx, m, out + parts->of(m).begin * width, parts->of(m).size()); },
            no_draws);
    } else {
      const index size = net.of->span_of(all, {}).size();
      drop();
      if (!there) {
        weights_ = device_.template take<master>("weights to embed with", size);
        device_.template keep_weights<typename Numbers::value>(weights_.data(), size);
      }
      features_ = device_.template take<master>("features", most * width);
      staged_.prepare(*parts);
      device_.run(
          [&](context& ctx) {
            if (!there) {
              upload(ctx, weights, weights_.data(), size);
              weights_changed(ctx, static_cast<const master*>(weights_.data()), size);
              weights = weights_.data();
            }
            refresh_weights(ctx);
            staged_.stage(ctx, *parts);
            for (index m = 0; m < parts->count(); ++m) {
              infer(ctx, m, features_.data(), parts->of(m).size());
              download(ctx, static_cast<const master*>(features_.data()), out + parts->of(m).begin * width,
                       parts->of(m).size() * width);
            }
          },
          no_draws);
    }
  }

 private:
  static constexpr index at_once = 256;  // samples: enough for products of full speed
  void drop() {
    if constexpr (!Device::shares_memory) {
      if (weights_.size() == 0) return;
      device_.drop_weights(static_cast<const master*>(weights_.data()));
      weights_ = {};
    }
  }

  const model_type& model_;
  Device& device_;
  // where the device has memory of its own
  typename Device::template buffer<master> weights_, features_;
  staged_microbatches<context> staged_;
};

}  // namespace motet
