// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/in_parallel.hpp>
#include <motet/backend/core/step_costs.hpp>
#include <motet/backend/groups/seen_by_stages.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/runtime/gradients/rank_update.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/ranks/thread_ranks.hpp>
#include <motet/runtime/stage/program_fit.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/runtime/state/trained_state.hpp>
#include <motet/runtime/train/guard.hpp>
#include <motet/runtime/train/host_pieces.hpp>
#include <motet/runtime/train/picked_score.hpp>
#include <motet/runtime/train/pipeline_config.hpp>
#include <motet/runtime/train/placed_model.hpp>
#include <motet/runtime/train/step_shares.hpp>

#include <map>
#include <span>
#include <utility>

namespace motet {

// Trains a model by a program. The host says where its ranks live: as threads of this process (thread_ranks)
// or one in each of many processes (process_rank), of which all then make the same calls. Weights depend on
// the seed alone, and a step gives the same loss and gradients within rounding, whatever the program. After
// prepare() a step allocates nothing.
//
// Programs of several scores of one cast (schedule/core/cast.hpp) may take turns: each step is told which
// one it plays, and any gives the same loss and gradients within rounding.
template <class Device, class Numbers, class Host>
class model_trainer {
 public:
  using master = typename Numbers::master;
  using model_type = model_table<typename Device::context, Numbers>;

  model_trainer(const model_type& model, const score& order, pipeline_config config)
      : model_trainer(model, std::span(&order, 1), std::move(config)) {}
  // All scores are of one cast; the first is played where a step is not told otherwise.
  model_trainer(const model_type& model, std::span<const score> orders, pipeline_config config)
      : model_(*model.of),
        config_(checked(std::move(config), works_on_host<typename Device::context>)),
        parameters_(model_.parameters()),
        ranks_(programs_for(model_, orders, config_.update), config_.deadline),
        groups_(groups_of(of(), config_.modules, model_.size())),
        group_set_(ranks_.world(), groups_.all()),
        placed_(
            model, ranks_.sheets(), config_.batch, config_.modules, ranks_.local_ranks(), groups_,
            [this](std::int32_t rank) -> endpoint& { return ranks_.end(rank); },
            [this](int set, std::int32_t number, std::int32_t rank) { return group(set, number, rank); },
            step_shares::checked(config_.resplit, !model_.edges.empty()), config_.each,
            learning{config_.optimizer, config_.ema}),
        shares_(of(), placed_.splits(), model_.names, config_.resplit) {
    if (scores() > 1 && !works_on_host<typename Device::context>)
      fail(scores_stay, sentence({scores(), " scores, and this is a GPU"}));
    if (config_.resplit.most > 1) ranks_.require_same(step_shares::identity_of(config_.resplit));
    const optimizer_kind by = config_.optimizer.kind;
    if (by == optimizer_kind::muon && !moves_matrices<typename Device::context, master>)
      fail(optimizer_does_not_fit, "Muon's products of matrices are there on CPUs alone, and this is a GPU");
    require_whole_parts(model_, of(), groups_, config_.modules, by);
    require_lent_weights(model_, of(), groups_, config_.modules, works_on_host<typename Device::context>);
    require_owned_once(ownership_of(model_, of(), groups_, config_.modules));
    if (model_.joins.size() > 1)
      for (const join_outline& each : model_.joins) parts_.push_back({each.facts.name, each.facts.of});
    told_.resize(2 + parts_.size());
    for (const parameter& each : parameters_) offsets_.emplace(each.name, each.offset);
    for (std::int32_t k = 0; k < scores(); ++k)
      for (const std::int32_t rank : ranks_.local_ranks()) set_actions(k, rank);
  }

  model_trainer(const model_trainer&) = delete;
  model_trainer& operator=(const model_trainer&) = delete;
  // After a failure calls may still be under way in memory of the stages.
  ~model_trainer() {
    if constexpr (requires { ranks_.leave(); }) ranks_.leave();
    ends_.clear();
  }

