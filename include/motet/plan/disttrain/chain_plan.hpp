// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster_kinds.hpp>
#include <motet/plan/disttrain/chain_model.hpp>

namespace motet {

struct part_place {
  isize stages = 1, data = 1, tensor = 1;
  constexpr isize ranks() const { return stages * data * tensor; }
  friend constexpr bool operator==(const part_place&, const part_place&) = default;
};

// A plan says who has what of a chain's step. Parts have ranks of their own, or share those of the language
// model: then every rank holds the whole part, and between its microbatches a pipeline of P stages does the
// pictures of P of them. An encoder that shares ranks may be multiplexed instead: each rank has a part of
// every microbatch's pictures, between the language model's computations.
struct chain_plan {
  part_place parts[chain_model::size];
  bool shares[chain_model::size] = {};
  bool multiplexed = false;
  friend constexpr bool operator==(const chain_plan&, const chain_plan&) = default;

  constexpr const part_place& middle() const { return parts[chain_model::middle]; }
  constexpr isize ranks() const {
    isize sum = 0;
    for (isize k = 0; k < chain_model::size; ++k) sum += shares[k] ? 0 : parts[k].ranks();
    return sum;
  }
  // The pipeline goes through all parts that have stages.
  constexpr isize stages() const {
    isize sum = 0;
    for (isize k = 0; k < chain_model::size; ++k) sum += shares[k] ? 0 : parts[k].stages;
    return sum;
  }
};

// The costs are what the parts of a chain take on a cluster. Seconds of work are FLOPs over the share of a
// device's peak that products of such a width reach.
class chain_costs {
 public:
  constexpr chain_costs(const chain_model& model, const cluster_facts& on, isize samples)
      : model_(model), on_(as_one_kind(on)), samples_(samples) {}

  constexpr const chain_model& model() const { return model_; }
  constexpr const cluster_facts& cluster() const { return on_; }
  constexpr isize samples() const { return samples_; }
  // Microbatches of a replica of the language model; each has one sample.
  constexpr isize waves(const chain_plan& of) const { return samples_ / of.middle().data; }

  // One unit of a part takes this forward, on a tensor group.
  constexpr double unit_seconds(isize part, isize tensor) const {
    const chain_part& own = model_.parts[part];
    const double columns = static_cast<double>(own.width) / static_cast<double>(tensor);
    return own.flops /
           (static_cast<double>(tensor) * on_.device.half_flops * on_.device.products.of(0, columns));
  }
  // Pictures that a lane of a part has in a microbatch of all replicas of the language model at once, if all
  // samples have as many.
  constexpr double units_of_lane(isize part, const part_place& own, isize replicas) const {
    if (part == chain_model::middle) return 1;
    return whole(static_cast<double>(replicas) * model_.pictures / static_cast<double>(own.data));
  }
  // A stage of a part takes this forward, for one microbatch of all replicas.
  constexpr double stage_seconds(isize part, const part_place& own, isize replicas) const {
    return units_of_lane(part, own, replicas) * unit_seconds(part, own.tensor) /
           static_cast<double>(own.stages);
  }
  // A part that shares the language model's ranks takes this for the pictures of as many microbatches as
  // there are stages, a picture on each rank at once.
  constexpr double column_seconds(isize part, const part_place& middle) const {
    const double lanes = static_cast<double>(middle.stages * middle.tensor);
    return whole(static_cast<double>(middle.stages) * model_.pictures / lanes) * unit_seconds(part, 1);
  }

  // A rank takes this for its part of a microbatch of a multiplexed encoder.
  constexpr double part_seconds(const part_place& middle) const {
    return whole(model_.pictures / static_cast<double>(middle.stages * middle.tensor)) * unit_seconds(0, 1);
  }

  // Bytes on each rank of a part. behind: stages of the pipeline from the part's first to the end, each of
  // which holds a microbatch.
  constexpr double bytes(isize part, const part_place& own, isize replicas, isize behind) const {
    const chain_part& of = model_.parts[part];
    const double cut = static_cast<double>(own.tensor * own.stages),
                 units = units_of_lane(part, own, replicas) *
                         static_cast<double>(std::min(behind, samples_ / replicas));
    return of.parameters * (of.bytes_of_weights() + of.bytes_of_state() / static_cast<double>(own.data)) /
               cut +
           (model_.backward(part) > 0 ? units * of.kept_bytes / cut : 0);
  }
  // A part that shares all ranks has its weights whole, its state cut over all, and what backward needs of
  // three columns of the encoder, or of one of the generator. Of a multiplexed encoder the last rank keeps
  // most: a part for each stage behind the first rank, and for each between the two.
  constexpr double shared_bytes(isize part, const chain_plan& of) const {
    const part_place& middle = of.middle();
    const chain_part& own = model_.parts[part];
    double pictures = (part == 0 ? 3 : 1) * whole(model_.pictures / static_cast<double>(middle.tensor));
    if (part == 0 && of.multiplexed)
      pictures = static_cast<double>(std::min(of.stages() + middle.stages - 1, waves(of))) *
                 whole(model_.pictures / static_cast<double>(middle.tensor * middle.stages));
    return own.parameters *
               (own.bytes_of_weights() + own.bytes_of_state() / static_cast<double>(middle.ranks())) +
           (model_.backward(part) > 0 ? pictures * own.kept_bytes : 0);
  }

  // Sums of gradients, and weights that come back, take this behind the last backward of the language model.
  constexpr double sum_seconds(const chain_plan& of) const {
    double longest = 0;
    for (isize k = 0; k < chain_model::size; ++k) {
      if (!model_.parts[k].learns) continue;
      const part_place own = of.shares[k] ? part_place{1, of.middle().ranks(), 1} : of.parts[k];
      const auto replicas = static_cast<double>(own.data);
      const double sent = 6 * model_.parts[k].parameters / static_cast<double>(own.tensor * own.stages) *
                          (replicas - 1) / replicas,
                   hidden = model_.backward(k) * (of.shares[k] ? column_seconds(k, of.middle())
                                                               : stage_seconds(k, own, of.middle().data));
      longest = std::max(longest, sent / bytes_per_second() - hidden);
    }
    return longest;
  }
  // The stage-time model that DistTrain's search minimises: the first microbatch goes through all stages, the
  // others come as fast as the slowest of them. Every sample has as many pictures.
  constexpr double model_seconds(const chain_plan& of) const {
    double through = 0, slowest = 0, columns = 0;
    for (isize k = 0; k < chain_model::size; ++k) {
      const double both = 1 + model_.backward(k);
      if (k == 0 && of.multiplexed) {
        const part_place& talk = of.middle();
        columns += both * static_cast<double>(talk.stages) * part_seconds(talk);
        continue;
      }
      if (of.shares[k]) {
        columns += both * column_seconds(k, of.middle());
        continue;
      }
      const double each = both * stage_seconds(k, of.parts[k], of.middle().data);
      through += static_cast<double>(of.parts[k].stages) * each;
      slowest = std::max(slowest, each);
    }
    const auto microbatches = static_cast<double>(waves(of));
    return through + (microbatches - 1) * slowest +
           whole(microbatches / static_cast<double>(of.middle().stages)) * columns + sum_seconds(of);
  }

 private:
  static constexpr double whole(double count) {
    const auto down = static_cast<double>(static_cast<isize>(count));
    return down < count ? down + 1 : down;
  }
  // Each device of a node has this share of the way out.
  constexpr double bytes_per_second() const {
    return on_.between.bytes_per_second / static_cast<double>(on_.devices_per_node);
  }

  chain_model model_;
  cluster_facts on_;
  isize samples_;
};

}  // namespace motet
