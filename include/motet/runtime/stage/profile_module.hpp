// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/silent_group.hpp>
#include <motet/plan/cost/profile.hpp>
#include <motet/runtime/stage/random_input.hpp>
#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/strategy/rules.hpp>

#include <time.h>

namespace motet {

// The options say where a module is measured, and how long.
struct profile_options {
  std::vector<std::int32_t> degrees = {1};
  std::vector<isize> samples = {8, 16, 32};
  isize repeats = 5;      // of each part of a point, at least; medians count
  double seconds = 0.02;  // likewise
};

namespace detail {

// Time of this thread alone counts, not what other programs take of its processor.
inline double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The embedding, a block or the tail of a tower as a stage runs them, on this thread alone, with random
// numbers for what other parts would bring.
template <tower_part Which, class Net, class Context, class Numbers>
class timed_part {
 public:
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  using part = std::conditional_t<
      Which == tower_part::before, typename Net::embed,
      std::conditional_t<Which == tower_part::block, typename Net::body::block, typename Net::tail>>;
  // Rows of the stream go out, or features.
  using out_number = std::conditional_t<Which == tower_part::behind, master, stream>;
  static constexpr isize width = Net::stage::width,
                         out = Which == tower_part::behind ? Net::stage::embedding : width;

  timed_part(const replica_microbatches<Net>& parts, tensor_cut cut)
      : parts_(parts),
        cut_(cut),
        rows_(parts.rows(0)),
        out_rows_(Which == tower_part::behind ? rows_.samples : rows_.rows()),
        w_(layer::size<part>(cut)),
        g_(w_.size()),
        adapters_(layer::held_adapters<part>(cut)),
        d_adapters_(adapters_.size()),
        x_(rows_.rows() * width),
        dx_(x_.size()),
        y_(out_rows_ * out),
        dy_(y_.size()) {
    initialise(layer::parameters_of<part>("part", cut), 1, w_.data(), w_.size());
    initialise(layer::parameters_of<part>("part", cut, listed::adapters), 1, adapters_.data(),
               adapters_.size());
    for (const buffer<master>* each : {&g_, &d_adapters_}) std::fill_n(each->data(), each->size(), master(0));
    draw("x", x_, 1);
    draw("dy", dy_, 1e-3);
  }

  // FLOPs of a forward and a backward.
  double flops() const {
    std::remove_pointer_t<decltype(Context{}.costs)> costs;
    Context ctx;
    ctx.costs = &costs;
    train(ctx, nothing_between);
    return costs.flops();
  }

  // All threads of a team do it at once, each with a context of its own.
  void once(Context& ctx, bool learns) const { learns ? train(ctx, nothing_between) : infer(ctx); }

  part_times measure(bool learns, const profile_options& how) {
    isize memory = 0, scratch = 0;
    const auto cover = [&](auto&& body) {
      Context ctx;
      body(ctx);
      memory = std::max(memory, ctx.memory.peak());
      scratch = std::max(scratch, ctx.scratch.peak());
    };
    cover([&](Context& ctx) { once(ctx, learns); });
    if (learns) cover([&](Context& ctx) { train_in_two(ctx, nothing_between); });
    const buffer<std::byte> room(memory), own(scratch);
    const auto run = [&](auto&& body) {
      Context ctx;
      ctx.memory = arena_of(room);
      ctx.scratch = arena_of(own);
      body(ctx);
    };

    list<double> forward, backward, input, weight;
    list<double>* into = nullptr;
    double since = thread_seconds();
    // Files the time since the last call.
    const auto lap = [&](list<double>* next) {
      const double now = thread_seconds();
      if (into != nullptr) into->push(now - since);
      into = next;
      since = now;
    };
    const double started = thread_seconds();
    for (isize i = -1; i < how.repeats || thread_seconds() - started < how.seconds; ++i) {
      // The first one warms up.
      const auto of = [&](list<double>& times) { return i < 0 ? nullptr : &times; };
      if (!learns) {
        run([&](Context& ctx) {
          lap(of(forward));
          infer(ctx);
          lap(nullptr);
        });
        continue;
      }
      list<double>* const phases[] = {of(forward), of(backward), nullptr};
      run([&](Context& ctx) { train(ctx, [&](int phase) { lap(phases[phase]); }); });
      list<double>* const in_two[] = {of(forward), of(input), of(weight), nullptr};
      run([&](Context& ctx) { train_in_two(ctx, [&](int phase) { lap(in_two[phase]); }); });
    }
    // Most schedules run backward as one, which saves a little; its parts share it as they are alone.
    const double whole = median(backward), first = median(input), second = median(weight);
    const double share = first + second > 0 ? first / (first + second) : 0;
    return {median(forward), whole * share, whole * (1 - share)};
  }

 private:
  using saved_type = typename part::template saved<Numbers>;
  static constexpr auto nothing_between = [](int) {};

