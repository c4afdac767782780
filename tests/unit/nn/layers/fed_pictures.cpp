// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/fed_pictures.hpp>

#include "drawn_batch.hpp"
#include "fed_subject.hpp"

using namespace motet;

namespace {

constexpr noised_config of{
    .image = 4, .patch = 2, .channels = 3, .width = 8, .classes = 3, .forgotten = 0.5f, .times = 10};
using embed = fed_noised_pictures<of, 6>;

laws::reals rows_of(const fed_pictures& batch, const laws::reals& heard) {
  const laws::reals w = laws::random_weights(layer::parameters_of<embed>(), embed::parameter_size);
  return laws::evaluate<fp64>(laws::fed_subject<laws::embedding_subject<embed>, 6>{{batch}}, laws::way::infer,
                              1, w, heard, laws::reals(as_size(batch.samples * 5 * 8), 0.0),
                              laws::reals(w.size(), 0.0))
      .y;
}

}  // namespace

TEST_CASE("what enters is heard in the condition, and gradients go back to each of its rows") {
  const laws::drawn_batch four(4, of), none(0, of);
  // One sample hears three rows, one none.
  const motet::isize offsets[] = {0, 3, 3, 4, 9};
  laws::check_laws(laws::fed_subject<laws::embedding_subject<embed>, 6>{{fed_pictures{four.input, offsets}}});
  laws::check_laws(laws::fed_subject<laws::embedding_subject<embed>, 6>{{fed_pictures{none.input, offsets}}});
}

TEST_CASE("a sample that no rows enter has the rows that it has without, and others have a mean") {
  const laws::drawn_batch two(2, of);
  const motet::isize offsets[] = {0, 0, 2};
  const laws::reals heard = laws::random_reals(12, "heard"), got = rows_of({two.input, offsets}, heard),
                    without = rows_of({two.input}, {});
  const auto sample = [](const laws::reals& all, motet::isize s) {
    return laws::reals(all.begin() + s * 40, all.begin() + (s + 1) * 40);
  };
  CHECK(sample(got, 0) == sample(without, 0));
  CHECK(laws::apart(sample(got, 1), sample(without, 1)) > 1e-3);
  laws::reals mean;
  for (std::size_t i = 0; i < 6; ++i) mean.push_back((heard[i] + heard[6 + i]) / 2);
  const motet::isize one[] = {0, 0, 1};
  CHECK_LE(laws::apart(got, rows_of({two.input, one}, mean)), 1e-12);
  // Patches hear nothing.
  CHECK(laws::reals(got.begin() + 48, got.end()) == laws::reals(without.begin() + 48, without.end()));
}