  // Each rank that lives here will hold this; prepare() takes exactly that.
  std::vector<rank_memory> forecast() const { return placed_.forecast(); }
  // Over these steps, where rooms follow rows; and what the rooms have grown to.
  auto forecast(std::span<const std::vector<const void*>> steps) { return placed_.forecast(steps); }
  const auto& rooms() const { return placed_.rooms(); }
  // Takes all memory, draws the weights and makes the threads.
  void prepare() {
    try {
      placed_.prepare();
    } catch (const error& problem) {
      isize foretold = 0;
      for (const rank_memory& each : forecast()) foretold += each.total();
      throw error(problem, sentence({"the memory of the ranks here, foretold as ", foretold, " bytes"}));
    }
    placed_.homes().meet_lanes();
    updates_.clear();
    updates_.resize(static_cast<std::size_t>(of().ranks()));
    draw_weights();
    begin_averages();
    placed_.each_piece([&](std::int32_t rank, piece_type piece, const auto& sums) {
      if (piece.gradients == nullptr || !config_.update) return;
      auto& there = updates_[static_cast<std::size_t>(rank)];
      const std::int32_t all = ranks_.updaters();
      if (!there)
        there = std::make_unique<update_type>(placed_.home(rank), learning{config_.optimizer, config_.ema},
                                              model_.loss_numbers, all, ranks_.member(all, rank),
                                              ranks_.members(all));
      if (piece.loss >= 0) {
        const join_outline& of = model_.joins[static_cast<std::size_t>(piece.loss)];
        there->hold_loss(std::move(piece), of.limit, of.numbers);
      } else if (sums.ring != nullptr) there->hold(std::move(piece), *sums.ring);
      else if (sums.reduction != nullptr) there->hold(std::move(piece), *sums.reduction);
      else there->hold(std::move(piece));
    });
    for (auto& each : updates_)
      if (each) each->prepare();
    if (shares_.clock() != nullptr)
      for (const std::int32_t rank : ranks_.local_ranks())
        for (std::int32_t k = 0; k < scores(); ++k) ranks_.player(rank, k).clock(shares_.clock());
    shares_.forget();
    ranks_.start();
    steps_ = 0;
    clean_ = false;
    prepared_ = true;
  }

  // The inputs of the step after the next one, which stay as they are until it has returned: ranks that have
  // room for them (rank_options) take them during the next one.
  void expect(std::span<const void* const> inputs) { placed_.expect(inputs); }
  // One step, of inputs that lie there, module after module, at a rate that is the same in all processes:
  // that of the first step is compared. The loss is the mean over the program's groups. When a number is not
  // finite: MT-R01, and the weights are as before. by: the score that is played, the same in all processes,
  // or none goes on (MT-R72).
  step_result step(std::span<const void* const> inputs, double rate, timeline* record = nullptr,
                   const picked_score& by = {}) {
    const auto started = std::chrono::steady_clock::now();
    if (!prepared_) fail(bad_training_option, "step() before prepare()");
    // Ranks elsewhere may have been told another one; those that live here were not.
    const bool all_here = static_cast<std::int32_t>(ranks_.local_ranks().size()) == of().ranks();
    if (!std::exchange(begun_, true) && !all_here) require_same_rate(rate);
    take_up(by, all_here);
    refuse_together(ranks_, config_.each.rooms.most > 0, [&] { placed_.cut(inputs); });
    ranks_.run([&](std::int32_t rank) { begin(rank, rate); }, record);
    step_result result;
    result.rate = rate;
    result.score = by.score;
    std::fill(told_.begin(), told_.end(), 0.0);  // loss and norm, and of several losses each
    for (std::size_t r = 0; r < updates_.size(); ++r)
      if (updates_[r] && ranks_.member(ranks_.updaters(), static_cast<std::int32_t>(r)) == 0)
        told_[1] = updates_[r]->norm();
    told_[0] = updates_.front() && updates_.front()->is_alone() ? updates_.front()->loss() : placed_.loss();
    for (std::size_t j = 0; j < parts_.size(); ++j) told_[2 + j] = placed_.loss(j);
    ranks_.sum(told_.data(), static_cast<isize>(told_.size()));
    result.loss = told_[0];
    result.gradient_norm = told_[1];
    for (std::size_t j = 0; j < parts_.size(); ++j)
      parts_[j].loss = told_[2 + j] / model_.joins[j].facts.weight;
    result.parts = parts_;
    clean_ = false;
    if (config_.update) {
      clean_ = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
      if (!clean_)
        report_not_finite<master>(model_.names, bad_samples_of(model_, inputs), parameters_, weights().data(),
                                  model_.parameter_size, gradients().data(), model_.trainable_size,
                                  result.loss, steps_);
      ++steps_;
    }
    if (shares_.end_step(ranks_)) placed_.split(shares_.splits());
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
  }

