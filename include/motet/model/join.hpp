// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/model/module.hpp>
#include <motet/tensor/pair_part.hpp>

#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace motet {

// Losses of a join. Each says which numbers it learns and how two towers are compared; all samples of the
// step are compared with all.
//
//   pair(ctx, w, g, a, b, share, da, db) -> loss (C::real)
//       all of it on one rank; g, da, db may be none
//
// and how ranks share the work, each for its own rows of one side against all of the other (pair_part.hpp):
//
//   tells
//       whether rows must know one number of each row of the other side first
//   tell(ctx, w, g, part, share, numbers) -> loss
//       if so: writes those of these rows
//   part(ctx, w, g, part, share, own, others, d_rows) -> loss
//       the gradients of these rows, from the numbers of both sides. Without `tells` it is called for some
//       columns after the others, which pass by
//
// With `tells`, the loss and the gradients of the loss's numbers come from tell, called for each row of both
// sides. Otherwise they come from part, where they are taken for the rows of one side only, those of which g
// is given. In both cases those of all rows make the whole.

// A loss of each sample by itself says `own`, and instead of all these
//
//   sum(ctx, features, slopes, weight) -> loss
//       of modules whose features are what their samples lost; slopes may be none. Both are `weight` times
//       what they would be alone; a loss that no model weighs may leave the weight out
//
// A loss may have a name, by which it is told where a model has several.

// A number of a loss, by its place among them, that an update leaves at or below this (-1: none). A loss that
// has one says `limit`.
struct number_limit {
  isize number = -1;
  double most = 0;
};
// The logarithm of a scale grows to this at most, as CLIP has it: ln 100.
inline constexpr double largest_log_scale = 4.60517018598809;

template <class Loss>
inline constexpr number_limit limit_of = [] {
  if constexpr (requires { Loss::limit; }) return Loss::limit;
  else return number_limit{};
}();

// A model calls the numbers of its loss this, a dot, and what the loss calls them.
inline constexpr const char* loss_name = "join";
inline std::string name_in_model(std::string_view number) { return sentence({loss_name, ".", number}); }

// Softmax over all pairs in both directions, with a learned temperature (van den Oord et al. 2018; CLIP). A
// row tells the logarithm of the sum of the exponentials of its logits.
struct info_nce {
  static constexpr const char* name = "info_nce";
  static constexpr isize parameter_size = parameter_space(1);
  static constexpr number_limit limit{0, largest_log_scale};
  static constexpr const char* scale_name = "log_scale";
  // ln(1 / 0.07)
  static void parameters(parameter_list& list) { list.vector(scale_name, 1, {fill::constant, 2.6592601f}); }

  template <class C, class M, class S>
  static typename C::real pair(C& ctx, const M* w, M* g, matrix<S> a, matrix<S> b, double share, matrix<S> da,
                               matrix<S> db) {
    return info_nce_loss(ctx, a, b, w, share, da, db, g);
  }

  static constexpr bool tells = true;
  template <class C, class M, class S>
  static typename C::real tell(C& ctx, const M* w, M* g, const pair_part<S>& of, double share, S* numbers) {
    return info_nce_sums(ctx, of, w, share, numbers, g);
  }
  template <class C, class M, class S>
  static typename C::real part(C& ctx, const M* w, M*, const pair_part<S>& of, double share, const S* own,
                               const S* others, matrix<S> d_rows) {
    info_nce_gradients(ctx, of, w, share, own, others, d_rows);
    return {};
  }
};

// An independent yes or no for each pair, with a learned scale and bias (Zhai et al., ICCV'23). No pair needs
// to know of another. Its scale has no limit.
struct pairwise_sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr isize bias_at = parameter_space(1);
  static constexpr isize parameter_size = 2 * bias_at;
  static constexpr const char *scale_name = "log_scale", *bias_name = "bias";
  static void parameters(parameter_list& list) {
    list.vector(scale_name, 1, {fill::constant, 2.3025851f});  // ln 10
    list.vector(bias_name, 1, {fill::constant, -10});
  }

  template <class C, class M, class S>
  static typename C::real pair(C& ctx, const M* w, M* g, matrix<S> a, matrix<S> b, double share, matrix<S> da,
                               matrix<S> db) {
    return pairwise_sigmoid_loss(ctx, a, b, w, w + bias_at, share, da, db, g, g ? g + bias_at : nullptr);
  }

  static constexpr bool tells = false;
  template <class C, class M, class S>
  static typename C::real part(C& ctx, const M* w, M* g, const pair_part<S>& of, double share, const S*,
                               const S*, matrix<S> d_rows) {
    M* const bias = g ? g + bias_at : nullptr;
    return pairwise_sigmoid_part(ctx, of, w, w + bias_at, share, d_rows, g, bias);
  }
};

