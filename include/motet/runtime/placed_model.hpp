// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/layer_split.hpp>
#include <motet/runtime/meeting_point.hpp>
#include <motet/runtime/parameter_piece.hpp>
#include <motet/schedule/buffers.hpp>

#include <memory>

namespace motet {

// What a rank holds, in bytes, before anything is allocated.
struct rank_memory {
  stage_memory stages;
  index features = 0;           // of the whole step, their gradients, what a join gathers, and the numbers of the loss
  index work = 0, scratch = 0;  // temporaries, shared by all of its stages
  index total() const { return stages.total() + features + work + scratch; }
};

// A model on the ranks of a program: every stage of every module where the program has it, with the rows between them and the join behind them. Each
// instruction has its action here, but updates.
template <class Model, class Context, class Numbers, class Endpoint>
class placed_model {
 public:
  using master = typename Numbers::master;
  using home_type = rank_state<Context, Numbers, Endpoint>;
  using point_type = meeting_point<Model, Context, Numbers, Endpoint>;
  using piece_type = parameter_piece<master>;

  // end(rank) is that rank's end of the transport. layers: of each module, how many each of its stages holds.
  template <class End>
  placed_model(const score_sheet& sheet, index samples, const std::vector<std::vector<index>>& layers, End end)
      : sheet_(sheet), samples_(samples), groups_(of().voices[0].joins()) {
    for (const voice& each : of().voices) {
      if (samples % groups_ == 0 && samples / groups_ >= each.group) continue;
      fail(bad_training_option, "a batch of " + std::to_string(samples) + " samples in " + std::to_string(groups_) + " groups of " +
                                    std::to_string(each.group) + " microbatches for " + std::string(each.name.view()));
    }
    buffer_counts buffers;
    if (const finding found = count_buffers(of(), buffers); !found.ok()) fail(reason_messages[static_cast<int>(found.why)], detail_of(of(), found));
    for (std::int32_t r = 0; r < of().ranks(); ++r) {
      homes_.push_back(std::make_unique<home_type>());
      homes_.back()->rank = r;
      homes_.back()->end = &end(r);
      homes_.back()->sheet = &sheet;
    }
    points_.resize(homes_.size());
    each_module([&]<std::size_t I>() {
      auto& own = std::get<I>(modules_);
      place(own, Model::names[I], number_of(I), I < layers.size() ? layers[I] : std::vector<index>{}, buffers);
    });
  }

  // What each rank will hold; prepare() takes exactly that.
  std::vector<rank_memory> plan() const {
    std::vector<rank_memory> found(homes_.size());
    const auto cover = [](rank_memory& own, const auto& needs) {
      own.work = std::max(own.work, needs.work);
      own.scratch = std::max(own.scratch, needs.scratch);
    };
    each_stage([&](const auto& each, index) {
      const stage_needs needs = each.measure();
      rank_memory& own = found[static_cast<std::size_t>(each.at().rank)];
      own.stages.add(needs.own);
      cover(own, needs);
    });
    for (std::size_t r = 0; r < points_.size(); ++r) {
      if (!points_[r]) continue;
      const auto needs = points_[r]->measure();
      found[r].features = needs.features;
      cover(found[r], needs);
    }
    return found;
  }
  // Takes all memory; weights are for the caller to fill.
  void prepare() {
    const std::vector<rank_memory> needs = plan();
    for (std::size_t r = 0; r < homes_.size(); ++r) {
      homes_[r]->prepare(needs[r].work, needs[r].scratch);
      if (points_[r]) points_[r]->prepare();
    }
    each_stage([](auto& each, index) { each.prepare(each.measure()); });
    each_module([&]<std::size_t I>() {
      auto& own = std::get<I>(modules_);
      points_[static_cast<std::size_t>(own.stages.back()->at().rank)]->template connect<I>(*own.stages.back(), *own.parts);
    });
  }
  // The most that the slots of each rank's stages held, to compare with what was planned.
  std::vector<index> used_of_slots() const {
    std::vector<index> most(homes_.size(), 0);
    each_stage([&](const auto& each, index) { most[static_cast<std::size_t>(each.at().rank)] += each.used_of_slots() * each.at().slots; });
    return most;
  }

  home_type& home(std::int32_t rank) const { return *homes_[static_cast<std::size_t>(rank)]; }
  // Null on a rank without a last stage.
  const point_type* point(std::int32_t rank) const { return points_[static_cast<std::size_t>(rank)].get(); }
  // visit(rank, piece), stages in the model's order, then the loss.
  template <class Visit>
  void each_piece(Visit&& visit) const {
    each_stage([&](const auto& each, index begin) {
      visit(each.at().rank,
            piece_type{
                begin + each.parameter_begin(), each.parameter_count(), each.weights_data(), each.gradients_data(), each.first(), each.second(), {}});
    });
    for (std::size_t r = 0; r < points_.size(); ++r) {
      if (!points_[r] || !points_[r]->is_owner()) continue;
      const auto& own = *points_[r];
      visit(static_cast<std::int32_t>(r),
            piece_type{Model::loss_at, Model::loss::parameter_size, own.weights(), own.gradients(), own.first(), own.second(), {}});
    }
  }

