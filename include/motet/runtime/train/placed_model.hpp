// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/meeting_point.hpp>
#include <motet/runtime/ranks/score_sheets.hpp>
#include <motet/runtime/stage/layer_split.hpp>
#include <motet/runtime/stage/stage_seats.hpp>
#include <motet/runtime/train/connect_edges.hpp>
#include <motet/runtime/train/loss_numbers.hpp>
#include <motet/runtime/train/placed_stage.hpp>
#include <motet/runtime/train/rank_homes.hpp>
#include <motet/runtime/train/require_inputs.hpp>
#include <motet/runtime/train/step_long_rows.hpp>
#include <motet/runtime/train/step_rooms.hpp>

#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace motet {

// A model on some ranks of a program: every stage of every module that these hold, with the rows between
// them, the join behind them, and the sums of gradients over ranks. Each instruction has its action here, but
// updates.
template <class Context, class Numbers, class Endpoint, class Group>
class placed_model {
 public:
  using master = typename Numbers::master;
  using home_type = rank_state<Context, Numbers, Endpoint>;
  using model_type = model_table<Context, Numbers>;
  using point_type = meeting_point<Context, Numbers, Endpoint>;
  using piece_type = parameter_piece<master>;
  using reduction_type = gradient_reduction<master, Group, Context>;
  using ring_type = gradient_ring<master, Group, Context>;
  using end_finder = std::function<Endpoint&(std::int32_t)>;
  using group_finder = typename placed_stage<Context, Numbers, Endpoint, Group>::group_finder;
  // One of these sums the gradients of a stage over ranks; neither where it is alone.
  struct stage_sums {
    reduction_type* reduction = nullptr;
    ring_type* ring = nullptr;
  };

  // ranks: those that live here. end(rank) is that rank's end of the transport; group(set, number, rank) its
  // end of a group. choices: of each module, how: all of them learn. room: for which shares of the replicas
  // memory is planned.
  placed_model(const model_type& model, const score_sheets& sheets, isize samples,
               const std::vector<module_choice>& choices, std::span<const std::int32_t> ranks,
               const stage_groups& groups, const end_finder& end, const group_finder& group,
               const resplit_options& room = {}, const rank_options& each_rank = {}, const learning& how = {})
      : model_(model),
        sheets_(sheets),
        samples_(samples),
        groups_(groups_of_join(of())),
        stage_groups_(groups),
        how_(how),
        ahead_(each_rank.ahead),
        homes_(sheets[0], ranks, end, each_rank),
        rooms_(each_rank.rooms, homes_.ranks()),
        splits_(splits_of(of(), samples)),
        long_rows_(*model.of, of(), groups, choices),
        most_(most_of(splits_, room)) {
    require_batch(of(), splits_, samples, model.compares());
    const std::vector<program_room> rooms = rooms_of(sheets, stream_lanes<Endpoint>);
    split_ = split_voices(rooms);
    points_.resize(homes_.ranks());
    for (std::size_t module = 0; module < model.of->size(); ++module)
      for (isize v = 0; v < of().voices.size(); ++v)
        if (of().voices[v].module == static_cast<std::int32_t>(module))
          place(static_cast<std::int32_t>(v), module < choices.size() ? choices[module] : module_choice{},
                rooms, group);
    connect_edges(*model.of, of(), groups, splits_, choices, inputs_.data(), voices_, long_rows_.all());
    layouts_.resize(joins());
    if (room.most > 1) roomy_.resize(joins());
    for (std::size_t j = 0; j < joins(); ++j) {
      const auto join = static_cast<std::int32_t>(j);
      layouts_[j] = layout_of(of(), groups, splits_, join);
      if (room.most > 1) roomy_[j] = largest_layout_of(of(), groups, splits_, most_, join);
      for (const std::int32_t r : ranks)
        if (layouts_[j].member(r) >= 0) {
          auto& own = points_[as_size(r)];
          own.resize(joins());
          own[j] = std::make_unique<point_type>(model_, home(r), layouts_[j], groups_, j);
        }
    }
  }