namespace detail {

// The net says what each sample lost, a share of the step each; their sum is the mean over the whole step,
// whatever ranks and microbatches they are in.
struct sum_of_samples {
  static constexpr bool own = true;
  static constexpr bool tells = false;
  static constexpr isize parameter_size = 0;
  static void parameters(parameter_list&) {}
  template <class C, class S>
  static typename C::real sum(C& ctx, matrix<S> features, matrix<S> slopes, double weight) {
    return sum_losses(ctx, features, slopes, weight);
  }
};

}  // namespace detail

// A decoder's samples lost something at their targets (next_token_tail says how much); this is the mean over
// all targets of the step.
struct next_token : detail::sum_of_samples {
  static constexpr const char* name = "next_token";
};

// A drawer's pictures lost something at each of their numbers (denoise_tail says how much); this is the mean
// over all numbers of the step.
struct denoise : detail::sum_of_samples {
  static constexpr const char* name = "denoise";
  static constexpr own_head head = own_head::noise;
};

template <class Loss>
inline constexpr bool is_own_loss = [] {
  if constexpr (requires { Loss::own; }) return Loss::own;
  else return false;
}();

template <class Loss>
inline constexpr own_head head_for = [] {
  if constexpr (requires { Loss::head; }) return Loss::head;
  else return is_own_loss<Loss> ? own_head::tokens : own_head::none;
}();

template <class Loss>
inline constexpr std::string_view name_of_loss = [] {
  if constexpr (requires { Loss::name; }) return std::string_view(Loss::name);
  else return std::string_view("loss");
}();

// A loss that ranks can share.
template <class Loss, class C, class M, class S>
concept spread_loss = requires(C& ctx, const M* w, M* g, const pair_part<S>& of, double share, S* numbers,
                               const S* told, matrix<S> rows) {
  requires !Loss::tells || requires {
    { Loss::tell(ctx, w, g, of, share, numbers) } -> std::same_as<typename C::real>;
  };
  { Loss::part(ctx, w, g, of, share, told, told, rows) } -> std::same_as<typename C::real>;
  { Loss::pair(ctx, w, g, rows, rows, share, rows, rows) } -> std::same_as<typename C::real>;
};

// Modules meet here in a loss over all samples of the step: the mean over all pairs of modules. Or it has the
// one module whose samples each have a loss of their own.
// Asks for: two modules or more whose features are equally wide; or one module with a loss of its own.
// Memory: none; the trainer keeps the features of all samples of a step.
// Errors: none of its own.
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using three = join<info_nce, module<"left", eye>, module<"middle", eye>, module<"right", eye>>;
//   static_assert(three::pairs == 3);
template <class Loss, class... Modules>
struct join {
  using loss = Loss;
  static constexpr isize size = sizeof...(Modules);
  static constexpr isize pairs = size > 1 ? size*(size - 1) / 2 : 1;
};

// Several losses of a model are one list of numbers, in their order. Where two or more have numbers, each
// loss's are named by its modules, too: "join.picture.caption.log_scale".
template <class... Parts>
struct several_losses {
  static constexpr isize parameter_size = (isize{0} + ... + Parts::type::parameter_size);
  static constexpr int learning = (0 + ... + (Parts::type::parameter_size > 0 ? 1 : 0));
  static void parameters(parameter_list& list) { (add<Parts>(list), ...); }
  // Samples are compared with no others where none of the losses does so.
  static constexpr bool own = (is_own_loss<typename Parts::type> && ...);

 private:
  template <class Part>
  static void add(parameter_list& list) {
    if constexpr (learning < 2) return list.part<typename Part::type>();
    std::string name;
    for (const std::string_view module : Part::of) name.append(name.empty() ? "" : ".").append(module);
    list.child<typename Part::type>(name);
  }
};

// What a model knows of one of its losses, beside its type.
struct join_facts {
  std::string_view name;
  std::span<const std::string_view> of;  // its modules
  isize embedding = 0;                   // of the features that meet in it
  double share = 1;                      // of each pair of modules, with the weight
  double weight = 1;
};

}  // namespace motet
