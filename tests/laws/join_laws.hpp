// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transport_laws.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/feeds/meeting_point.hpp>
#include <motet/runtime/ranks/meeting_members.hpp>
#include <motet/schedule/core/compile.hpp>

#include "deviation.hpp"

// Every join over any members must obey this: the loss, its numbers' gradients and those of all features are
// those of one rank with all samples.
namespace motet::laws {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 1, .heads = 1, .embedding = 4}>;
template <class Loss, bool... Frozen>
struct model_of_ears;
template <fixed_string Name, bool Frozen>
using ear_module = module<Name, std::conditional_t<Frozen, frozen<ear>, ear>>;
template <class Loss, bool A, bool B>
struct model_of_ears<Loss, A, B> {
  using type = model<join<Loss, ear_module<"a", A>, ear_module<"b", B>>>;
};
template <class Loss, bool A, bool B, bool C>
struct model_of_ears<Loss, A, B, C> {
  using type = model<join<Loss, ear_module<"a", A>, ear_module<"b", B>, ear_module<"c", C>>>;
};
template <class Loss, bool... Frozen>
using model_of = typename model_of_ears<Loss, Frozen...>::type;

// One that a user might write: the square of each product, times a learned number.
struct squared_products {
  static constexpr isize parameter_size = parameter_space(1);
  static void parameters(parameter_list& list) { list.vector("scale", 1, {fill::constant, 0.5f}); }
  static constexpr bool tells = false;

  template <class C, class M, class S>
  static double part(C& ctx, const M* w, M* g, const pair_part<S>& of, double share, const S*, const S*,
                     matrix<S> d_rows) {
    if (ctx.measuring()) return 0;
    double loss = 0;
    const double each = share / static_cast<double>(of.samples);
    for (const auto& piece : of.columns)
      for (isize i = 0; i < of.rows.rows; ++i)
        for (isize j = 0; j < piece.rows; ++j) {
          double product = 0;
          for (isize c = 0; c < piece.width; ++c)
            product += static_cast<double>(of.rows.row(i)[c] * piece.row(j)[c]);
          loss += each * *w * product * product;
          if (g != nullptr) *g += static_cast<M>(each * product * product);
          for (isize c = 0; d_rows && c < piece.width; ++c)
            d_rows.row(i)[c] += static_cast<S>(2 * each * *w * product) * piece.row(j)[c];
        }
    return loss;
  }
  template <class C, class M, class S>
  static double pair(C& ctx, const M* w, M* g, matrix<S> a, matrix<S> b, double share, matrix<S> da,
                     matrix<S> db) {
    const matrix<const S> left = a, right = b;
    const S* const none = nullptr;
    M* const nobody = nullptr;
    part(ctx, w, nobody, pair_part<S>{right, nullptr, {&left, 1}, a.rows}, share, none, none, db);
    return part(ctx, w, g, pair_part<S>{left, nullptr, {&right, 1}, b.rows}, share, none, none, da);
  }
};

// A program of one-stage voices, one for each seat, that does nothing but meet.
inline program program_of(const std::vector<join_seat>& seats, std::span<const bool> frozen, int ranks,
                          int groups) {
  score out;
  std::int32_t next = 0;
  for (const join_seat& each : seats) {
    voice made;
    made.module = next++;  // of its own: nothing is reduced here
    made.group = static_cast<std::int32_t>(each.samples.size());
    made.microbatches = groups * made.group;
    made.join = 0;
    made.learns = !frozen[static_cast<std::size_t>(each.module)];
    out.add(made, [&](int) { return each.rank; });
  }
  for (int r = 0; r < ranks; ++r) {
    out.rank();
    for (int g = 0; g < groups; ++g) {
      bool member = false;
      const auto all = [&](op what) {
        for (std::size_t v = 0; v < seats.size(); ++v) {
          if (seats[v].rank != r) continue;
          member = true;
          const int size = static_cast<int>(seats[v].samples.size());
          for (int m = g * size; m < (g + 1) * size; ++m)
            if (what == op::forward || !frozen[static_cast<std::size_t>(seats[v].module)])
              out.play(what, static_cast<int>(v), 0, m);
        }
      };
      all(op::forward);
      if (member) out.join(0, g);
      all(op::backward);
    }
  }
  return compile(out, {messages::in_channels, false});
}

