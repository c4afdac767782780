// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss that a model weighs lacks sum(ctx, features, slopes, weight) [MT-M08]
#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/model/graph.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/runtime/stage/model_table.hpp>

struct mine {
  static constexpr bool own = true, tells = false;
  static constexpr motet::isize parameter_size = 0;
  static void parameters(motet::parameter_list&) {}
  template <class C, class S>
#ifdef MOTET_BREAK
  static typename C::real sum(C&, motet::matrix<S>, motet::matrix<S>){
#else
  static typename C::real sum(C&, motet::matrix<S>, motet::matrix<S>, double) {
#endif
      return {};
}
}
;

using talk =
    motet::module<"talk", motet::decoder<motet::decoder_config{
                              .vocabulary = 64, .context = 8, .width = 32, .layers = 1, .heads = 2}>>;
using net = motet::model<motet::modules<talk>, motet::weighted<motet::loss<mine, "talk">, motet::times{2}>>;

static_assert(!motet::table_of_model<net, motet::cpu::context, motet::fp32>.losses[0].tells);