  template <class T>
  static void draw(std::string_view name, const buffer<T>& into, double scale) {
    const random_stream draws(1, name);
    for (isize i = 0; i < into.size(); ++i)
      into[i] = static_cast<T>(static_cast<float>(scale * draws.normal(static_cast<std::uint64_t>(i))));
  }
  weights<Numbers> w() const {
    return layer::part<part>(weights<Numbers>{w_.data(), cut_, adapters_.data()});
  }
  gradients<Numbers> g() const {
    return layer::part<part>(gradients<Numbers>{g_.data(), cut_, d_adapters_.data()});
  }
  view<const stream, width> x() const { return {x_.data(), rows_.rows()}; }  // (rows, width)
  view<stream, width> dx() const { return {dx_.data(), rows_.rows()}; }      // (rows, width)
  // (rows, width) or (samples, embedding)
  view<out_number, out> y() const { return {y_.data(), out_rows_}; }
  view<const out_number, out> dy() const { return {dy_.data(), out_rows_}; }  // likewise

  void forward(Context& ctx, saved_type& s) const {
    ctx.shared = parts_.shared(0);
    layer::reserve<part, Numbers>(ctx, rows_, s, cut_);
    if constexpr (Which == tower_part::before) part::forward(ctx, w(), parts_[0], y(), s);
    else part::forward(ctx, w(), rows_, x(), y(), s);
  }
  void backward_input(Context& ctx, saved_type& s) const {
    if constexpr (Which == tower_part::before) part::backward_input(ctx, w(), parts_[0], dy(), s);
    else part::backward_input(ctx, w(), rows_, x(), dy(), dx(), s);
  }
  void backward_weight(Context& ctx, saved_type& s) const {
    if constexpr (Which == tower_part::before) part::backward_weight(ctx, w(), parts_[0], dy(), s, g());
    else layer::backward_weight<part>(ctx, w(), rows_, x(), dy(), s, g());
  }
  void infer(Context& ctx) const {
    saved_type s;
    if constexpr (Which == tower_part::before) {
      forward(ctx, s);
    } else {
      ctx.shared = parts_.shared(0);
      layer::infer<part>(ctx, w(), rows_, x(), y());
    }
  }
  // phase(i) comes before the i-th part, and after the last.
  template <class Phase>
  void train(Context& ctx, Phase&& phase) const {
    saved_type s;
    phase(0);
    forward(ctx, s);
    phase(1);
    if constexpr (Which == tower_part::before) {
      backward_input(ctx, s);
      backward_weight(ctx, s);
    } else {
      layer::backward<part>(ctx, w(), rows_, x(), dy(), dx(), s, g());
    }
    phase(2);
  }
  template <class Phase>
  void train_in_two(Context& ctx, Phase&& phase) const {
    saved_type s;
    phase(0);
    forward(ctx, s);
    phase(1);
    backward_input(ctx, s);
    phase(2);
    backward_weight(ctx, s);
    phase(3);
  }

  const replica_microbatches<Net>& parts_;
  tensor_cut cut_;
  sequences rows_;
  isize out_rows_;
  buffer<master> w_, g_, adapters_, d_adapters_;
  buffer<stream> x_, dx_;
  buffer<out_number> y_, dy_;
};

}  // namespace detail

// Measures a module on this thread: what a rank's part of each layer takes at each degree and number of
// samples, exchanges left out. `of` says what else it stands for (tower_of). Every part is run alone, with
// the first member's cut of its parameters, which is no smaller than the others'. Of a net that says
// blocks_alone nothing is measured before and behind its blocks.
template <class Module, class Context, class Numbers>
module_profile profile_module(const tower_outline& of, const profile_options& how) {
  using net = typename Module::net;
  module_profile found;
  found.of = of;
  for (const std::int32_t degree : how.degrees) {
    if constexpr (requires { net::config.tower().attention.shape().kv_heads; }) {
      const isize most = net::config.tower().attention.shape().kv_heads;
      if (degree < 1 || degree > most)
        fail(*reason::too_many_tensor_parts,
             sentence({Module::name, " over ", degree, " ranks, wanted 1 to ", most}));
    }
    const spread_seat seat{degree, 0};
    silent_group others(degree, 0);
    const any_group group(others);
    const tensor_cut cut{degree, 0};
    for (const isize samples : how.samples) {
      if (samples < 1) fail(bad_training_option, std::to_string(samples) + " samples, wanted at least 1");
      const random_input<net> input(samples);
      replica_microbatches<net> parts({samples, 1, 1, 1}, 0, seat, group);
      parts.cut(input.all());
      const auto times = [&]<tower_part Which>() -> part_times {
        if constexpr (Which != tower_part::block && requires { requires net::blocks_alone; }) return {};
        else
          return detail::timed_part<Which, net, Context, Numbers>(parts, cut).measure(!Module::frozen, how);
      };
      add_point(found, {degree, static_cast<double>(samples), times.template operator()<tower_part::before>(),
                        times.template operator()<tower_part::block>(),
                        times.template operator()<tower_part::behind>()});
    }
  }
  return found;
}

}  // namespace motet
