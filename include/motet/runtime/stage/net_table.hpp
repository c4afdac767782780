// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/net_outline.hpp>

#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

namespace motet {

// The rows at both ends of a stage, their widths known when it runs; tower_stage::ends says which are there.
// Rows of another module come in as x, and rows for one go out as y; dx is none where nobody wants it. Where
// several are fed, each brings gradients: dy is the first of the copies, which lie one behind the other,
// until add_gradients().
template <class Numbers>
struct stage_ends {
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  matrix<const stream> x{};
  matrix<stream> y{};
  matrix<master> features{};
  matrix<const stream> dy{};
  matrix<const master> d_features{};
  matrix<stream> dx{};
  matrix<stream> copies{};
  bool feeds_back = true;  // gradients of rows that enter the module are wanted
};

// Kept views are what a stage's forward keeps for its backward: views of memory that is reserved elsewhere,
// in a type that its net alone knows.
class kept_views {
 public:
  kept_views() = default;
  template <class Saved>
  static kept_views of() {
    static_assert(std::is_trivially_copyable_v<Saved> && alignof(Saved) <= alignof(word),
                  "motet: a stage keeps views, and nothing else");
    kept_views made;
    made.words_.resize((sizeof(Saved) + sizeof(word) - 1) / sizeof(word));
    ::new (made.words_.data()) Saved();
    return made;
  }
  template <class Saved>
  Saved& as() {
    return *std::launder(reinterpret_cast<Saved*>(words_.data()));
  }

 private:
  using word = std::uint64_t;
  std::vector<word> words_;
};

// The table has what a stage of a net does, whatever the net: the only place where the runtime meets the
// net's type. Microbatches are those that the outline made.
template <class Context, class Numbers>
struct net_table {
  using ends = stage_ends<Numbers>;
  const net_outline* of = nullptr;
  kept_views (*views)() = nullptr;
  void (*reserve)(Context&, stage_range, const any_microbatches&, isize m, kept_views&, tensor_cut) = nullptr;
  void (*infer)(Context&, stage_range, weights<Numbers>, const any_microbatches&, isize m,
                const ends&) = nullptr;
  void (*forward)(Context&, stage_range, weights<Numbers>, const any_microbatches&, isize m, const ends&,
                  kept_views&) = nullptr;
  void (*backward)(Context&, stage_range, weights<Numbers>, const any_microbatches&, isize m, const ends&,
                   kept_views&, gradients<Numbers>) = nullptr;
  void (*backward_input)(Context&, stage_range, weights<Numbers>, const any_microbatches&, isize m,
                         const ends&, kept_views&) = nullptr;
  void (*backward_weight)(Context&, stage_range, weights<Numbers>, const any_microbatches&, isize m,
                          const ends&, kept_views&, gradients<Numbers>) = nullptr;

  bool is_first(stage_range r) const { return of->is_first(r); }
  bool is_last(stage_range r) const { return of->is_last(r); }
};

namespace detail {

// Rows whose width is known, without the last ones; none where there are none.
template <class T, isize Width>
void put(view<T, Width>& out, const matrix<T>& in, isize less = 0) {
  if (in.data != nullptr) out = {in.data, in.rows - less, in.stride};
}

template <class Net, class Context, class Numbers>
struct net_tables {
  using stage = typename Net::stage;
  using stream = typename Numbers::stream;
  using ends = stage_ends<Numbers>;
  using typed_ends = typename stage::template ends<Numbers>;
  using saved = typename stage::template saved<Numbers>;

