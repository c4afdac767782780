// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/meta/config.hpp>

#include <exception>
#include <string_view>
#include <thread>
#include <vector>

namespace motet {

// Makes threads by begin(t), a std::thread each, t from `first` on and below `all`. Where the system refuses
// one, end() has to let those go that were made; they are joined, and the error says whose there were how
// many, those below `first` with them.
template <class Begin, class End>
void make_threads(std::vector<std::thread>& threads, std::string_view whose, int first, int all,
                  Begin&& begin, End&& end) {
  int made = first;
  try {
    for (; made < all; ++made) threads.push_back(begin(made));
  } catch (const std::exception& problem) {  // no room for a stack, or none beside the stacks
    end();
    for (std::thread& each : threads) each.join();
    threads.clear();
    fail(threads_refused, sentence({whose, ": wanted ", all, ", got ", made, " (", problem.what(), ")"}));
  }
}

}  // namespace motet
