// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/runtime/stage/net_table.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <vector>

namespace motet {

// A loss of a model as data: the modules that meet in it, in the model's order, and through which of these
// nothing goes backward.
struct join_outline {
  std::span<const std::size_t> members;
  std::span<const bool> still;
  join_facts facts;
  interval numbers{};  // that it learns, among those of all losses
  number_limit limit{};
};

// A model as data: what ranks need to know of it, whatever its type.
struct model_outline {
  std::span<const std::string_view> names;
  std::span<const bool> frozen;
  std::span<const edge_ends> edges;
  // Gradients may go on through a module though it is frozen, and it may be in the loss.
  std::span<const bool> passes, meets;
  std::span<const join_outline> joins;
  std::span<const std::int32_t> join_of;  // each module that meets does so in this one
  std::span<const net_outline* const> nets;
  isize loss_at = 0, loss_numbers = 0;  // the numbers of all losses in the flat order
  isize trainable_size = 0, parameter_size = 0;
  std::vector<parameter> (*parameters)() = nullptr;
  std::vector<parameter> (*loss_parameters)() = nullptr;

  std::size_t size() const { return names.size(); }
  bool goes_back(std::size_t module) const { return !frozen[module] || passes[module]; }
  // The place of a module among those that it meets.
  std::size_t member_of(std::size_t module) const {
    const std::span<const std::size_t> all = joins[static_cast<std::size_t>(join_of[module])].members;
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), module) - all.begin());
  }
  // Says whether a module that feeds it wants gradients.
  bool feeds_back(std::size_t module) const {
    for (const edge_ends& each : edges)
      if (each.to == module && goes_back(each.from)) return true;
    return false;
  }
  // There are so many copies of the gradients of what a module gives: one of each module that it feeds.
  isize targets(std::size_t module) const {
    isize count = 0;
    for (const edge_ends& each : edges) count += each.from == module ? 1 : 0;
    return std::max<isize>(1, count);
  }
  // The edge between two modules, which is there.
  const edge_ends& edge_between(std::size_t from, std::size_t to) const {
    return *std::find_if(edges.begin(), edges.end(),
                         [&](const edge_ends& each) { return each.from == from && each.to == to; });
  }
};

// The table has what a loss does, whatever its type (model/join.hpp says what each means).
template <class Context, class Numbers>
struct loss_table {
  using master = typename Numbers::master;
  using real = typename Context::real;
  bool tells = false;
  // Samples with losses of their own have this sum, and nothing of what follows.
  real (*sum)(Context&, matrix<master> features, matrix<master> slopes, double weight) = nullptr;
  real (*pair)(Context&, const master* w, master* g, matrix<master> a, matrix<master> b, double share,
               matrix<master> da, matrix<master> db) = nullptr;
  real (*tell)(Context&, const master* w, master* g, const pair_part<master>& of, double share,
               master* numbers) = nullptr;
  real (*part)(Context&, const master* w, master* g, const pair_part<master>& of, double share,
               const master* own, const master* others, matrix<master> d_rows) = nullptr;
};

// The calls of a loss that ranks share, none of them inline: they may be compiled elsewhere.
template <class Loss, class Context, class Numbers>
struct pair_loss_calls {
  using master = typename Numbers::master;
  using real = typename Context::real;
  static_assert(spread_loss<Loss, Context, master, master>,
                "motet: a loss that ranks share lacks pair(), part(), or tell() where it tells [MT-M08]");

  static real pair(Context& ctx, const master* w, master* g, matrix<master> a, matrix<master> b, double share,
                   matrix<master> da, matrix<master> db);
  static real tell(Context& ctx, const master* w, master* g, const pair_part<master>& of, double share,
                   master* numbers);
  static real part(Context& ctx, const master* w, master* g, const pair_part<master>& of, double share,
                   const master* own, const master* others, matrix<master> d_rows);
};
template <class Loss, class Context, class Numbers>
typename Context::real pair_loss_calls<Loss, Context, Numbers>::pair(Context& ctx, const master* w, master* g,
                                                                     matrix<master> a, matrix<master> b,
                                                                     double share, matrix<master> da,
                                                                     matrix<master> db) {
  return Loss::pair(ctx, w, g, a, b, share, da, db);
}
template <class Loss, class Context, class Numbers>
typename Context::real pair_loss_calls<Loss, Context, Numbers>::tell(Context& ctx, const master* w, master* g,
                                                                     const pair_part<master>& of,
                                                                     double share, master* numbers) {
  if constexpr (Loss::tells) return Loss::tell(ctx, w, g, of, share, numbers);
  else return {};
}
template <class Loss, class Context, class Numbers>
typename Context::real pair_loss_calls<Loss, Context, Numbers>::part(Context& ctx, const master* w, master* g,
                                                                     const pair_part<master>& of,
                                                                     double share, const master* own,
                                                                     const master* others,
                                                                     matrix<master> d_rows) {
  return Loss::part(ctx, w, g, of, share, own, others, d_rows);
}