  // Each rank that lives here will hold this; prepare() takes exactly that.
  std::vector<rank_memory> forecast() const {
    std::vector<rank_memory> found(homes_.ranks());
    each_stage([&](const auto& each) {
      rank_memory& own = found[as_size(each.stage->at().rank)];
      own.stages.add(each.stage->measure().own);
      own.packing += each.sums_bytes();
    });
    each_staged([&](std::int32_t rank, std::int32_t, const auto& parts, const auto& staged) {
      found[as_size(rank)].inputs += staged.bytes(parts);
    });
    each_point([&](std::int32_t r, std::size_t j, const point_type&) {
      found[as_size(r)].features += needs_of(r, j).features;
    });
    homes_.tell(temporaries_of_lanes(), found);
    for (std::size_t r = 0; r < points_.size(); ++r)
      if (sums_up(static_cast<std::int32_t>(r))) found[r].features += isize{sizeof(double)};
    return found;
  }
  // Where rooms follow rows, a rank's is the largest of these steps, each with the input of every module.
  std::vector<rank_memory> forecast(std::span<const std::vector<const void*>> steps) {
    std::vector<rank_memory> found = forecast();
    std::vector<std::pair<std::int32_t, std::span<const void* const>>> played;  // by each score
    for (const auto& inputs : steps)
      for (std::int32_t k = 0; k < sheets_.size(); ++k) played.emplace_back(k, inputs);
    rooms_.forecast(
        found, played,
        [&](const auto& step) {
          play(step.first);
          cut_parts(step.second);
        },
        *this);
    play(sheets_.playing());
    return found;
  }
  const step_rooms<Context>& rooms() const { return rooms_; }
  // Takes all memory, but for rooms that follow rows; weights are for the caller to fill.
  void prepare() {
    if (rooms_.by_rows()) rooms_.prepare(forecast());
    homes_.prepare(temporaries_of_lanes());
    numbers_.forget_gradients();
    each_point([&](std::int32_t r, std::size_t j, point_type& own) {
      own.prepare(needs_of(r, j));
      numbers_.find(r, j, own);
    });
    sums_.resize(homes_.ranks());
    for (std::size_t r = 0; r < sums_.size(); ++r)
      if (sums_up(static_cast<std::int32_t>(r))) sums_[r] = buffer_for<Context, double>(1);
    each_stage([&](auto& each) { each.prepare(each.stage->home().ctx); });
    each_staged([](std::int32_t, std::int32_t, const auto& parts, auto& staged) { staged.prepare(parts); });
    connect();
  }
  // Lanes have these shares of their ranks' threads, or multiprocessors, from now on. This is called
  // between steps, after prepare(), and takes memory for temporaries anew.
  void share_lanes(const std::vector<double>& to) {
    homes_.share(to);
    homes_.prepare(temporaries_of_lanes());
    each_stage([](auto& each) { each.stage->prepare_threads(each.stage->measure()); });
  }
  // Each module has its samples cut so.
  const list<sample_split>& splits() const { return splits_; }
  // The next cut() does so, and all after it. This is called between steps, on every rank the same.
  void split(const list<sample_split>& to) {
    splits_ = to;
    for (auto& each : voices_)
      for (auto& [rank, parts] : each.parts) parts->split(splits_[module_of(each)]);
    each_staged([&](std::int32_t, std::int32_t v, const auto&, auto& staged) {
      staged.split(splits_[of().voices[v].module]);
    });
    for (std::size_t j = 0; j < joins(); ++j)
      layouts_[j] = layout_of(of(), stage_groups_, splits_, static_cast<std::int32_t>(j));
    each_point([](std::int32_t, std::size_t, point_type& own) { own.lay_out(); });
    connect();
  }
  // The most that the slots of each rank's stages held, to compare with what was planned.
  std::vector<isize> used_of_slots() const {
    std::vector<isize> most(homes_.ranks(), 0);
    each_stage([&](const auto& each) {
      most[as_size(each.stage->at().rank)] += each.stage->used_of_slots() * each.stage->at().slots;
    });
    return most;
  }

