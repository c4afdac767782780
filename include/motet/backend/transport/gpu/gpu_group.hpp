// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/core/call.hpp>
#include <motet/backend/transport/gpu/gpu_end.hpp>

#include <memory>

namespace motet::transports {

// What the stages of a rank see of a group, as of their end (gpu_end.hpp): each call is one of a table.
class gpu_group : public group_calls<gpu_group> {
 public:
  gpu_group() = default;
  gpu_group(const gpu_group&) = delete;
  gpu_group& operator=(const gpu_group&) = delete;
  virtual ~gpu_group() = default;

  virtual std::int32_t size() const = 0;
  virtual std::int32_t member() const = 0;
  virtual gpu_end& end() = 0;
  virtual ticket start(const call& it) = 0;
  virtual bool test(ticket which) = 0;
  virtual void wait(ticket which) = 0;
  // Memory that calls use, on all members alike; the transport is told while what is returned lives. Most do
  // not care.
  virtual std::shared_ptr<void> keep(const void*, isize) { return {}; }
  // Work that begins from now on comes after all calls that are done, where these go beside it.
  virtual void see() {}
};

static_assert(collective_group<gpu_group> && takes_places<gpu_group>,
              "motet: a group on GPUs offers all collectives");

}  // namespace motet::transports
