// SPDX-License-Identifier: Apache-2.0
// Each of these embeddings lacks one member, and the compiler names them one after the other.
// expect: lacks input, the type of its batches [MT-N11].*lacks out, the width of its rows [MT-N11].*lacks parameter_size, the elements of its parameters [MT-N11].*lacks parameters(list), their names and shapes [MT-N11].*motet: the embedding of a tower lacks rows(batch), the sequences of its samples [MT-N11].*lacks saved<N>, what backward reads [MT-N11]
#include <motet/nn/towers/vit.hpp>

constexpr motet::vit_config small{
    .image = 8, .patch = 4, .width = 16, .layers = 1, .heads = 2, .embedding = 8};
using whole = motet::patch_embedding<small.patches()>;

struct has_input {
  using input = whole::input;
};
struct has_out {
  static constexpr motet::isize out = whole::out;
};
struct has_size {
  static constexpr motet::isize parameter_size = whole::parameter_size;
};
struct has_parameters {
  static void parameters(motet::parameter_list& list) { whole::parameters(list); }
};
struct has_rows {
  static motet::sequences rows(const whole::input& batch) { return whole::rows(batch); }
};
struct has_saved {
  template <class N>
  using saved = whole::saved<N>;
};
template <class... Members>
struct embed : Members... {};

#ifdef MOTET_BREAK
template <class... Members>
constexpr bool checked = motet::detail::has_members_of_embedding<embed<Members...>>();
static_assert(checked<has_out, has_size, has_parameters, has_rows, has_saved>);
static_assert(checked<has_input, has_size, has_parameters, has_rows, has_saved>);
static_assert(checked<has_input, has_out, has_parameters, has_rows, has_saved>);
static_assert(checked<has_input, has_out, has_size, has_rows, has_saved>);
static_assert(checked<has_input, has_out, has_size, has_parameters, has_saved>);
static_assert(checked<has_input, has_out, has_size, has_parameters, has_rows>);
#else
using mine = embed<has_input, has_out, has_size, has_parameters, has_rows, has_saved>;
static_assert(motet::tower<mine, small.tower()>::embedding == 8);
#endif
