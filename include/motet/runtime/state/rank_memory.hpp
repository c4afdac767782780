// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <initializer_list>

namespace motet {

// Stage memory is what a stage keeps on its rank, in bytes.
struct stage_memory {
  isize weights = 0, gradients = 0, optimizer = 0;
  isize averages = 0;    // of weights, where they are followed
  isize slots = 0;       // what backward needs, of all microbatches that are kept at once
  isize boundaries = 0;  // rows that come in and go out
  isize offloaded = 0;   // outside of the device's memory, what backward needs of all that wait there at once
  isize total() const { return weights + gradients + optimizer + averages + slots + boundaries; }
  void add(const stage_memory& other) {
    for (const auto field :
         {&stage_memory::weights, &stage_memory::gradients, &stage_memory::optimizer, &stage_memory::averages,
          &stage_memory::slots, &stage_memory::boundaries, &stage_memory::offloaded})
      this->*field += other.*field;
  }
};

// Rank memory is what a rank holds, in bytes, before anything is allocated.
struct rank_memory {
  stage_memory stages;
  // of the whole step, their gradients, what a join gathers, and the numbers of the loss
  isize features = 0;
  isize packing = 0;            // where small gradients are put together to be summed
  isize inputs = 0;             // of all microbatches, where operations do not reach the host's memory
  isize work = 0, scratch = 0;  // temporaries, shared by all of its stages; scratch is of each thread
  isize threads = 1;
  isize beside = 0;  // temporaries of all threads of the lanes that compute beside the first
  isize total() const {
    return stages.total() + features + packing + inputs + work + scratch * threads + beside;
  }
};

// The room of a rank has what its microbatches keep for backward, and the rows that come in and go out.
struct room_options {
  // It follows the rows of each step, and grows to what the longest one needs. Otherwise it is that of the
  // longest step there can be, taken before the first.
  bool by_rows = false;
  // The bytes that a rank may hold, with all that it holds besides: a step that needs more is refused before
  // it begins. 0: no limit.
  isize most = 0;
};

}  // namespace motet
