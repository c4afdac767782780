// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/share.hpp>

namespace motet {

// Several ranks may compute a microbatch together; one of them has these samples of it whole.
constexpr interval samples_of_rank(interval all, isize tensor, isize tensor_member, isize context,
                                   isize context_member) {
  const interval members = share(all.size(), tensor, tensor_member),
                 own = share(members.size(), context, context_member);
  return {all.begin + members.begin + own.begin, all.begin + members.begin + own.end};
}

// The parts in which a module of a graph cuts the samples of a step: microbatches come first, then replicas,
// then the ranks that compute one together, of which each has whole samples at both ends of the module.
// Parts are as even as can be, and those of a rank may be empty.
struct sample_parts {
  isize samples = 0;
  std::int32_t microbatches = 1, replicas = 1, tensor = 1, context = 1;

  constexpr isize count() const { return isize{microbatches} * replicas * tensor * context; }
  constexpr interval microbatch(isize m) const { return share(samples, microbatches, m); }
  constexpr interval of(isize m, isize replica) const {
    const interval all = microbatch(m), own = share(all.size(), replicas, replica);
    return {all.begin + own.begin, all.begin + own.end};
  }
  constexpr interval of(isize m, isize replica, isize shard) const {
    return samples_of_rank(of(m, replica), tensor, shard % tensor, context, shard / tensor);
  }
  // All samples of which such a rank computes rows, whoever has them whole.
  constexpr interval shared(isize m, isize replica, isize shard) const {
    return samples_of_rank(of(m, replica), tensor, shard % tensor, 1, 0);
  }
  // The microbatch that has a sample.
  constexpr std::int32_t microbatch_with(isize sample) const {
    return static_cast<std::int32_t>(owner(samples, microbatches, sample));
  }
  // visit(microbatch, replica, shard): each part that has one of these samples. Where there are none, it is
  // the part with the sample before them: of a module's own microbatch, as its first ranks have the samples.
  template <class Visit>
  constexpr void each_with(interval some, Visit&& visit) const {
    if (some.size() == 0) some.begin = some.begin > 0 ? some.begin - 1 : 0;
    for (isize s = some.begin; s < some.end || s == some.begin;) {
      const std::int32_t m = microbatch_with(s);
      const interval all = microbatch(m);
      const auto replica = static_cast<std::int32_t>(owner(all.size(), replicas, s - all.begin));
      const interval own = of(m, replica);
      const isize t = owner(own.size(), tensor, s - own.begin);
      const interval members = samples_of_rank(own, tensor, t, 1, 0);
      const isize c = owner(members.size(), context, s - members.begin);
      visit(m, replica, static_cast<std::int32_t>(c * tensor + t));
      s = samples_of_rank(own, tensor, t, context, c).end;
    }
  }
  // The same with all ranks that share these samples, where each gives rows of them.
  template <class Visit>
  constexpr void each_sharing(interval some, Visit&& visit) const {
    sample_parts shared = *this;
    shared.context = 1;
    shared.each_with(some, [&](std::int32_t m, std::int32_t replica, std::int32_t member) {
      for (std::int32_t c = 0; c < context; ++c) visit(m, replica, c * tensor + member);
    });
  }
  // visit(microbatch, replica, shard, samples), of each part.
  template <class Visit>
  constexpr void each(Visit&& visit) const {
    for (std::int32_t m = 0; m < microbatches; ++m)
      for (std::int32_t r = 0; r < replicas; ++r)
        for (std::int32_t k = 0; k < tensor * context; ++k) visit(m, r, k, of(m, r, k));
  }
};

}  // namespace motet