  static const typename Net::input& input(const any_microbatches& of, isize m) {
    return static_cast<const replica_microbatches<Net>&>(of)[m];
  }
  // The first stage has the rows that enter it beside the input; those behind it have them behind their own
  // rows, where blocks look at them.
  static decltype(auto) input(const any_microbatches& of, isize m, stage_range range, const ends& e) {
    if constexpr (takes_rows<Net> > 0) {
      typename Net::input with = input(of, m);
      if (net_outlines<Net>::all.is_first(range)) with.entering = {e.x.data, e.dx.data};
      else if constexpr (looks_beside<Net>)
        with.entering = {e.x.data + own_numbers(of, m),
                         e.feeds_back && e.dx.data != nullptr ? e.dx.data + own_numbers(of, m) : nullptr};
      return with;
    } else {
      return input(of, m);
    }
  }
  static isize own_numbers(const any_microbatches& of, isize m) { return of.rows(m).rows() * stage::width; }
  // Rows that blocks look at go on as they came.
  static void hand_on(Context& ctx, stage_range range, const any_microbatches& of, isize m, const ends& e) {
    if constexpr (looks_beside<Net>) {
      if (net_outlines<Net>::all.is_last(range)) return;
      const typename Net::input with = input(of, m, range, e);
      copy(ctx, static_cast<const stream*>(with.entering.rows), e.y.data + own_numbers(of, m),
           with.entering_count() * takes_rows<Net>);
    }
  }
  // Blocks of this stage add to the gradients of such rows that those behind it have found; the last stage
  // begins.
  static void take_back(Context& ctx, stage_range range, const any_microbatches& of, isize m, const ends& e) {
    if constexpr (looks_beside<Net>) {
      const typename Net::input with = input(of, m, range, e);
      if (net_outlines<Net>::all.is_last(range) || with.entering.gradients == nullptr) return;
      copy(ctx, e.dy.data + own_numbers(of, m), static_cast<stream*>(with.entering.gradients),
           with.entering_count() * takes_rows<Net>);
      synchronize(ctx);
    }
  }
  // Adapters lie before the weights in a stage's buffer, and gradients are theirs.
  static weights<Numbers> apart(stage_range range, weights<Numbers> w) {
    if constexpr (adapters_of<Net> == 0) return w;
    else return {w.data + stage::adapters_of(range, w.cut).size(), w.cut, w.data};
  }
  static gradients<Numbers> apart(gradients<Numbers> g) {
    if constexpr (adapters_of<Net> == 0) return g;
    else return {nullptr, g.cut, g.data};
  }
  static typed_ends typed(const any_microbatches& of, isize m, stage_range range, const ends& e) {
    typed_ends to;
    const net_outline& own = net_outlines<Net>::all;
    const isize along = looks_beside<Net> ? own.rows_along(of.entering(m)) : 0;
    if (!own.is_first(range)) {
      put(to.x, e.x, along);
      put(to.dx, e.dx, along);
    }
    if (!own.is_last(range)) {
      put(to.y, e.y, along);
      put(to.dy, e.dy, along);
      return to;
    }
    if constexpr (gives_rows<Net>) {
      put(to.features, e.y);
      put(to.d_features, e.dy);
    } else {
      put(to.features, e.features);
      put(to.d_features, e.d_features);
    }
    return to;
  }

  static kept_views views() { return kept_views::of<saved>(); }
  static void reserve(Context& ctx, stage_range range, const any_microbatches& of, isize m, kept_views& into,
                      tensor_cut cut) {
    stage::template reserve<Numbers>(ctx, range, input(of, m), into.as<saved>(), cut);
  }
  static void infer(Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, isize m,
                    const ends& e) {
    hand_on(ctx, range, of, m, e);
    stage::infer(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e));
  }
  static void forward(Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of,
                      isize m, const ends& e, kept_views& kept) {
    hand_on(ctx, range, of, m, e);
    stage::forward(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                   kept.as<saved>());
  }
  static void backward(Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of,
                       isize m, const ends& e, kept_views& kept, gradients<Numbers> g) {
    take_back(ctx, range, of, m, e);
    stage::backward(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                    kept.as<saved>(), apart(g));
  }
  static void backward_input(Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of,
                             isize m, const ends& e, kept_views& kept) {
    take_back(ctx, range, of, m, e);
    stage::backward_input(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                          kept.as<saved>());
  }
  static void backward_weight(Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of,
                              isize m, const ends& e, kept_views& kept, gradients<Numbers> g) {
    stage::backward_weight(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                           kept.as<saved>(), apart(g));
  }

  static constexpr net_table<Context, Numbers> all{.of = &net_outlines<Net>::all,
                                                   .views = views,
                                                   .reserve = reserve,
                                                   .infer = infer,
                                                   .forward = forward,
                                                   .backward = backward,
                                                   .backward_input = backward_input,
                                                   .backward_weight = backward_weight};
};

}  // namespace detail

template <class Net, class Context, class Numbers>
inline constexpr const net_table<Context, Numbers>& table_of_net =
    detail::net_tables<Net, Context, Numbers>::all;

}  // namespace motet
