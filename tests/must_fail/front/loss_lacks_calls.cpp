// SPDX-License-Identifier: Apache-2.0
// Each of these losses lacks one call, or takes other arguments, and the compiler names them one after the
// other.
// expect: a loss lacks pair(ctx, w, g, a, b, share, da, db), both sides whole on one rank [MT-M08].*a loss lacks part(ctx, w, g, of, share, own, others, d_rows), the gradients of some rows.*[MT-M08].*a loss that tells lacks tell(ctx, w, g, of, share, numbers), its part of the loss [MT-M08]
#include <motet/front/check_gradients.hpp>

using motet::matrix;
using motet::pair_part;

template <bool Tells>
struct says {
  static constexpr motet::isize parameter_size = 0;
  static constexpr bool tells = Tells;
  static void parameters(motet::parameter_list&) {}
};
struct has_pair {
  template <class C, class M, class S>
  static double pair(C&, const M*, M*, matrix<S>, matrix<S>, double, matrix<S>, matrix<S>) {
    return 0;
  }
};
struct has_part {
  template <class C, class M, class S>
  static double part(C&, const M*, M*, const pair_part<S>&, double, const S*, const S*, matrix<S>) {
    return 0;
  }
};
// As one may think of a loss that does not tell.
struct has_short_part {
  template <class C, class M, class S>
  static double part(C&, const M*, M*, const pair_part<S>&, double, matrix<S>) {
    return 0;
  }
};
struct has_tell {
  template <class C, class M, class S>
  static double tell(C&, const M*, M*, const pair_part<S>&, double, S*) {
    return 0;
  }
};
template <class... Members>
struct mine : Members... {};

using motet::trial::has_calls_of_loss;
#ifdef MOTET_BREAK
static_assert(has_calls_of_loss<mine<says<false>, has_part>>());
static_assert(has_calls_of_loss<mine<says<false>, has_pair, has_short_part>>());
static_assert(has_calls_of_loss<mine<says<true>, has_pair, has_part>>());
#else
static_assert(has_calls_of_loss<mine<says<false>, has_pair, has_part>>());
static_assert(has_calls_of_loss<mine<says<true>, has_pair, has_part, has_tell>>());
#endif