  home_type& home(std::int32_t rank, std::int32_t lane = 0) const { return homes_.of(rank, lane); }
  const rank_homes<home_type>& homes() const { return homes_; }
  step_costs costs() const { return homes_.costs(); }
  // Gradients of losses that learn numbers, and that the rank brings something to; after prepare().
  std::span<const loss_gradients<master>> loss_gradients_on(std::int32_t rank) const {
    return numbers_.gradients_on(rank);
  }
  // A rank's part of the loss of the step that ends here, where operations work; null: it has none. Of
  // several losses this adds up what they have become.
  double* loss_on(std::int32_t rank) {
    double* const sum = sums_up(rank) ? sums_[as_size(rank)].data() : nullptr;
    if (sum != nullptr) zero(home(rank).ctx, sum, 1);
    for (const auto& each : points_[as_size(rank)]) {
      if (!each) continue;
      if (sum == nullptr) return each->loss();
      accumulate(home(rank).ctx, static_cast<const double*>(each->loss()), sum, 1);
    }
    return sum;
  }
  // No weights: no rank here holds the module whole.
  whole_module<master> find_whole(std::size_t module) const {
    for (const auto& each : voices_)
      if (module_of(each) == static_cast<std::int32_t>(module))
        if (const whole_module<master> found = each.find_whole(); found.weights != nullptr) return found;
    return {};
  }
  // visit(placed_stage), of those that live here, in the model's order.
  template <class Visit>
  void each_stage(Visit&& visit) const {
    for (auto& each : voices_)
      for (auto& own : each.held)
        if (own.stage) visit(own);
  }
  // visit(rank, piece, stage_sums), stages in the model's order, then the numbers of losses.
  template <class Visit>
  void each_piece(Visit&& visit) const {
    each_stage([&](const auto& each) {
      visit(each.stage->at().rank, each.piece(), stage_sums{each.reduction.get(), each.ring.get()});
      if (!each.resting.empty()) visit(each.stage->at().rank, each.resting_piece(), stage_sums{});
    });
    each_point([&](std::int32_t r, std::size_t j, const point_type& own) {
      if (numbers_.size(j) > 0 && own.is_owner()) visit(r, numbers_.piece(j, own), stage_sums{});
    });
  }

  // Called between steps: the next one plays this score.
  void play(std::int32_t score) {
    homes_.each([&](home_type& own) { own.sheet = &sheets_[score]; });
    each_stage([&](auto& each) { each.stage->play(score); });
  }
  // An instruction of a score does this; nothing for an update, or for what is not run here.
  action action_of(std::int32_t number, std::int32_t score = 0) {
    const program& plays = sheets_[score].of;
    const instruction& it = plays.instructions[number];
    if (it.what == op::join) return points_[as_size(plays.rank_of(number))][as_size(it.voice)]->join_action();
    for (auto& each : voices_) {
      if (each.voice != it.voice) continue;
      auto& own = each.held[as_size(it.stage)];
      return it.what == op::reduce_gradient ? own.sums_action() : own.stage->action_of(it.what);
    }
    return {};
  }

  // Called before each step: cuts the batch, of which each module's input lies there, into the program's
  // microbatches.
  void cut(std::span<const void* const> inputs) {
    cut_parts(inputs);
    if (rooms_.by_rows()) rooms_.lay_out(*this);
  }
  // The batch of the next step, which ranks with room for it take while this one runs.
  void expect(std::span<const void* const> inputs) {
    require(inputs);
    each_staged([&](std::int32_t, std::int32_t v, const auto&, auto& staged) {
      staged.expect(inputs[as_size(of().voices[v].module)]);
    });
  }
  void bring_ahead(std::int32_t rank) {
    each_staged([&](std::int32_t r, std::int32_t, const auto&, auto& staged) {
      if (r == rank) staged.bring_ahead(home(rank).ctx);
    });
  }
  // Throws unless cut() takes them.
  void require(std::span<const void* const> inputs) const {
    for (const auto& each : voices_) {
      const auto module = as_size(module_of(each));
      require_input(*model_.of, module, samples_, inputs[module]);
    }
    require_same_rows(*model_.of, samples_, inputs);
  }
  // The rank calls this on its own thread.
  template <class Draws>
  void begin_step(std::int32_t rank, const Draws& draws, bool zero_gradients) {
    homes_.each(rank, [&](home_type& own) {
      own.ctx.draws = draws;
      own.ctx.sample_share = 1.0 / static_cast<double>(samples_);
    });
    if constexpr (requires { home(rank).end->begin(home(rank).ctx); }) home(rank).end->begin(home(rank).ctx);
    each_staged([&](std::int32_t r, std::int32_t, auto& parts, auto& staged) {
      if (r == rank) staged.stage(home(rank).ctx, parts);
    });
    refresh_weights(home(rank).ctx);
    each_stage([&](auto& each) {
      if (each.stage->at().rank != rank) return;
      each.begin_step();
      each.stage->begin_step(zero_gradients);
    });
    for (const auto& each : points_[as_size(rank)])
      if (each) each->begin_step();
  }
  // A step without updates begins its sums here; others begin them themselves.
  void begin_sums(std::int32_t rank) {
    each_stage([&](auto& each) {
      if (each.stage->at().rank == rank) each.begin_sums();
    });
  }
  // A loss of the step that ended, with its weight, or the sum of all: the part of the ranks that live here.
  static constexpr auto every = static_cast<std::size_t>(-1);
  double loss(std::size_t join = every) const {
    double sum = 0;
    each_point([&](std::int32_t r, std::size_t j, const point_type& own) {
      if (join == every || j == join) sum += number_at(home(r).ctx, own.loss());
    });
    return sum;
  }
  std::size_t joins() const { return model_.of->joins.size(); }

