// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/stage_needs.hpp>

namespace motet {

// Makes features of a module's samples on this process's own threads, from weights that lie here whole.
// Memory grows to the largest input.
template <class Numbers>
class embedder {
 public:
  using master = typename Numbers::master;
  using model_type = model_table<cpu::context, Numbers>;

  embedder(const model_type& model, int threads) : model_(model), device_(threads) {}

  // `input` is the module's own kind of input; `weights` its flat buffer; rows of length one go to `out`.
  void embed(std::size_t module, const void* input, const master* weights, master* out) {
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
    const auto infer = [&](cpu::context& ctx, index m) {
      stage_ends<Numbers> ends;
      ends.features =
          m == any_microbatches::largest
              ? matrix<master>{nowhere<master>(), std::min(samples, at_once), width, width}
              : matrix<master>{out + parts->of(m).begin * width, parts->of(m).size(), width, width};
      net.infer(ctx, all, motet::weights<Numbers>{weights}, *parts, m, ends);
    };
    device_.prepare(device_.plan([&](cpu::context& ctx) { infer(ctx, any_microbatches::largest); }));
    for (index m = 0; m < parts->count(); ++m)
      device_.run([&](cpu::context& ctx) { infer(ctx, m); }, {0, 0, 0, false});
  }

 private:
  static constexpr index at_once = 256;  // samples: enough for products of full speed
  const model_type& model_;
  cpu::device device_;
};

}  // namespace motet