  // What an instruction does; nothing for an update, or for what is not run here.
  action action_of(std::int32_t number) {
    const instruction& it = of().instructions[number];
    action found;
    if (it.what == op::join) found = points_[static_cast<std::size_t>(of().rank_of(number))]->join_action();
    else
      each_module([&]<std::size_t I>() {
        if (of().voices[it.voice].module == static_cast<std::int32_t>(I))
          found = std::get<I>(modules_).stages[static_cast<std::size_t>(it.stage)]->action_of(it.what);
      });
    return found;
  }

  // Before each step: cuts the batch into the program's microbatches.
  void cut(const typename Model::batch& whole) {
    each_module([&]<std::size_t I>() {
      using traits = input_traits<typename Model::template module_at<I>::net>;
      const auto& own = std::get<I>(whole);
      const auto refuse = [](const std::string& what) { fail(step_too_large, std::string(Model::names[I]) + " " + what); };
      if (traits::samples(own) != samples_)
        refuse("has " + std::to_string(traits::samples(own)) + " samples, planned for exactly " + std::to_string(samples_));
      if (!traits::fits(own, samples_)) refuse("has a sample longer than " + std::to_string(traits::longest()));
      std::get<I>(modules_).parts->cut(own);
    });
  }
  // On the rank's own thread.
  template <class Draws>
  void begin_step(std::int32_t rank, const Draws& draws, bool zero_gradients) {
    home(rank).ctx.draws = draws;
    each_stage([&](auto& each, index) {
      if (each.at().rank == rank) each.begin_step(zero_gradients);
    });
    if (auto& own = points_[static_cast<std::size_t>(rank)]) own->begin_step();
  }
  // Of the step that ended.
  double loss() const {
    double sum = 0;
    for (const auto& each : points_) sum += each ? each->loss() : 0;
    return sum;
  }

 private:
  template <class Net>
  struct placed_module {
    using net = Net;
    std::unique_ptr<microbatches<Net>> parts;
    std::vector<std::unique_ptr<held_stage<Net, Context, Numbers, Endpoint>>> stages;
  };
  template <std::size_t... I>
  static std::tuple<placed_module<typename Model::template module_at<I>::net>...> all_of(std::index_sequence<I...>);

  const program& of() const { return sheet_.of; }
  std::int32_t number_of(std::size_t module) const {
    std::int32_t number = 0;
    while (of().voices[number].module != static_cast<std::int32_t>(module)) ++number;
    return number;
  }
  template <class Function>
  static void each_module(Function&& function) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (function.template operator()<I>(), ...); }(std::make_index_sequence<Model::size>{});
  }
  // visit(stage, where its module begins in the flat buffer).
  template <class Visit>
  void each_stage(Visit&& visit) const {
    each_module([&]<std::size_t I>() {
      for (const auto& each : std::get<I>(modules_).stages) visit(*each, Model::offsets[I]);
    });
  }

  template <class Placed>
  void place(Placed& own, std::string_view name, std::int32_t number, std::vector<index> layers, const buffer_counts& buffers) {
    using net = typename Placed::net;
    using held = held_stage<net, Context, Numbers, Endpoint>;
    const voice& sings = of().voices[number];
    own.parts = std::make_unique<microbatches<net>>(samples_, groups_, sings.group);
    layers = split_layers(name, net::stage::layers, sings.stages, std::move(layers));
    stage_position at;
    at.learns = sings.learns;
    for (const instruction& each : of().instructions) at.splits = at.splits || (each.voice == number && each.what == op::backward_input);
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      const index where = sings.first_place + s;
      at.rank = of().places[where];
      at.range = {at.range.last, at.range.last + layers[static_cast<std::size_t>(s)]};
      at.slots = of().slots[where];
      for (int kind = 0; kind < 3; ++kind) {
        at.in[kind] = buffers.in[kind][where];
        at.out[kind] = buffers.out[kind][where];
      }
      own.stages.push_back(std::make_unique<held>(home(at.rank), at, *own.parts));
    }
    for (std::size_t s = 0; s + 1 < own.stages.size(); ++s)
      if (own.stages[s]->at().rank == own.stages[s + 1]->at().rank) own.stages[s]->connect(*own.stages[s + 1]);
    auto& last = points_[static_cast<std::size_t>(at.rank)];
    if (!last) last = std::make_unique<point_type>(home(at.rank), samples_ / groups_, groups_);
  }

  const score_sheet& sheet_;
  index samples_, groups_;
  std::vector<std::unique_ptr<home_type>> homes_;
  std::vector<std::unique_ptr<point_type>> points_;  // of each rank with a last stage
  decltype(all_of(std::make_index_sequence<Model::size>{})) modules_;
};

}  // namespace motet