  const program& of(std::int32_t score = 0) const { return ranks_.sheets()[score].of; }
  std::int32_t scores() const { return ranks_.sheets().size(); }
  const model_outline& model() const { return model_; }
  Host& ranks() { return ranks_; }
  const std::vector<parameter>& parameters() const { return parameters_; }
  isize updates() const { return steps_; }
  void set_updates(isize updates) { steps_ = updates; }
  // A module that a rank of this process holds whole. None: no rank does, or ranks live elsewhere, which may
  // not hold it and would have to be told: all processes do the same.
  auto find_whole(std::size_t module) const {
    return static_cast<std::int32_t>(ranks_.local_ranks().size()) == of().ranks() ? placed_.find_whole(module)
                                                                                  : whole_module<master>{};
  }
  // Others compute between steps with what a lane of a rank that lives here has.
  typename Device::context between_steps(std::int32_t rank, std::int32_t lane = 0) const {
    return placed_.home(rank, lane).between_steps();
  }
  // Seconds by section since the last clear, of all ranks that live here, where threads of the host compute.
  step_costs costs() const { return placed_.costs(); }
  void clear_costs() {
    placed_.homes().each([](auto& own) { own.costs.clear(); });
  }
  // The most that the slots of each rank's stages held, to compare with what was planned.
  std::vector<isize> used_of_slots() const { return placed_.used_of_slots(); }
  // Samples that each replica of a module has of a group in the next step.
  const list<isize>& shares(isize module) const { return shares_.of(module); }
  // All processes call this alike, between steps. Loss and weights do not depend on it.
  void set_shares(isize module, const list<isize>& to) {
    if (!prepared_) fail(bad_training_option, "set_shares() before prepare()");
    if (!model_.edges.empty())
      fail(bad_training_option, "set_shares() of a module that feeds another, or is fed");
    shares_.set(module, to);
    placed_.split(shares_.splits());
  }
  // Lanes have these shares of their ranks' threads, or multiprocessors, from the next step on, after
  // prepare().
  void share_lanes(const std::vector<double>& shares) { placed_.share_lanes(shares); }
  // What a rank that lives here, or all of them, write to checkpoints and read from them between steps. Who
  // changes numbers calls write_back().
  static constexpr std::int32_t all_ranks = -1;
  host_pieces<typename Device::context, master> pieces(std::int32_t wanted = all_ranks) const {
    host_pieces<typename Device::context, master> found;
    placed_.each_piece([&](std::int32_t rank, piece_type piece, const auto&) {
      if (wanted == all_ranks || rank == wanted) found.add(placed_.home(rank).ctx, rank, std::move(piece));
    });
    return found;
  }

