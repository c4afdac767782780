// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/module.hpp>
#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/compose/stage.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace motet {

// What a net is, whatever its type: sizes, parameters, and what its input may be. One for each type, made by
// the compiler.
struct net_outline {
  index layers = 0, width = 0, embedding = 0;
  std::vector<parameter> (*parameters_of)(std::string_view prefix, stage_range range,
                                          tensor_cut cut) = nullptr;
  // A stage's part of the flat buffer.
  interval (*span_of)(stage_range range, tensor_cut cut) = nullptr;
  std::vector<interval> (*gradient_parts)(stage_range range, tensor_cut cut) = nullptr;

  using make_microbatches = std::unique_ptr<any_microbatches> (*)(const sample_split& split, index replica,
                                                                  const spread_seat& at,
                                                                  const any_group& tensor,
                                                                  const any_group& context, index most);
  make_microbatches microbatches = nullptr;
  // Of an input of the net: its samples, whether it has no more than these and none is too long, how long one
  // may be, and where the first number lies that is not finite (a sample, or -1).
  index (*samples)(const void* input) = nullptr;
  bool (*fits)(const void* input, index samples) = nullptr;
  index (*longest)() = nullptr;
  index (*first_bad_sample)(const void* input) = nullptr;
  std::string (*unknown_tokens)(const void* input) = nullptr;  // in words; nothing where all are known
  // Whether the last stage reads the input, too: what is asked of each row, where samples have losses.
  bool tail_reads_input = false;
  // Whether it ends with rows for another module, and the width of those that it takes from one; 0: none.
  bool gives_rows = false;
  index takes_rows = 0;
};

// The rows at both ends of a stage, their widths known when it runs; tower_stage::ends says which are there.
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
  // Rows of another module, and where their gradients go; none where nobody wants them.
  matrix<const master> fed{};
  matrix<master> d_fed{};
};

// What a stage's forward keeps for its backward: views of memory that is reserved elsewhere, in a type that
// its net alone knows.
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

// What a stage of a net does, whatever the net: the only place where the runtime meets the net's type.
// Microbatches are those that the outline made.
template <class Context, class Numbers>
struct net_table {
  using ends = stage_ends<Numbers>;
  const net_outline* of = nullptr;
  kept_views (*views)() = nullptr;
  void (*reserve)(Context&, stage_range, const any_microbatches&, index m, kept_views&, tensor_cut) = nullptr;
  void (*infer)(Context&, stage_range, weights<Numbers>, const any_microbatches&, index m,
                const ends&) = nullptr;
  void (*forward)(Context&, stage_range, weights<Numbers>, const any_microbatches&, index m, const ends&,
                  kept_views&) = nullptr;
  void (*backward)(Context&, stage_range, weights<Numbers>, const any_microbatches&, index m, const ends&,
                   kept_views&, gradients<Numbers>) = nullptr;
  void (*backward_input)(Context&, stage_range, weights<Numbers>, const any_microbatches&, index m,
                         const ends&, kept_views&) = nullptr;
  void (*backward_weight)(Context&, stage_range, weights<Numbers>, const any_microbatches&, index m,
                          const ends&, kept_views&, gradients<Numbers>) = nullptr;

  bool is_first(stage_range r) const { return r.first == 0; }
  bool is_last(stage_range r) const { return r.last == of->layers; }
};

// What a trainer asks of a net: that ranks can hold it in stages, as towers can be held.
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
struct net_outlines {
  static_assert(
      staged_net<Net>,
      "motet: a trainer's nets have stages (Net::stage), as motet::tower and what is made of it have");
  using stage = typename Net::stage;
  using input = typename Net::input;
  using traits = input_traits<Net>;

  static constexpr net_outline all{
      stage::layers,
      stage::width,
      stage::embedding,
      [](std::string_view prefix, stage_range range, tensor_cut cut) {
        return stage::parameters_of(prefix, range, cut);
      },
      [](stage_range range, tensor_cut cut) {
        return interval{stage::parameter_begin(range, cut), stage::parameter_end(range, cut)};
      },
      [](stage_range range, tensor_cut cut) { return stage::gradient_parts(range, cut); },
      [](const sample_split& split, index replica, const spread_seat& at, const any_group& tensor,
         const any_group& context, index most) -> std::unique_ptr<any_microbatches> {
        return std::make_unique<replica_microbatches<Net>>(split, replica, at, tensor, context, most);
      },
      [](const void* of) { return traits::samples(*static_cast<const input*>(of)); },
      [](const void* of, index samples) { return traits::fits(*static_cast<const input*>(of), samples); },
      [] { return traits::longest(); },
      [](const void* of) { return first_bad_sample<Net>(*static_cast<const input*>(of)); },
      [](const void* of) { return unknown_tokens<Net>(*static_cast<const input*>(of)); },
      tail_reads<stage>,
      gives_rows<Net>,
      takes_rows<Net>};
};

template <class Net, class Context, class Numbers>
struct net_tables {
  using stage = typename Net::stage;
  using ends = stage_ends<Numbers>;
  using typed_ends = typename stage::template ends<Numbers>;
  using saved = typename stage::template saved<Numbers>;

  static const typename Net::input& input(const any_microbatches& of, index m) {
    return static_cast<const replica_microbatches<Net>&>(of)[m];
  }
  // With the rows that enter it.
  static decltype(auto) input(const any_microbatches& of, index m, const ends& e) {
    if constexpr (takes_rows<Net> > 0) {
      typename Net::input with = input(of, m);
      with.entering = {e.fed.data, e.d_fed.data};
      return with;
    } else {
      return input(of, m);
    }
  }
  static typed_ends typed(const ends& e) {
    typed_ends to;
    const auto put = []<class T, index Width>(view<T, Width>& out, const matrix<T>& in) {
      if (in.data != nullptr) out = {in.data, in.rows, in.stride};
    };
    put(to.x, e.x);
    put(to.y, e.y);
    put(to.features, e.features);
    put(to.dy, e.dy);
    put(to.d_features, e.d_features);
    put(to.dx, e.dx);
    return to;
  }

  static constexpr net_table<Context, Numbers> all{
      &net_outlines<Net>::all,
      [] { return kept_views::of<saved>(); },
      [](Context& ctx, stage_range range, const any_microbatches& of, index m, kept_views& into,
         tensor_cut cut) {
        stage::template reserve<Numbers>(ctx, range, input(of, m), into.as<saved>(), cut);
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, index m,
         const ends& e) { stage::infer(ctx, range, w, input(of, m, e), typed(e)); },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, index m,
         const ends& e,
         kept_views& kept) { stage::forward(ctx, range, w, input(of, m, e), typed(e), kept.as<saved>()); },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, index m,
         const ends& e, kept_views& kept, gradients<Numbers> g) {
        stage::backward(ctx, range, w, input(of, m, e), typed(e), kept.as<saved>(), g);
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, index m,
         const ends& e, kept_views& kept) {
        stage::backward_input(ctx, range, w, input(of, m, e), typed(e), kept.as<saved>());
      },
      [](Context& ctx, stage_range range, weights<Numbers> w, const any_microbatches& of, index m,
         const ends& e, kept_views& kept, gradients<Numbers> g) {
        stage::backward_weight(ctx, range, w, input(of, m, e), typed(e), kept.as<saved>(), g);
      }};
};

}  // namespace detail

template <class Net>
inline constexpr const net_outline& outline_of_net = detail::net_outlines<Net>::all;
template <class Net, class Context, class Numbers>
inline constexpr const net_table<Context, Numbers>& table_of_net =
    detail::net_tables<Net, Context, Numbers>::all;

}  // namespace motet
