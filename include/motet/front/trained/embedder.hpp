// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/draw_key.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/runtime/state/held_memory.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace motet {

// Makes features of a module's samples from its weights, whole: on a device of this process, to which they
// come from the host's memory, or on a rank that holds them, in the memory that a step has for temporaries.
// What it takes beside that grows to the largest input.
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
  void embed(std::size_t module, const void* input, const master* weights, master* out) {
    const auto& net = *model_.nets[module];
    const auto parts = parts_of(module, input, at_once);
    if (!parts) return;
    device_.prepare(device_.dry_run([&](context& ctx) {
      infer(ctx, net, weights, *parts, any_microbatches::largest, nowhere<master>());
    }));
    const draw_key no_draws{0, 0, 0, false};
    if constexpr (Device::shares_memory) {
      for (isize m = 0; m < parts->count(); ++m)
        device_.run(
            [&](context& ctx) { infer(ctx, net, weights, *parts, m, out + parts->of(m).begin * width(net)); },
            no_draws);
    } else {
      const stage_range all{0, net.of->layers};
      const isize size = net.of->span_of(all, {}).size() + net.of->resting_size(all, {});
      drop();
      weights_ = device_.template take<master>("weights to embed with", size);
      device_.template keep_weights<typename Numbers::value>(weights_.data(), size);
      device_.run(
          [&](context& ctx) {
            upload(ctx, weights, weights_.data(), size);
            weights_changed(ctx, static_cast<const master*>(weights_.data()), size);
            run_all(ctx, net, weights_.data(), *parts, out);
          },
          no_draws);
    }
  }
  // The same from the numbers of all modules, in the model's flat order. There a module's weights lie apart
  // from its adapters.
  void embed_gathered(std::size_t module, const void* input, const std::vector<master>& flat, master* out) {
    const net_outline& net = *model_.nets[module]->of;
    const std::string_view name = model_.of->names[module];
    const stage_range all{0, net.layers};
    const std::vector<parameter> held = model_.of->parameters();
    const auto begin = [&](const std::vector<parameter>& list) {
      const auto found = std::find_if(held.begin(), held.end(),
                                      [&](const parameter& each) { return each.name == list.front().name; });
      return flat.data() + found->offset;
    };
    const master* const learns = begin(net.parameters_of(name, all, {}));
    const isize resting = net.resting_size(all, {});
    if (resting == 0) return embed(module, input, learns, out);
    std::vector<master> whole(learns, learns + net.span_of(all, {}).size());
    const master* const rests = begin(net.resting_of(name, all, {}));
    whole.insert(whole.end(), rests, rests + resting);
    embed(module, input, whole.data(), out);
  }
  // The same by a rank whose context this is, where `weights` lie; its temporaries are those of `most`
  // samples at once.
  void embed_on(context ctx, isize most, std::size_t module, const void* input, const master* weights,
                master* out) {
    if (const auto parts = parts_of(module, input, std::min(most, at_once)))
      run_all(ctx, *model_.nets[module], weights, *parts, out);
  }

 private:
  using net_type = net_table<context, Numbers>;
  static constexpr isize at_once = 256;  // samples: enough for products of full speed

  static isize width(const net_type& net) { return net.of->embedding; }
  // Null: there are no samples.
  std::unique_ptr<any_microbatches> parts_of(std::size_t module, const void* input, isize most) const {
    const net_outline& net = *model_.nets[module]->of;
    const isize samples = net.samples(input);
    if (samples == 0) return nullptr;
    if (!net.fits(input, samples))
      fail(step_too_large, std::string(model_.of->names[module]) + " has a sample longer than " +
                               std::to_string(net.longest()));
    if (const std::string what = net.unknown_tokens(input); !what.empty())
      fail(unknown_token, std::string(model_.of->names[module]) + ": " + what);
    auto parts = net.microbatches({samples, 1, 1, (samples + most - 1) / most}, 0, {}, {}, {}, 0);
    parts->cut(input);
    return parts;
  }
  static void infer(context& ctx, const net_type& net, const master* weights, const any_microbatches& parts,
                    isize m, master* to) {
    stage_ends<Numbers> ends;
    const isize samples = parts.whole_rows(m).samples;
    ends.features = {to, samples, width(net), width(net)};
    net.infer(ctx, {0, net.of->layers}, motet::weights<Numbers>{weights}, parts, m, ends);
  }
  // Where the host does not reach the device's memory, one part comes after the other, in the same room.
  void run_all(context& ctx, const net_type& net, const master* weights, any_microbatches& parts,
               master* out) {
    if constexpr (!Device::shares_memory) {
      const isize samples = parts.whole_rows(any_microbatches::largest).samples, bytes = parts.staged_bytes();
      if (features_.size() < samples * width(net))
        features_ = device_.template take<master>("features", samples * width(net));
      if (input_.size() < bytes) input_ = device_.template take<std::byte>("inputs to embed", bytes);
      constexpr auto brings = [](void* to, const std::byte* from, std::byte* at, isize count) {
        bring(*static_cast<context*>(to), from, at, count);
      };
      refresh_weights(ctx);
      for (isize m = 0; m < parts.count(); ++m) {
        parts.stage(m, input_.data(), {&ctx, brings});
        brought(ctx);
        infer(ctx, net, weights, parts, m, features_.data());
        // Waits for the features, so the room is free again.
        download(ctx, static_cast<const master*>(features_.data()), out + parts.of(m).begin * width(net),
                 parts.of(m).size() * width(net));
      }
    }
  }
  void drop() {
    if constexpr (!Device::shares_memory)
      if (weights_.size() > 0) device_.drop_weights(static_cast<const master*>(weights_.data()));
  }

  const model_type& model_;
  Device& device_;
  // where the device has memory of its own
  typename Device::template buffer<master> weights_, features_;
  typename Device::template buffer<std::byte> input_;
};

}  // namespace motet