  // All is in the model's flat order, between steps; gradients where steps do not update. Every rank gets it,
  // and all call.
  std::vector<master> weights() {
    return gathered(model_.parameter_size,
                    [](const piece_type& piece, isize at) { return weight_of(piece, at); });
  }
  std::vector<master> gradients() {
    std::vector<master> flat(static_cast<std::size_t>(model_.trainable_size), master(0));
    collect(flat, [](const piece_type& piece, isize at) {
      return piece.gradients != nullptr ? piece.gradients + (piece.sums_only ? moments_of(piece, at) : at)
                                        : nullptr;
    });
    // Those of losses' numbers come in parts; the owner's are there.
    for (const std::int32_t r : ranks_.local_ranks())
      for (const auto& [from, at, owned] : placed_.loss_gradients_on(r))
        for (isize i = 0; !owned && i < at.size(); ++i)
          flat[static_cast<std::size_t>(model_.loss_at + at.begin + i)] +=
              number_at(placed_.home(r).ctx, from + i);
    ranks_.sum(flat.data(), static_cast<isize>(flat.size()));
    return flat;
  }
  // The moving averages of weights, and what does not learn as it is; where there are none, MT-R02.
  std::vector<master> averages() {
    if (!has_averages()) fail(bad_training_option, "averages of weights, of a run with ema = 0");
    std::vector<master> flat = weights(), learns = moments(&piece_type::average);
    std::copy(learns.begin(), learns.end(), flat.begin());
    return flat;
  }
  bool has_averages() const { return config_.ema > 0; }
  optimizer_kind optimizer() const { return config_.optimizer.kind; }
  // They are the weights from now on.
  void begin_averages() {
    placed_.each_piece([&](std::int32_t rank, const piece_type& piece, const auto&) {
      begin_average(placed_.home(rank).ctx, piece);
    });
  }
  flat_state<master> state() {
    flat_state<master> all{weights(), moments(&piece_type::first), {}, steps_};
    if (config_.optimizer.kind != optimizer_kind::lion)
      all.second = moments(&piece_type::second, &owned_elements::seconds);
    if (has_averages()) all.average = moments(&piece_type::average);
    return all;
  }
  // Takes what another run left, by whatever program; after prepare().
  void set_state(const flat_state<master>& from) {
    set_weights(from.weights);
    const auto set = [&](std::span<const master> flat, master* piece_type::*what,
                         isize owned_elements::*where = &owned_elements::moments) {
      scatter(flat, model_.trainable_size,
              [what, where](const piece_type& piece, isize at, const master* data, isize count) {
                if (piece.*what == nullptr) return;
                for (isize i = 0; i < count; ++i)
                  if (const isize to = moments_of(piece, at + i, where); to >= 0) (piece.*what)[to] = data[i];
              });
    };
    set(from.first, &piece_type::first);
    if (config_.optimizer.kind != optimizer_kind::lion || !from.second.empty())
      set(from.second, &piece_type::second, &owned_elements::seconds);
    if (has_averages() && !from.average.empty()) set(from.average, &piece_type::average);
    steps_ = from.updates;
  }
  void set_weights(std::span<const master> from) {
    scatter(from, model_.parameter_size,
            [](const piece_type& piece, isize at, const master* data, isize count) {
              if (!piece.shares_only) std::copy_n(data, count, piece.weights + at);
              for (isize i = 0; piece.shares_only && i < count; ++i)
                if (master* const to = weight_of(piece, at + i); to != nullptr) *to = data[i];
            });
    begin_averages();
  }

 private:
  using endpoint = seen_by_stages<std::remove_reference_t<decltype(std::declval<Host&>().end(0))>>;
  using world = std::remove_reference_t<decltype(std::declval<Host&>().world())>;
  using group_set = typename world::group_set;
  using group_type = typename world::group;
  using placed_type = placed_model<typename Device::context, Numbers, endpoint, seen_by_stages<group_type>>;
  using update_type = rank_update<typename placed_type::home_type>;
  using piece_type = parameter_piece<master>;

  void set_actions(std::int32_t score, std::int32_t rank) {
    const program& plays = of(score);
    for (std::int32_t i = plays.starts[rank]; i < plays.starts[rank + 1]; ++i) {
      const action what = plays.instructions[i].what == op::optimizer_step ? action{&update, this}
                                                                           : placed_.action_of(i, score);
      if (what.run == nullptr) fail(program_does_not_fit, locate(plays, i) + " is not run by this trainer");
      ranks_.player(rank, score).set(i, what);
    }
  }
  // All ranks play this score in the next step. Of several, each rank tells the others which it picked, and
  // by which headers.
  void take_up(const picked_score& by, bool all_here) {
    // Of several, ranks elsewhere hear first of one that is not there: all refuse it, or none goes on.
    if (scores() > 1 && !all_here) picks_.compare(ranks_, by);
    if (by.score < 0 || by.score >= scores())
      fail(no_such_score, sentence({"score ", by.score, " was picked, there are ", scores()}));
    if (scores() == 1) return;
    ranks_.play(by.score);
    placed_.play(by.score);
  }
  // A rank's end of a group, one for all that it does in it.
  group_type* group(int set, std::int32_t number, std::int32_t rank) {
    if (set == 1) number += static_cast<std::int32_t>(groups_.compute().size());
    auto& own = ends_[{rank, number}];
    if (own) return own.get();
    own = std::make_unique<group_type>(group_set_, number, ranks_.end(rank));
    // Sums of gradients go on while backward does, where a rank only begins what it does.
    if constexpr (requires { own->go_beside(); })
      if (set == 1) own->go_beside();
    return own.get();
  }

