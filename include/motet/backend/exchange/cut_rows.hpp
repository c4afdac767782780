// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/microbatch_spread.hpp>

// A back end knows of rows that are cut by the spread of its context alone. Back ends bring these names into
// their own namespaces, where layers look for them.

namespace motet {

// Attention must look for rows on other ranks where this holds.
template <class Context>
bool rows_are_cut(const Context& ctx) {
  return ctx.shared != nullptr && !ctx.shared->context.alone();
}
// Blocks work on these rows; embedding and head on rows_of_samples.
template <class Context>
const sequences& rows_of_blocks(const Context& ctx) {
  return ctx.shared->own;
}
template <class Context>
const sequences& rows_of_samples(const Context& ctx) {
  return ctx.shared->mine;
}

// Until the end of the scope this rank has whole samples, and no rows elsewhere, where that is wanted.
template <class Context>
class whole_samples_scope {
 public:
  whole_samples_scope(Context& ctx, bool wanted) : ctx_(ctx), outer_(ctx.shared) {
    if (wanted && rows_are_cut(ctx)) ctx.shared = outer_->ends;
  }
  whole_samples_scope(const whole_samples_scope&) = delete;
  whole_samples_scope& operator=(const whole_samples_scope&) = delete;
  ~whole_samples_scope() { ctx_.shared = outer_; }

 private:
  Context& ctx_;
  const microbatch_spread* outer_;
};
template <class Context>
whole_samples_scope<Context> on_whole_samples(Context& ctx, bool wanted = true) {
  return whole_samples_scope<Context>(ctx, wanted);
}

}  // namespace motet
