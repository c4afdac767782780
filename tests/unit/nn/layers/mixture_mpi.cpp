// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/nn/layers/mixture.hpp>

#include <cut_layer.hpp>

namespace motet {
namespace {
constexpr mixture_config config{.width = 6, .experts = 5, .hidden = 7, .balance = 0.5f, .z = 0.2f};
}

TEST_CASE("experts of many processes give what one process gives") {
  using L = mixture<config>;
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), 0, {});
  mpi::endpoint end(world, here.rank());
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < here.ranks(); ++r) all.push_back(r);
  mpi::group_set set(world, std::vector<std::vector<std::int32_t>>{all}, {.sum_bytes = 1 << 16});
  mpi::group group(set, 0, end);

  const std::vector<isize> offsets{0, 4, 4, 13, 14, 20};
  for (const sequences& whole : {sequences{5, 1, offsets.data()}, sequences{1, 9, nullptr}}) {
    const laws::problem given = laws::random_problem<L>(whole);
    const auto one = laws::evaluate<fp64>(laws::layer_subject<L>{whole, whole}, laws::way::whole, 1, given.w,
                                          given.x, given.dy, laws::reals(given.w.size(), 0.0));
    const spread_seat seat{here.ranks(), here.rank(), 1, 0, false};
    spread_rows rows(seat, whole.samples);
    microbatch_spread is;
    is.tensor = any_group(group);
    rows.fill(whole, is);
    laws::cut_layer<L> own(is, seat, whole, given);
    CHECK(own.step(laws::way::whole, 1));
    laws::reals y, dx, g(given.w.size(), 0.0);
    own.each_number([&](std::size_t global, std::size_t) {
      y.push_back(one.y[global]);
      dx.push_back(one.dx[global]);
    });
    own.each_held([&](std::size_t global, std::size_t at) { g[global] = own.g[at]; });
    is.tensor.all_reduce_sum(g.data(), static_cast<isize>(g.size()));
    CHECK_LE(laws::apart(own.y, y), 1e-12);
    CHECK_LE(laws::apart(own.dx, dx), 1e-12);
    CHECK_LE(laws::apart(g, one.g), 1e-12);
  }
}

}  // namespace motet