#define MOTET_PAIR_LOSSES(KEYWORD, CONTEXT, NUMBERS)                                               \
  KEYWORD template struct motet::pair_loss_calls<motet::info_nce, motet::CONTEXT, motet::NUMBERS>; \
  KEYWORD template struct motet::pair_loss_calls<motet::pairwise_sigmoid, motet::CONTEXT, motet::NUMBERS>;

template <class Context, class Numbers>
struct model_table {
  const model_outline* of = nullptr;
  std::span<const net_table<Context, Numbers>* const> nets;
  std::span<const loss_table<Context, Numbers>> losses;

  // Samples are compared with others in one of the losses.
  bool compares() const {
    return std::any_of(losses.begin(), losses.end(), [](const auto& each) { return each.sum == nullptr; });
  }
};

namespace detail {

template <class Model, class Indices = std::make_index_sequence<Model::size>>
struct model_outlines;
template <class Model, std::size_t... I>
struct model_outlines<Model, std::index_sequence<I...>> {
  static constexpr std::array<const net_outline*, Model::size> nets{
      &outline_of_net<typename Model::template module_at<I>::net>...};
  template <std::size_t Join>
  struct join {
    static constexpr auto is_member = [](std::size_t k) {
      return Model::meets[k] && Model::join_of[k] == static_cast<std::int32_t>(Join);
    };
    static constexpr std::size_t count = [] {
      std::size_t found = 0;
      for (std::size_t k = 0; k < Model::size; ++k) found += is_member(k) ? 1 : 0;
      return found;
    }();
    template <class Of>
    static constexpr auto of_members(Of of) {
      std::array<decltype(of(0)), count> out{};
      std::size_t next = 0;
      for (std::size_t k = 0; k < Model::size; ++k)
        if (is_member(k)) out[next++] = of(k);
      return out;
    }
    static constexpr auto members = of_members([](std::size_t k) { return k; });
    static constexpr auto still =
        of_members([](std::size_t k) { return Model::frozen[k] && !Model::passes[k]; });
    using loss = std::tuple_element_t<Join, typename Model::losses>;
    static constexpr isize numbers_before = []<std::size_t... J>(std::index_sequence<J...>) {
      return (isize{0} + ... + std::tuple_element_t<J, typename Model::losses>::parameter_size);
    }(std::make_index_sequence<Join>{});
    static constexpr join_outline all{members,
                                      still,
                                      Model::joins[Join],
                                      {numbers_before, numbers_before + loss::parameter_size},
                                      limit_of<loss>};
  };
  static constexpr auto joins = []<std::size_t... J>(std::index_sequence<J...>) {
    return std::array<join_outline, sizeof...(J)>{join<J>::all...};
  }(std::make_index_sequence<Model::joins.size()>{});
  static constexpr model_outline all{Model::names,
                                     Model::frozen,
                                     Model::edges,
                                     Model::passes,
                                     Model::meets,
                                     joins,
                                     Model::join_of,
                                     nets,
                                     Model::loss_at,
                                     Model::loss::parameter_size,
                                     Model::trainable_size,
                                     Model::parameter_size,
                                     [] { return Model::parameters(); },
                                     [] { return layer::parameters_of<typename Model::loss>(loss_name); }};
};

template <class Loss, class Context, class Numbers>
constexpr loss_table<Context, Numbers> make_pair_loss() {
  using calls = pair_loss_calls<Loss, Context, Numbers>;
  loss_table<Context, Numbers> made;
  made.tells = Loss::tells;
  made.pair = calls::pair;
  if constexpr (Loss::tells) made.tell = calls::tell;
  made.part = calls::part;
  return made;
}

template <class Loss, bool Weighted, class Context, class Numbers>
constexpr loss_table<Context, Numbers> make_loss_table() {
  using master = typename Numbers::master;
  if constexpr (is_own_loss<Loss>) {
    loss_table<Context, Numbers> made;
    made.sum = [](Context& ctx, matrix<master> features, matrix<master> slopes, double weight) {
      if constexpr (requires { Loss::sum(ctx, features, slopes, weight); }) {
        return Loss::sum(ctx, features, slopes, weight);
      } else {
        static_assert(!Weighted,
                      "motet: a loss that a model weighs lacks sum(ctx, features, slopes, weight) [MT-M08]");
        return Loss::sum(ctx, features, slopes);
      }
    };
    return made;
  } else {
    return make_pair_loss<Loss, Context, Numbers>();
  }
}

template <class Model, class Context, class Numbers, class Indices = std::make_index_sequence<Model::size>>
struct model_tables;
template <class Model, class Context, class Numbers, std::size_t... I>
struct model_tables<Model, Context, Numbers, std::index_sequence<I...>> {
  static constexpr std::array<const net_table<Context, Numbers>*, Model::size> nets{
      &table_of_net<typename Model::template module_at<I>::net, Context, Numbers>...};
  static constexpr auto losses = []<std::size_t... J>(std::index_sequence<J...>) {
    return std::array<loss_table<Context, Numbers>, sizeof...(J)>{
        make_loss_table<std::tuple_element_t<J, typename Model::losses>, Model::joins[J].weight != 1, Context,
                        Numbers>()...};
  }(std::make_index_sequence<Model::joins.size()>{});
  static constexpr model_table<Context, Numbers> all{&model_outlines<Model>::all, nets, losses};
};

}  // namespace detail

