// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <pthread.h>

namespace motet::laws {

// While it lives the system refuses threads, as no address space holds their stacks.
class refused_threads {
 public:
  refused_threads() {
    pthread_attr_init(&large_);
    pthread_getattr_default_np(&before_);
    pthread_attr_setstacksize(&large_, std::size_t{1} << 50);
    pthread_setattr_default_np(&large_);
  }
  refused_threads(const refused_threads&) = delete;
  refused_threads& operator=(const refused_threads&) = delete;
  ~refused_threads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
    pthread_attr_destroy(&large_);
  }

 private:
  pthread_attr_t before_, large_;
};

}  // namespace motet::laws