// Module k ends on these ranks, twice where a rank comes twice; microbatches are intervals of any size, in
// any order.
inline std::vector<join_seat> drawn(const std::vector<std::vector<int>>& ranks, isize samples,
                                    std::uint64_t seed) {
  std::vector<join_seat> seats;
  std::uint64_t number = 0;
  const random_stream draw(seed, "seats");
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(draw.below(number++, static_cast<std::uint32_t>(bound)));
  };
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    std::vector<isize> cuts{0, samples};
    const std::size_t microbatches = 1 + below(3), all = microbatches * ranks[k].size();
    while (cuts.size() < all + 1)
      cuts.push_back(static_cast<isize>(below(static_cast<std::size_t>(samples) + 1)));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::size_t> order(all);
    for (std::size_t i = 0; i < all; ++i) order[i] = i;
    for (std::size_t i = all; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    for (std::size_t r = 0; r < ranks[k].size(); ++r) {
      join_seat seat{ranks[k][r], static_cast<isize>(k), 0, {}};
      for (std::size_t m = 0; m < microbatches; ++m) {
        const std::size_t which = order[r * microbatches + m];
        seat.samples.push_back({cuts[which], cuts[which + 1]});
      }
      seats.push_back(std::move(seat));
    }
  }
  return seats;
}

inline const std::vector<std::vector<std::vector<int>>> members_of_three{
    {{0}, {1}, {2}},          {{2}, {0}, {1}},       {{0}, {0}, {1}},       {{2}, {2}, {2}},
    {{0, 1}, {0, 1}, {0, 1}}, {{0, 1}, {2}, {2, 3}}, {{1, 1, 0}, {3}, {0}}, {{2, 0, 3}, {1, 3}, {1, 4}}};

// A join and its samples, the same on all ranks; and what one rank finds with all of them.
template <class Model, class Numbers>
struct join_problem {
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  static constexpr isize size = Model::loss::parameter_size, width = Model::embedding;

  std::vector<join_seat> seats;
  isize samples, groups;
  score_sheet sheet;
  join_layout layout;
  meeting_members members;
  std::vector<master> numbers;
  std::vector<std::vector<stream>> tables, gradients;  // of each module
  double loss = 0;
  std::vector<master> d_numbers;

  join_problem(std::vector<join_seat> of, int ranks, isize in_group, isize group_count)
      : seats(numbered(std::move(of))),
        samples(in_group),
        groups(group_count),
        sheet(program_of(seats, Model::frozen, ranks, static_cast<int>(groups))),
        layout(seats, samples),
        members(sheet) {}
  // The seats get other samples, for which all ranks then lie out anew. Microbatches have up to so many as in
  // `largest`.
  void change(std::vector<join_seat> to) {
    seats = numbered(std::move(to));
    layout = join_layout(seats, samples);
  }
  std::vector<join_seat> largest;

  void draw(std::uint64_t turn) {
    numbers.assign(static_cast<std::size_t>(size),
                   static_cast<master>(0.5 + 0.25 * static_cast<double>(turn)));
    d_numbers.assign(numbers.size(), master(0));
    tables.assign(Model::size, {});
    gradients.assign(Model::size,
                     std::vector<stream>(static_cast<std::size_t>(samples * groups * width), stream(0)));
    for (std::size_t k = 0; k < Model::size; ++k) {
      const random_stream from(turn, k);
      for (std::size_t i = 0; i < gradients[k].size(); ++i)
        tables[k].push_back(static_cast<stream>(0.6 * from.normal(i)));
    }
    cpu::device device(1);
    const auto run = [&](auto& ctx) {
      loss = 0;
      for (isize g = 0; g < groups; ++g)
        for (std::size_t i = 0; i < Model::size; ++i)
          for (std::size_t j = i + 1; j < Model::size; ++j) {
            const auto rows = [&](std::vector<stream>& of) {
              return matrix<stream>{of.data() + g * samples * width, samples, width, width};
            };
            const auto slope = [&](std::size_t k) {
              return Model::frozen[k] ? matrix<stream>{} : rows(gradients[k]);
            };
            loss +=
                Model::loss::pair(ctx, numbers.data(), d_numbers.data(), rows(tables[i]), rows(tables[j]),
                                  Model::joins[0].share / static_cast<double>(groups), slope(i), slope(j));
          }
    };
    device.prepare(device.dry_run(run));
    device.run(run);
  }
  bool learns(std::int32_t rank) const {
    bool found = false;
    for (const join_seat& each : seats)
      found = found || (each.rank == rank && !Model::frozen[static_cast<std::size_t>(each.module)]);
    return found;
  }
  // Visits what a rank brings: (seat, group, microbatch, where its features begin in the module's table).
  template <class Visit>
  void each_part(std::int32_t rank, Visit visit) const {
    for (const join_seat& seat : seats)
      for (isize g = 0; g < groups && seat.rank == rank; ++g)
        for (std::size_t m = 0; m < seat.samples.size(); ++m)
          visit(seat, g, static_cast<isize>(m), (g * samples + seat.samples[m].begin) * width);
  }

