// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/module.hpp>
#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/compose/stage.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>
#include <motet/runtime/stage/sharing_rule.hpp>

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace motet {

// An outline says what a net is, whatever its type: sizes, parameters, and what its input may be. The
// compiler makes one for each type.
struct net_outline {
  isize layers = 0, width = 0, embedding = 0;
  isize blocks = 0;  // layers may be halves of these
  std::vector<parameter> (*parameters_of)(std::string_view prefix, stage_range range,
                                          tensor_cut cut) = nullptr;
  // A stage's part of the flat buffer.
  interval (*span_of)(stage_range range, tensor_cut cut) = nullptr;
  std::vector<interval> (*gradient_parts)(stage_range range, tensor_cut cut) = nullptr;
  // Each of these asks for its weights by itself; none where a stage reads all where they lie.
  std::vector<interval> (*weight_parts)(stage_range range, tensor_cut cut) = nullptr;

  using make_microbatches = std::unique_ptr<any_microbatches> (*)(const sample_split& split, isize replica,
                                                                  const spread_seat& at,
                                                                  const any_group& tensor,
                                                                  const any_group& context, isize most);
  make_microbatches microbatches = nullptr;
  // These tell of an input of the net: its samples, whether it has no more than these and none is too long,
  // how long one may be, and where the first number lies that is not finite (a sample, or -1).
  isize (*samples)(const void* input) = nullptr;
  bool (*fits)(const void* input, isize samples) = nullptr;
  isize (*longest)() = nullptr;
  isize (*first_bad_sample)(const void* input) = nullptr;
  std::string (*unknown_tokens)(const void* input) = nullptr;  // in words; nothing where all are known
  // The last stage may read the input, too: what is asked of each row, where samples have losses.
  bool tail_reads_input = false;
  // It may end with rows for another module, and take rows of this width from one; 0: none.
  bool gives_rows = false;
  isize takes_rows = 0;
  // It gives, and takes from one of those that feed it, so many rows before a sample of an input; none where
  // it does not.
  isize (*rows_given)(const void* input, isize sample) = nullptr;
  isize (*rows_taken)(const void* input, isize source, isize sample) = nullptr;
  // Where ranks cut its samples, each takes the rows that enter its part; else they come where a sample is
  // whole.
  bool takes_parts = false;
  // visit(self, rows): of the rows that a source brings to a sample, the intervals that one of the parts
  // takes.
  using visit_rows = void (*)(void* self, interval rows);
  void (*rows_of_part)(const void* input, isize source, isize sample, const row_parts& cut, isize part,
                       void* self, visit_rows visit) = nullptr;
  // Likewise each gives the rows that it has made, and visit() is told which these are of a sample's.
  bool gives_parts = false;
  void (*rows_made_by_part)(const void* input, isize sample, const row_parts& cut, isize part, void* self,
                            visit_rows visit) = nullptr;
  // Where a net learns by adapters, its parameters are these. Its weights rest; a stage's buffer has so many
  // of them, behind its parameters.
  std::vector<parameter> (*resting_of)(std::string_view prefix, stage_range range, tensor_cut cut) = nullptr;
  isize (*resting_size)(stage_range range, tensor_cut cut) = nullptr;
  bool drops_by_rows = false;     // it draws what it drops by the numbers of rows in the step
  bool ends_share_table = false;  // one stage has both of its ends
  bool looks_beside = false;      // each of its blocks looks at the rows that enter
  // The sequences of the samples of an input, or, of none, those of one sample that is as long as any.
  counted_sequences (*counted)(const void* input) = nullptr;

  bool is_first(stage_range r) const { return r.first == 0; }
  bool is_last(stage_range r) const { return r.last == layers; }
  // Rows may come to a stage from another one, be it of another module, and go on to one; these say whether,
  // and how wide they are.
  bool comes_in(stage_range r) const { return !is_first(r) || takes_rows > 0; }
  bool goes_out(stage_range r) const { return !is_last(r) || gives_rows; }
  isize width_in(stage_range r) const { return is_first(r) ? takes_rows : width; }
  isize width_out(stage_range r) const { return is_last(r) ? embedding : width; }
  // A microbatch has so many of them. Modules that ranks share hand over rows of whole samples.
  isize rows_out(stage_range r, const any_microbatches& parts, isize m) const {
    if (!is_last(r)) return parts.rows(m).rows() + rows_along(parts.entering(m));
    return gives_rows ? parts.rows_that_go_on(m) : parts.rows(m).rows();
  }
  isize rows_in(stage_range r, const any_microbatches& parts, isize m) const {
    return is_first(r) ? parts.entering(m) : parts.rows(m).rows() + rows_along(parts.entering(m));
  }
  // Rows that blocks look at go along from stage to stage, behind those of the stage: their numbers take as
  // many rows more. So do their gradients, back.
  isize rows_along(isize entering) const {
    return looks_beside ? (entering * takes_rows + width - 1) / width : 0;
  }
};

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

// A trainer asks of a net that ranks can hold it in stages, as towers can be held.
template <class Net>
concept staged_net = requires {
  typename Net::input;
  typename Net::stage;
  Net::stage::layers;
  Net::stage::width;
  Net::stage::embedding;
};

namespace detail {

template <class Stage>
inline constexpr bool tail_reads =
    requires(const typename Stage::input& of) { Stage::tail::rows_of(of, of.seq); };

template <class Net>
isize rows_given(const typename Net::input& of, isize sample) {
  if constexpr (requires { input_traits<Net>::first_row(of, sample); })
    return input_traits<Net>::first_row(of, sample);
  else return Net::rows(of).begin(sample);
}
template <class Input>
isize rows_taken(const Input& of, isize source, isize sample) {
  if constexpr (requires { of.rows_that_enter(source); }) return of.rows_that_enter(source).begin(sample);
  else return 0;
}

template <class Net>
counted_sequences counted(const typename Net::input& of) {
  const sequences rows = Net::rows(of);
  if constexpr (requires { input_traits<Net>::bounds(of); }) return {rows, input_traits<Net>::bounds(of)};
  else return {rows, {rows.samples, nullptr}};
}

// Visits the sequences of a sample, one behind the other.
template <class Net, class Visit>
void rows_made_by_part(const typename Net::input& of, isize sample, const row_parts& cut, isize part,
                       Visit&& visit) {
  const sequences rows = Net::rows(of);
  interval own{sample, sample + 1};
  if constexpr (requires { input_traits<Net>::bounds(of); }) own = input_traits<Net>::bounds(of).of(own);
  isize before = 0;
  for (isize k = own.begin; k < own.end; before += rows.rows_of(k++))
    for (isize p = 0; p < cut.pieces(); ++p) {
      const interval piece = cut.piece(rows.rows_of(k), part, p);
      if (piece.size() > 0) visit(interval{before + piece.begin, before + piece.end});
    }
}

template <class Stage>
inline constexpr isize blocks_of = [] {
  if constexpr (requires { Stage::whole_blocks; }) return Stage::whole_blocks;
  else return Stage::layers;
}();

template <class Net>
struct net_outlines {
  static_assert(
      staged_net<Net>,
      "motet: a trainer's nets have stages (Net::stage), as motet::tower and what is made of it have");
  using stage = typename Net::stage;
  using input = typename Net::input;
  using traits = input_traits<Net>;
  static constexpr bool adapted = adapters_of<Net> > 0;
  static interval weights_of(stage_range range, tensor_cut cut) {
    return {stage::parameter_begin(range, cut), stage::parameter_end(range, cut)};
  }

  static constexpr net_outline all{
      stage::layers,
      stage::width,
      stage::embedding,
      blocks_of<stage>,
      [](std::string_view prefix, stage_range range, tensor_cut cut) {
        if constexpr (adapted) return stage::parameters_of(prefix, range, cut, listed::adapters);
        else return stage::parameters_of(prefix, range, cut);
      },
      [](stage_range range, tensor_cut cut) {
        if constexpr (adapted) return stage::adapters_of(range, cut);
        else return weights_of(range, cut);
      },
      [](stage_range range, tensor_cut cut) { return stage::gradient_parts(range, cut); },
      [](stage_range range, tensor_cut cut) {
        if constexpr (requires { stage::weight_parts(range, cut); }) return stage::weight_parts(range, cut);
        else return std::vector<interval>{};
      },
      [](const sample_split& split, isize replica, const spread_seat& at, const any_group& tensor,
         const any_group& context, isize most) -> std::unique_ptr<any_microbatches> {
        return std::make_unique<replica_microbatches<Net>>(split, replica, at, tensor, context, most);
      },
      [](const void* of) { return traits::samples(*static_cast<const input*>(of)); },
      [](const void* of, isize samples) { return traits::fits(*static_cast<const input*>(of), samples); },
      [] { return traits::longest(); },
      [](const void* of) { return first_bad_sample<Net>(*static_cast<const input*>(of)); },
      [](const void* of) { return unknown_tokens<Net>(*static_cast<const input*>(of)); },
      tail_reads<stage>,
      gives_rows<Net>,
      takes_rows<Net>,
      [](const void* of, isize sample) { return rows_given<Net>(*static_cast<const input*>(of), sample); },
      [](const void* of, isize source, isize sample) {
        return rows_taken(*static_cast<const input*>(of), source, sample);
      },
      takes_parts<Net>,
      [](const void* of, isize source, isize sample, const row_parts& cut, isize part, void* self,
         net_outline::visit_rows visit) {
        if constexpr (takes_parts<Net>)
          traits::rows_of_part(*static_cast<const input*>(of), source, sample, cut, part,
                               [&](interval rows) { visit(self, rows); });
      },
      gives_parts<Net>,
      [](const void* of, isize sample, const row_parts& cut, isize part, void* self,
         net_outline::visit_rows visit) {
        if constexpr (gives_parts<Net>)
          rows_made_by_part<Net>(*static_cast<const input*>(of), sample, cut, part,
                                 [&](interval rows) { visit(self, rows); });
      },
      [](std::string_view prefix, stage_range range, tensor_cut cut) {
        return adapted ? stage::parameters_of(prefix, range, cut) : std::vector<parameter>{};
      },
      [](stage_range range, tensor_cut cut) { return adapted ? weights_of(range, cut).size() : 0; },
      [] {
        if constexpr (requires { Net::drops_by_rows; }) return Net::drops_by_rows;
        else return false;
      }(),
      [] {
        if constexpr (requires { stage::ends_share_table; }) return stage::ends_share_table;
        else return false;
      }(),
      looks_beside<Net>,
      [](const void* of) {
        return counted<Net>(of == nullptr ? traits::largest(1) : *static_cast<const input*>(of));
      }};
};

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
    const auto put = []<class T, isize Width>(view<T, Width>& out, const matrix<T>& in, isize less = 0) {
      if (in.data != nullptr) out = {in.data, in.rows - less, in.stride};
    };
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

  static constexpr net_table<Context, Numbers> all{
      &net_outlines<Net>::all,
      [] { return kept_views::of<saved>(); },
      [](Context& ctx, stage_range range, const any_microbatches& of, isize m, kept_views& into,
         tensor_cut cut) {
        stage::template reserve<Numbers>(ctx, range, input(of, m), into.as<saved>(), cut);
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, isize m,
         const ends& e) {
        hand_on(ctx, range, of, m, e);
        stage::infer(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e));
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, isize m,
         const ends& e, kept_views& kept) {
        hand_on(ctx, range, of, m, e);
        stage::forward(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                       kept.as<saved>());
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, isize m,
         const ends& e, kept_views& kept, gradients<Numbers> g) {
        take_back(ctx, range, of, m, e);
        stage::backward(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                        kept.as<saved>(), apart(g));
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, isize m,
         const ends& e, kept_views& kept) {
        take_back(ctx, range, of, m, e);
        stage::backward_input(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                              kept.as<saved>());
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, isize m,
         const ends& e, kept_views& kept, gradients<Numbers> g) {
        stage::backward_weight(ctx, range, apart(range, w), input(of, m, range, e), typed(of, m, range, e),
                               kept.as<saved>(), apart(g));
      }};
};

}  // namespace detail

template <class Net>
inline constexpr const net_outline& outline_of_net = detail::net_outlines<Net>::all;
template <class Net, class Context, class Numbers>
inline constexpr const net_table<Context, Numbers>& table_of_net =
    detail::net_tables<Net, Context, Numbers>::all;

}  // namespace motet
