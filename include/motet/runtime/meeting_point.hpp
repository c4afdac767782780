// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/runtime/held_stage.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace motet {

// A rank's part in a model's join. For each group all ranks with a last stage bring their features together; each then computes the loss for the
// gradients of its own features alone, so no gradient travels. The numbers of the loss live on one rank, their owner, and come with its features.
template <class Model, class Context, class Numbers, class Endpoint>
class meeting_point {
 public:
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  using home_type = rank_state<Context, Numbers, Endpoint>;
  using feature_view = view<stream, Model::embedding>;
  static constexpr index loss_size = Model::loss::parameter_size;

  // samples: of a group.
  meeting_point(home_type& home, index samples, index groups) : home_(home), samples_(samples), groups_(groups) {
    const program& of = home.sheet->of;
    // Who brings what: every rank with a last stage, in the order of ranks, its modules in the model's order.
    for (std::int32_t r = 0; r < of.ranks(); ++r) {
      index here = 0;
      for (std::size_t k = 0; k < Model::size; ++k) {
        const voice& sings = voice_of(k);
        if (of.place(sings, sings.stages - 1) != r) continue;
        member_of_[k] = members_;
        local_of_[k] = here++;
        if (r == home.rank) own_[k] = true;
      }
      if (r == home.rank) member_ = static_cast<std::int32_t>(members_);
      if (r == home.rank) locals_ = here;
      if (here > 0) ++members_;
      most_locals_ = std::max(most_locals_, here);
    }
    for (std::size_t k = Model::size; k-- > 0;)
      if (!Model::frozen[k]) owner_ = k;
  }

  // Whether this rank holds the last stage of the first module that learns.
  bool is_owner() const { return own_[owner_]; }
  // This rank's parts of the loss and of the gradients of its numbers.
  double loss() const { return loss_; }
  master* gradients() const { return gradients_.data(); }
  // Only with the owner.
  master* weights() const { return weights_.data(); }
  master* first() const { return first_.data(); }
  master* second() const { return second_.data(); }

  struct needs {
    index features = 0, work = 0, scratch = 0;
  };
  needs measure() const {
    needs found;
    found.features = groups_ * (block_bytes() + gradient_bytes()) + members_ * block_bytes() + (is_owner() ? 4 : 1) * loss_bytes();
    std::array<feature_view, Model::size> features{}, gradients{};
    for (std::size_t k = 0; k < Model::size; ++k) {
      features[k] = {nowhere<stream>(), samples_};
      if (own_[k] && !Model::frozen[k]) gradients[k] = features[k];
    }
    Context ctx;
    contrast(ctx, nowhere<master>(), nowhere<master>(), features, gradients);
    found.work = ctx.memory.peak();
    found.scratch = ctx.scratch.peak();
    return found;
  }
  void prepare() {
    blocks_ = buffer<std::byte>(groups_ * block_bytes());
    d_features_ = buffer<std::byte>(groups_ * gradient_bytes());
    gathered_ = buffer<std::byte>(members_ * block_bytes());
    gradients_ = buffer<master>(loss_size);
    std::fill_n(gradients_.data(), loss_size, master(0));
    if (!is_owner()) return;
    for (buffer<master>* each : {&weights_, &first_, &second_}) {
      *each = buffer<master>(loss_size);
      std::fill_n(each->data(), loss_size, master(0));
    }
  }
  // Tells the last stage of module I where its features go.
  template <std::size_t I, class Stage, class Net>
  void connect(Stage& stage, const microbatches<Net>& parts) {
    std::vector<feature_view> features;
    std::vector<view<const stream, Model::embedding>> gradients;
    for (index m = 0; m < parts.count(); ++m) {
      const interval own = parts.of(m);
      const index group = own.begin / samples_, inside = own.begin % samples_ * Model::embedding;
      features.push_back({features_at(group, I) + inside, own.size()});
      gradients.push_back({gradients_at(group, I) + inside, own.size()});
    }
    stage.set_features(std::move(features), std::move(gradients));
  }
  void begin_step() {
    loss_ = 0;
    std::fill_n(gradients_.data(), loss_size, master(0));
    for (index group = 0; is_owner() && group < groups_; ++group)
      std::copy_n(weights_.data(), loss_size, numbers_in(blocks_.data() + group * block_bytes()));
  }
  action join_action() {
    return {[](void* self, const instruction& it, std::int32_t number) { return static_cast<meeting_point*>(self)->meet(it.microbatch, number); },
            this};
  }

