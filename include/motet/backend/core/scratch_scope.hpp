// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// Gives scratch back at the end of an operation.
template <class Context>
class scratch_scope {
 public:
  explicit scratch_scope(Context& ctx) : ctx_(ctx), mark_(ctx.scratch.mark()) {}
  scratch_scope(const scratch_scope&) = delete;
  scratch_scope& operator=(const scratch_scope&) = delete;
  ~scratch_scope() { ctx_.scratch.release(mark_); }

 private:
  Context& ctx_;
  isize mark_;
};

}  // namespace motet
