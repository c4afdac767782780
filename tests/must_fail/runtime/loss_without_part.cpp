// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss that ranks share lacks pair(), part(), or tell() where it tells [MT-M08]
#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/stage/model_table.hpp>

struct mine {
  static constexpr motet::isize parameter_size = 0;
  static void parameters(motet::parameter_list&) {}
  static constexpr bool tells = false;
  template <class C, class M, class S>
  static typename C::real pair(C&, const M*, M*, motet::matrix<S>, motet::matrix<S>, double, motet::matrix<S>,
                               motet::matrix<S>) {
    return {};
  }
#ifndef MOTET_BREAK
  template <class C, class M, class S>
  static typename C::real part(C&, const M*, M*, const motet::pair_part<S>&, double, const S*, const S*,
                               motet::matrix<S>) {
    return {};
  }
#endif
};

using text = motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>;
using pair = motet::model<motet::join<mine, motet::module<"one", text>, motet::module<"other", text>>>;

static_assert(!motet::table_of_model<pair, motet::cpu::context, motet::fp32>.losses[0].tells);