 private:
  // What of a program is asked here is the cast's, and so that of every score.
  const program& of() const { return sheets_[0].of; }
  std::int32_t module_of(const placed_voice<Context, Numbers, Endpoint, Group>& one) const {
    return of().voices[one.voice].module;
  }
  void cut_parts(std::span<const void* const> inputs) {
    require(inputs);
    std::copy(inputs.begin(), inputs.end(), inputs_.begin());
    long_rows_.find(inputs, splits_);
    for (auto& each : voices_)
      for (auto& [rank, parts] : each.parts)
        long_rows_.cut(as_size(module_of(each)), *parts, inputs[as_size(module_of(each))]);
  }
  // visit(rank, voice, microbatches, staged inputs)
  template <class Visit>
  void each_staged(Visit&& visit) const {
    if constexpr (!works_on_host<Context>)
      for (auto& each : voices_)
        for (auto& [rank, staged] : each.staged) visit(rank, each.voice, *each.parts.at(rank), staged);
  }
  // visit(rank, join, meeting point), of those that live here.
  template <class Visit>
  void each_point(Visit&& visit) const {
    for (std::size_t r = 0; r < points_.size(); ++r)
      for (std::size_t j = 0; j < points_[r].size(); ++j)
        if (points_[r][j]) visit(static_cast<std::int32_t>(r), j, *points_[r][j]);
  }
  // A rank that is in several losses adds them up.
  bool sums_up(std::int32_t rank) const {
    const auto& all = points_[as_size(rank)];
    return std::count_if(all.begin(), all.end(), [](const auto& each) { return each != nullptr; }) > 1;
  }
  typename rank_homes<home_type>::room temporaries_of_lanes() const {
    auto found = homes_.no_room();
    for (const auto& voice : voices_)
      for (const auto& each : voice.held) {
        if (!each.stage) continue;
        auto& own = found[as_size(each.stage->at().rank)];
        own[as_size(lane_of(voice.voice))].cover(each.stage->measure());
        own[0].cover(update_needs<Context, master>(each.runs, home(each.stage->at().rank).threads));
      }
    each_point([&](std::int32_t r, std::size_t j, const point_type&) {
      found[as_size(r)][0].cover(needs_of(r, j));
    });
    return found;
  }
  std::int32_t lane_of(std::int32_t voice) const { return of().voices[voice].lane; }
  typename point_type::needs needs_of(std::int32_t rank, std::size_t join) const {
    if (roomy_.empty()) return points_[as_size(rank)][join]->measure();
    return point_type(model_, home(rank), roomy_[join], groups_, join).measure();
  }

