// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/operations.hpp>

#include <vector>

namespace motet::laws {

// The operations of a rank work at a site, for laws that hold wherever that is: a context, and numbers that a
// test sees on the host. Here it is the host.
struct host_site {
  using context = cpu::context;
  context ctx;
  std::byte nothing{};
  host_site() { ctx.memory = arena(&nothing, 0); }
  template <class End>
  explicit host_site(End&) : host_site() {}
  host_site(const host_site&) = delete;
  host_site& operator=(const host_site&) = delete;

  template <class T>
  class numbers {
   public:
    numbers(host_site&, std::size_t count, T value = T(0)) : seen_(count, value) {}
    T* data() { return seen_.data(); }
    // A test looks at these and changes them.
    std::vector<T>& seen() { return seen_; }
    void put() {}  // what was changed is there,
    void get() {}  // what is there is seen

   private:
    std::vector<T> seen_;
  };
  // Calls change(numbers) with `count` numbers that lie somewhere.
  template <class T, class Change>
  void change(T* at, isize count, Change&& change) {
    (void)count;
    change(at);
  }
};

}  // namespace motet::laws