  // Ranks of one process are there all at once, and before the first step their threads have nothing else to
  // do.
  void draw_weights() {
    std::vector<std::pair<std::int32_t, piece_type>> all;
    placed_.each_piece(
        [&](std::int32_t rank, piece_type piece, const auto&) { all.emplace_back(rank, std::move(piece)); });
    const auto draw = [&](isize i) {
      const auto& [rank, piece] = all[static_cast<std::size_t>(i)];
      auto ctx = placed_.home(rank).ctx;
      initialise(ctx, piece, config_.seed);
      finish(ctx);
    };
    if (config_.each.threads == 1)
      return in_parallel(static_cast<isize>(all.size()), draw,
                         works_on_host<typename Device::context> ? 0 : 1);
    for (auto& [rank, piece] : all)
      placed_.home(rank).together([&](typename Device::context& ctx, int) {
        initialise(ctx, piece, config_.seed);
        finish(ctx);
      });
  }

  void begin(std::int32_t rank, double rate) {
    using draws = decltype(Device::context::draws);
    placed_.begin_step(rank, draws{config_.seed, static_cast<std::uint64_t>(steps_), 0}, !clean_);
    if (auto& own = updates_[static_cast<std::size_t>(rank)]) own->begin_step(steps_, rate);
    else placed_.begin_sums(rank);
  }
  void require_same_rate(double rate) {
    run_identity same;
    same.add("learning rate of the first step", write_json(json(rate)));
    ranks_.require_same(same);
  }
  static bool update(void* self, const instruction& it, std::int32_t) {
    auto& all = *static_cast<model_trainer*>(self);
    const std::int32_t rank = all.of().place(all.of().voices[it.voice], it.stage);
    auto& own = *all.updates_[static_cast<std::size_t>(rank)];
    if (own.last_is_next()) all.placed_.bring_ahead(rank);
    double* const loss = own.last_is_next() ? all.placed_.loss_on(rank) : nullptr;
    return own.stage_ready(loss, all.placed_.loss_gradients_on(rank));
  }
  // address(piece, element) is where it lies; null: not there.
  template <class Address>
  void collect(std::vector<master>& flat, Address&& address) const {
    pieces().collect(offsets_, flat, address);
  }
  template <class Address>
  std::vector<master> gathered(isize size, Address&& address) {
    std::vector<master> flat(static_cast<std::size_t>(size), master(0));
    collect(flat, address);
    ranks_.sum(flat.data(), size);
    return flat;
  }
  std::vector<master> moments(master* piece_type::*what,
                              isize owned_elements::*where = &owned_elements::moments) {
    return gathered(model_.trainable_size, [what, where](const piece_type& piece, isize at) -> master* {
      const isize own = piece.*what != nullptr ? moments_of(piece, at, where) : -1;
      return own >= 0 ? piece.*what + own : nullptr;
    });
  }
  template <class Write>
  void scatter(std::span<const master> from, isize size, Write&& write) {
    if (!prepared_) fail(bad_training_option, "weights before prepare()");
    if (static_cast<isize>(from.size()) != size)
      fail(bad_training_option,
           "got " + std::to_string(from.size()) + " numbers for a buffer of " + std::to_string(size));
    pieces().scatter(offsets_, from, write);
  }

  const model_outline& model_;
  pipeline_config config_;
  std::vector<parameter> parameters_;
  parameter_offsets offsets_;  // of each parameter in the flat order
  Host ranks_;
  stage_groups groups_;
  group_set group_set_;
  // of each rank that lives here
  std::map<std::pair<std::int32_t, std::int32_t>, std::unique_ptr<group_type>> ends_;
  placed_type placed_;
  step_shares shares_;
  std::vector<std::unique_ptr<update_type>> updates_;  // of each rank that learns
  std::vector<loss_part> parts_;                       // where there are several losses
  std::vector<double> told_;
  score_picks picks_{of().ranks()};
  isize steps_ = 0;
  bool clean_ = false;  // gradients are zero
  bool prepared_ = false, begun_ = false;
};

// This trainer knows its model by type.
template <class Model, class Device, class Numbers, class Host>
class pipeline_trainer : public model_trainer<Device, Numbers, Host> {
 public:
  using base = model_trainer<Device, Numbers, Host>;
  using batch = typename Model::batch;

  pipeline_trainer(const score& order, pipeline_config config)
      : pipeline_trainer(std::span(&order, 1), std::move(config)) {}
  pipeline_trainer(std::span<const score> orders, pipeline_config config)
      : base(table_of_model<Model, typename Device::context, Numbers>, orders, std::move(config)) {}
  step_result step(const batch& whole, double rate, timeline* record = nullptr, const picked_score& by = {}) {
    return base::step(inputs_of<Model>(whole), rate, record, by);
  }
};

}  // namespace motet