 private:
  static std::vector<join_seat> numbered(std::vector<join_seat> of) {
    for (std::size_t v = 0; v < of.size(); ++v) of[v].voice = static_cast<std::int32_t>(v);
    return of;
  }
};

// One rank of it. A rank without a seat has nothing to do.
template <class Model, class Numbers, class Endpoint>
class join_rank {
 public:
  using problem_type = join_problem<Model, Numbers>;
  using point_type = meeting_point<cpu::context, Numbers, Endpoint>;

  join_rank(const problem_type& of, std::int32_t rank, Endpoint& end) : of_(of), rank_(rank), end_(end) {
    home_.rank = rank;
    home_.end = &end;
    home_.sheet = &of.sheet;
    if (of.layout.member(rank) < 0) return;
    point_ = std::make_unique<point_type>(table_of_model<Model, cpu::context, Numbers>, home_, of.layout,
                                          of.groups);
    const auto needs = of.largest.empty()
                           ? point_->measure()
                           : point_type(table_of_model<Model, cpu::context, Numbers>, home_,
                                        join_layout::at_most(of.largest, of.samples), of.groups)
                                 .measure();
    home_.prepare(needs.work, needs.scratch);
    point_->prepare(needs);
  }
  void lay_out() {
    if (point_) point_->lay_out();
  }
  point_type* point() const { return point_.get(); }

  // A step, begun on the transport already.
  void step() {
    worst = {};
    loss = 0;
    numbers.assign(static_cast<std::size_t>(problem_type::size), 0.0);
    if (!point_) return;
    if (point_->is_owner()) std::copy(of_.numbers.begin(), of_.numbers.end(), point_->weights());
    point_->begin_step();
    of_.each_part(rank_, [&](const join_seat& seat, isize g, isize m, isize from) {
      const auto k = static_cast<std::size_t>(seat.module);
      const auto to = point_->features_of(k, seat.voice, g, m);
      demand(to.rows == seat.samples[static_cast<std::size_t>(m)].size(),
             "features have a row for each sample");
      std::copy_n(of_.tables[k].data() + from, to.rows * to.width, to.data);
    });
    const program& all = of_.sheet.of;
    for (std::int32_t i = all.starts[rank_]; i < all.starts[rank_ + 1]; ++i) {
      if (all.instructions[i].what != op::join) continue;
      const action what = point_->join_action();
      until(end_, [&] { return what.run(what.stage, all.instructions[i], i); });
    }
    loss = *point_->loss();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(point_->gradients()[i]);
    of_.each_part(rank_, [&](const join_seat& seat, isize g, isize m, isize from) {
      const auto k = static_cast<std::size_t>(seat.module);
      if (Model::frozen[k]) return;
      double most = 0;
      for (const auto each : of_.gradients[k]) most = std::max(most, std::abs(static_cast<double>(each)));
      const auto got = point_->gradients_of(k, seat.voice, g, m);
      for (isize i = 0; i < got.rows * got.width; ++i)
        worst.add(std::abs(static_cast<double>(got.data[i] -
                                               of_.gradients[k][static_cast<std::size_t>(from + i)])) /
                      most,
                  static_cast<double>(got.data[i]),
                  static_cast<double>(of_.gradients[k][static_cast<std::size_t>(from + i)]),
                  [&] { return "module " + std::to_string(k) + ", element " + std::to_string(from + i); });
    });
  }

  // The step gave this rank's parts, and the largest error of its features' gradients, relative to the
  // largest of the module.
  double loss = 0;
  deviation worst;
  std::vector<double> numbers;

 private:
  const problem_type& of_;
  std::int32_t rank_;
  Endpoint& end_;
  rank_state<cpu::context, Numbers, Endpoint> home_;
  std::unique_ptr<point_type> point_;
};

}  // namespace motet::laws