 private:
  const voice& voice_of(std::size_t module) const {
    const program& of = home_.sheet->of;
    for (const voice& each : of.voices)
      if (each.module == static_cast<std::int32_t>(module)) return each;
    return of.voices[0];
  }
  index loss_bytes() const { return round_up(loss_size * static_cast<index>(sizeof(master)), arena::alignment); }
  index module_bytes() const { return samples_ * Model::embedding * static_cast<index>(sizeof(stream)); }
  // What a member brings for one group: features of its modules, then the numbers of the loss. Equal for all members.
  index feature_bytes() const { return round_up(most_locals_ * module_bytes(), arena::alignment); }
  index block_bytes() const { return feature_bytes() + loss_bytes(); }
  index gradient_bytes() const { return round_up(locals_ * module_bytes(), arena::alignment); }
  master* numbers_in(std::byte* block) const { return reinterpret_cast<master*>(block + feature_bytes()); }
  stream* features_at(index group, std::size_t module) const {
    return reinterpret_cast<stream*>(blocks_.data() + group * block_bytes() + local_of_[module] * module_bytes());
  }
  stream* gradients_at(index group, std::size_t module) const {
    return reinterpret_cast<stream*>(d_features_.data() + group * gradient_bytes() + local_of_[module] * module_bytes());
  }

  bool meet(std::int32_t group, std::int32_t number) {
    if (!home_.end->gather(home_.sheet->tags[number], member_, blocks_.data() + group * block_bytes(), block_bytes(), gathered_.data())) return false;
    std::array<feature_view, Model::size> features{}, gradients{};
    home_.ctx.memory = home_.work;
    for (std::size_t k = 0; k < Model::size; ++k) {
      std::byte* const from = gathered_.data() + member_of_[k] * block_bytes() + local_of_[k] * module_bytes();
      features[k] = {reinterpret_cast<stream*>(from), samples_};
      if (!own_[k] || Model::frozen[k]) continue;
      gradients[k] = {gradients_at(group, k), samples_};
      zero(home_.ctx, sequences{samples_, 1, nullptr}, gradients[k]);
    }
    loss_ += contrast(home_.ctx, numbers_in(gathered_.data() + member_of_[owner_] * block_bytes()), gradients_.data(), features, gradients);
    return true;
  }
  // The pairs that this rank has a module of. A pair's loss, and its gradients of the loss's numbers, are counted once: with the first of the two that
  // learns, or with the owner.
  double contrast(Context& ctx, const master* w, master* g, const std::array<feature_view, Model::size>& features,
                  const std::array<feature_view, Model::size>& gradients) const {
    using rows = matrix<stream>;
    double loss = 0;
    for (std::size_t i = 0; i < Model::size; ++i) {
      for (std::size_t j = i + 1; j < Model::size; ++j) {
        const bool counts = own_[!Model::frozen[i] ? i : !Model::frozen[j] ? j : owner_];
        if (!counts && !gradients[i] && !gradients[j]) continue;
        const double part = Model::loss::pair(ctx, w, counts ? g : nullptr, rows(features[i]), rows(features[j]),
                                              Model::share / static_cast<double>(groups_), rows(gradients[i]), rows(gradients[j]));
        if (counts) loss += part;
      }
    }
    return loss;
  }

  home_type& home_;
  index samples_, groups_;
  std::int32_t member_ = 0;
  index members_ = 0, locals_ = 0, most_locals_ = 0;
  std::array<index, Model::size> member_of_{}, local_of_{};
  std::array<bool, Model::size> own_{};
  std::size_t owner_ = 0;
  buffer<std::byte> blocks_, d_features_, gathered_;
  buffer<master> weights_, gradients_, first_, second_;  // of the loss
  double loss_ = 0;
};

}  // namespace motet