template <class Model>
inline constexpr const model_outline& outline_of_model = detail::model_outlines<Model>::all;
template <class Model, class Context, class Numbers>
inline constexpr const model_table<Context, Numbers>& table_of_model =
    detail::model_tables<Model, Context, Numbers>::all;

// A batch's inputs lie here, module after module. A module that passes rows on has none in the batch: how
// many they are says the module that they enter at last.
template <class Model>
class batch_inputs {
 public:
  explicit batch_inputs(const typename Model::batch& whole) {
    std::apply(
        [this](const auto&... each) {
          std::size_t k = 0;
          ((k = next_with_data(k), at_[k++] = &each), ...);
        },
        whole);
    if constexpr (has_through) fill(std::make_index_sequence<Model::size>());
  }
  batch_inputs(const batch_inputs&) = delete;
  batch_inputs& operator=(const batch_inputs&) = delete;

  operator std::span<const void* const>() const { return at_; }
  const void* operator[](std::size_t module) const { return at_[module]; }

 private:
  static constexpr bool has_through = requires { Model::through; };
  static constexpr bool is_through(std::size_t k) {
    if constexpr (has_through) return Model::through[k];
    else return false;
  }
  static std::size_t next_with_data(std::size_t k) {
    while (is_through(k)) ++k;
    return k;
  }
  template <std::size_t... I>
  void fill(std::index_sequence<I...>) {
    (fill_one<I>(), ...);
    // Behind those that end in features is nobody who says of how many rows.
    (fill_pooled<I>(), ...);
  }
  template <std::size_t I>
  void fill_pooled() {
    using net = typename Model::template module_at<I>::net;
    if constexpr (is_through(I) && !gives_rows<net>) {
      constexpr std::size_t from = source_of(I);
      using source = typename Model::template module_at<from>::net;
      fill_back(I, rows_of_samples<source>(*static_cast<const typename source::input*>(at_[from]), room_[I]));
    }
  }
  // The module with data whose rows pass through others to this one.
  static constexpr std::size_t source_of(std::size_t k) {
    for (std::size_t step = 0; step < Model::size && is_through(k); ++step)
      for (const edge_ends& each : Model::edges)
        if (each.to == k) {
          k = each.from;
          break;
        }
    return k;
  }
  // Where all samples have as many rows, or those of a text, no offsets are made.
  template <class Net>
  static sequences rows_of_samples(const typename Net::input& of, std::vector<isize>& room) {
    if constexpr (requires { input_traits<Net>::first_row(of, isize{}); }) {
      const isize samples = input_traits<Net>::samples(of);
      const auto before = [&](isize s) { return input_traits<Net>::first_row(of, s); };
      const isize each = samples > 0 ? before(1) - before(0) : 0;
      bool even = true;
      for (isize s = 0; s < samples; ++s) even = even && before(s + 1) - before(s) == each;
      if (even) return {samples, each, nullptr};
      for (isize s = 0; s <= samples; ++s) room.push_back(before(s));
      return {samples, 0, room.data()};
    } else {
      return Net::rows(of);
    }
  }
  template <std::size_t I>
  void fill_one() {
    using net = typename Model::template module_at<I>::net;
    if constexpr (takes_rows<net> > 0 && !is_through(I))
      for (const edge_ends& each : Model::edges)
        if (each.to == I)
          fill_back(each.from, static_cast<const typename net::input*>(at_[I])->rows_that_enter(
                                   static_cast<isize>(each.into)));
  }
  // Fills the inputs of modules that pass rows on to there.
  void fill_back(std::size_t from, const sequences& rows) {
    if (!is_through(from) || at_[from] != nullptr) return;
    made_[from].seq = rows;
    at_[from] = &made_[from];
    for (const edge_ends& each : Model::edges)
      if (each.to == from) fill_back(each.from, rows);
  }

  std::array<const void*, Model::size> at_{};
  std::array<through_rows, has_through ? Model::size : 0> made_{};
  std::array<std::vector<isize>, has_through ? Model::size : 0> room_{};
};
template <class Model>
batch_inputs<Model> inputs_of(const typename Model::batch& whole) {
  return batch_inputs<Model>(whole);
}

}  // namespace motet
