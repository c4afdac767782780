// SPDX-License-Identifier: Apache-2.0
// Each of these losses lacks one member, and the compiler names them one after the other.
// expect: lacks parameter_size, the elements of its numbers [MT-M08].*lacks parameters(list), the names of its numbers [MT-M08].*motet: a loss lacks tells, whether rows must know a number of the other side [MT-M08]
#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>

using text = motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>;
using one = motet::module<"one", text>;
using other = motet::module<"other", text>;

struct has_size {
  static constexpr motet::isize parameter_size = 0;
};
struct has_parameters {
  static void parameters(motet::parameter_list&) {}
};
struct has_tells {
  static constexpr bool tells = false;
};
template <class... Members>
struct mine : Members... {};

#ifdef MOTET_BREAK
static_assert(motet::detail::has_members_of_loss<mine<has_parameters, has_tells>>());
static_assert(motet::detail::has_members_of_loss<mine<has_size, has_tells>>());
static_assert(motet::model<motet::join<mine<has_size, has_parameters>, one, other>>::size == 2);
#else
static_assert(motet::model<motet::join<mine<has_size, has_parameters, has_tells>, one, other>>::size == 2);
#endif
