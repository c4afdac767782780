// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/samples.hpp>

#include <doctest/doctest.h>

#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {

namespace {

// Marks each row that counting finds: 1000 x sample + position.
struct mark_rows {
  motet::cuda::padded_rows rows;
  isize count;
  float* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < count; i += self.all()) {
      const auto here = rows.at(i);
      if (here.row >= 0) to[here.row] = static_cast<float>(1000 * here.sample + here.position);
    }
  }
};

}  // namespace

TEST_CASE("counting as if all samples were as long as the longest finds every row but those skipped") {
  laws::each_gpu_batch([](const sequences& seq) {
    for (const isize skipped : {0, 1, 3}) {
      const laws::on_gpu<float> marks(laws::grid<float>(1, seq.rows()).fill(-1));
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
        if (ctx.measuring()) return;
        const isize count = motet::cuda::padded_count(seq, skipped);
        motet::cuda::launch(ctx.stream(), {count == 0 ? 0 : 1, 64, 0},
                            mark_rows{motet::cuda::padded(ctx, seq, skipped), count, marks.data()});
      });
      const auto found = marks.back();
      for (isize s = 0; s < seq.samples; ++s)
        for (isize r = seq.begin(s); r < seq.end(s); ++r) {
          const isize position = r - seq.begin(s);
          CHECK(found(0, r) == (position < skipped ? -1.0 : static_cast<double>(1000 * s + position)));
        }
    }
  });
}

}  // namespace motet
