// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

// Whether outputs that a pass over rows makes again, those of norms and of activations, are kept until
// backward instead. A context says so in a member `keep_outputs`, if it knows the question.
template <class C>
constexpr bool keeps_outputs(const C& ctx) {
  if constexpr (requires { ctx.keep_outputs; }) return ctx.keep_outputs;
  else return false;
}

}  // namespace motet