  void place(std::int32_t v, const module_choice& choice, const std::vector<program_room>& rooms,
             const group_finder& group) {
    const voice& sings = of().voices[v];
    const auto module = as_size(sings.module);
    const std::string_view name = model_.of->names[module];
    const net_outline& net = *model_.of->nets[module];
    bool here = false;
    for (std::int32_t s = 0; s < sings.stages; ++s) here = here || homes_.live(of().place(sings, s));
    if (!here) return;
    auto& own = voices_.emplace_back();
    own.voice = v;
    own.held.resize(as_size(sings.stages));
    const std::vector<isize> layers = split_layers(name, net.layers, sings.stages, choice.layers);
    stage_position at;
    at.name = name.data();
    at.learns = sings.learns;
    at.fixed = sings.fixed;
    at.feeds_back = model_.of->feeds_back(module);
    at.cut = cut_of(sings, stage_groups_);
    at.splits = split_[as_size(v)] != 0;
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      at.rank = of().place(sings, s);
      at.range = {at.range.last, at.range.last + layers[as_size(s)]};
      if (!homes_.live(at.rank)) continue;
      at.targets = s + 1 == sings.stages ? model_.of->targets(module) : 1;
      at.brings_in = s == 0 && sorts_rows(*model_.of, stage_groups_, of(), module, false);
      at.hands_out = s + 1 == sings.stages && sorts_rows(*model_.of, stage_groups_, of(), module, true);
      at.recompute = choice.recompute;
      at.keep_outputs = choice.keep_outputs;
      at.remade = !choice.remade.empty() && choice.remade[as_size(s)] != 0;
      take_room(at, rooms, v, s, rooms_.by_rows());
      require_kept(at, s, name);
      auto& to = own.held[as_size(s)];
      to.parameters = net.parameters_of(name, at.range, at.cut);
      at.parameters = net.span_of(at.range, at.cut).size();
      to.resting = net.resting_of(name, at.range, at.cut);
      at.resting = net.resting_size(at.range, at.cut);
      to.join(net, stage_groups_, sings, s, choice, how_, at, group);
      const auto seat = seated(seat_of(sings, stage_groups_), choice, homes_.of(at.rank, sings.lane), to);
      const auto make_parts = [&] {
        return net.microbatches(splits_[sings.module], sings.replica, seat, any_or_none(to.tensor),
                                any_or_none(to.context), most_[sings.module]);
      };
      auto& parts = own.parts[at.rank];
      if (!parts) parts = make_parts();
      to.stage = std::make_unique<held_stage<Context, Numbers, Endpoint>>(homes_.of(at.rank, sings.lane),
                                                                          *model_.nets[module], at, *parts);
      const bool reads = s == 0 || (net.tail_reads_input && s + 1 == sings.stages);
      if (reads && !works_on_host<Context>) own.staged.try_emplace(at.rank, ahead_ ? make_parts() : nullptr);
    }
    for (std::size_t s = 0; s + 1 < own.held.size(); ++s) {
      auto &one = own.held[s].stage, &next = own.held[s + 1].stage;
      if (one && next && one->at().rank == next->at().rank) one->rows().connect(next->rows());
    }
  }
  // Tells last stages where their features go.
  void connect() {
    for (auto& each : voices_) {
      if (!each.held.back().stage || !model_.of->meets[as_size(module_of(each))]) continue;
      const voice& sings = of().voices[each.voice];
      const std::int32_t rank = each.held.back().stage->at().rank;
      each.connect(sings, *points_[as_size(rank)][as_size(sings.join)],
                   model_.of->member_of(as_size(sings.module)));
    }
  }

  const model_type& model_;
  const score_sheets& sheets_;
  isize samples_, groups_;
  const stage_groups& stage_groups_;
  std::vector<const void*> inputs_ = std::vector<const void*>(model_.of->size());  // of the step under way
  learning how_;
  bool ahead_;
  rank_homes<home_type> homes_;
  step_rooms<Context> rooms_;
  std::vector<std::vector<std::unique_ptr<point_type>>> points_;  // of last stages' ranks, one of each loss
  std::vector<buffer_for<Context, double>> sums_;                 // of those in several, what they add up to
  std::vector<std::uint8_t> split_;  // of each voice, whether its backward comes in two parts
  list<sample_split> splits_;        // of each module
  step_long_rows long_rows_;
  list<isize> most_;  // of each module, samples of a replica in a group that there is room for
  // of each loss, as it is, and where there is room for other shares, with the most of each
  std::vector<join_layout> layouts_, roomy_;
  loss_numbers<master> numbers_{*model_.of, how_, homes_.ranks()};
  mutable std::vector<placed_voice<Context, Numbers, Endpoint, Group>> voices_;  // in the model's order
};

}  // namespace motet
