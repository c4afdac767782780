// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/meta/error.hpp>
#include <motet/nn/core/layer.hpp>
#include <motet/tensor/pair_part.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// A report says what a comparison of gradients found: for each parameter or input the element that is
// furthest off, where one is off at all.
struct gradient_report {
  struct fault {
    std::string of;  // the parameter, "x", or a side of a loss
    isize at = 0;
    double got = 0, wanted = 0;
    double off() const {
      const double apart = std::abs(got - wanted) / (1 + std::abs(wanted));
      return std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
    }
    std::string text() const {
      char numbers[64];
      std::snprintf(numbers, sizeof numbers, ": got %.9g, wanted %.9g", got, wanted);
      return sentence({of, ", element ", at, numbers});
    }
  };
  isize compared = 0;
  std::vector<fault> wrong;

  bool ok() const { return compared > 0 && wrong.empty(); }
  // A sentence for each fault.
  std::string text() const {
    if (compared == 0) return "nothing was compared: there are no parameters and no inputs";
    if (ok()) return sentence({"all ", compared, " compared gradients are right"});
    std::string all;
    for (const fault& each : wrong) all += (all.empty() ? "" : "\n") + each.text();
    return all;
  }
  void add(const fault& found, double tolerance) {
    ++compared;
    if (found.off() <= tolerance) return;
    if (wrong.empty() || wrong.back().of != found.of) wrong.push_back(found);
    else if (found.off() > wrong.back().off()) wrong.back() = found;
  }
};

struct gradient_settings {
  double tolerance = 2e-6;  // relative to 1 + |wanted|
  double step = 1e-5;       // to either side
  isize of_parameter = 6;   // elements of each parameter that are compared
  isize of_input = 20;
};

// Compares chosen elements of gradients with finite differences, tensor after tensor.
class difference_check {
 public:
  explicit difference_check(const gradient_settings& how = {}) : how_(how) {}

  // `count` elements of the `size` numbers at `values`, by which loss() is differentiated: they are moved and
  // put back. `got` are their gradients.
  template <class Loss>
  void compare(const std::string& of, double* values, const double* got, isize size, isize count,
               Loss&& loss) {
    for (isize i = 0; i < count && size > 0; ++i) {
      const auto at = static_cast<isize>(choose_.below(draw_++, static_cast<std::uint32_t>(size)));
      const double here = values[at];
      values[at] = here + how_.step;
      const double high = loss();
      values[at] = here - how_.step;
      const double low = loss();
      values[at] = here;
      found_.add({of, at, got[at], (high - low) / (2 * how_.step)}, how_.tolerance);
    }
  }
  const gradient_report& found() const { return found_; }

 private:
  gradient_settings how_;
  random_stream choose_{19, "entries"};
  std::uint64_t draw_ = 0;
  gradient_report found_;
};

// A net, or a part of one, is tried with these.
namespace trial {

using reals = std::vector<double>;

inline constexpr double not_written = std::numeric_limits<double>::quiet_NaN();

// Parameters that are far from their starting values, and NaN in the gaps between tensors, which nobody may
// read.
inline reals random_weights(const std::vector<parameter>& list, isize size, std::uint64_t seed = 7) {
  reals w(static_cast<std::size_t>(size), not_written);
  for (const parameter& p : list) {
    const random_stream draw(seed, p.name);
    const double scale = p.vector ? 0.4 : p.rows == 1 ? 0.7 : 1.2 / std::sqrt(static_cast<double>(p.width));
    for (isize i = 0; i < p.size(); ++i)
      w[static_cast<std::size_t>(p.offset + i)] =
          (p.start.kind == fill::ones ? 1 : 0) + scale * draw.normal(static_cast<std::uint64_t>(i));
  }
  return w;
}

inline reals random_reals(isize count, std::string_view name, double scale = 1) {
  const random_stream draw(11, name);
  reals out(static_cast<std::size_t>(count));
  for (isize i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = scale * draw.normal(static_cast<std::uint64_t>(i));
  return out;
}

// The two directions are run in one of these ways.
enum class way { infer, forward, whole, split };

// One layer with its batch, so that the laws need not know what kind of layer it is.
template <class L>
struct layer_subject {
  using layer_type = L;
  sequences seq;
  sequences pooled;  // of y: seq, or one row for each sample
  static constexpr isize width = L::out;
  isize x_size() const { return seq.rows() * L::in; }
  isize y_rows() const { return pooled.rows(); }

  template <class C, class N, class T = typename N::stream>
  void run(C& ctx, way how, weights<N> w, const T* x_data, T* y_data, const T* dy_data, T* dx_data,
           gradients<N> g) const {
    const view<const T, L::in> x(x_data, seq.rows());
    const view<T, L::out> y(y_data, pooled.rows());
    const view<const T, L::out> dy(dy_data, pooled.rows());
    const view<T, L::in> dx(dx_data, seq.rows());
    if (how == way::infer) return layer::infer<L>(ctx, w, seq, x, y);
    const isize mark = ctx.memory.mark();
    typename L::template saved<N> s;
    L::template reserve<N>(ctx, seq, s);
    L::forward(ctx, w, seq, x, y, s);
    if (how == way::whole) layer::backward<L>(ctx, w, seq, x, dy, dx, s, g);
    if (how == way::split) {
      L::backward_input(ctx, w, seq, x, dy, dx, s);
      synchronize(ctx);
      layer::backward_weight<L>(ctx, w, seq, x, dy, s, g);
    }
    release(ctx, mark);
  }
};

// Makes rows from pictures or tokens.
template <class E>
struct embedding_subject {
  using layer_type = E;
  typename E::input batch;
  static constexpr isize width = E::out;
  isize x_size() const { return 0; }
  isize y_rows() const { return E::rows(batch).rows(); }

  template <class C, class N, class T = typename N::stream>
  void run(C& ctx, way how, weights<N> w, const T*, T* y_data, const T* dy_data, T*, gradients<N> g) const {
    const view<T, E::out> y(y_data, y_rows());
    const view<const T, E::out> dy(dy_data, y_rows());
    const isize mark = ctx.memory.mark();
    typename E::template saved<N> s;
    E::template reserve<N>(ctx, E::rows(batch), s);
    E::forward(ctx, w, batch, y, s);
    if (how == way::whole || how == way::split) {
      E::backward_input(ctx, w, batch, dy, s);
      synchronize(ctx);
      E::backward_weight(ctx, w, batch, dy, s, g);
    }
    release(ctx, mark);
  }
};

// A net from its input to its features, or to the rows that it gives.
template <class Net>
struct tower_subject {
  using layer_type = Net;
  typename Net::input batch;
  static constexpr isize width = Net::embedding;
  isize x_size() const { return 0; }
  isize y_rows() const {
    if constexpr (requires { Net::gives_rows; }) return Net::rows(batch).rows();
    else return Net::rows(batch).samples;
  }

  template <class C, class N, class T = typename N::stream>
  void run(C& ctx, way how, weights<N> w, const T*, T* y_data, const T* dy_data, T*, gradients<N> g) const {
    const view<T, width> y(y_data, y_rows());
    if (how == way::infer) return Net::infer(ctx, w, batch, y);
    const isize mark = ctx.memory.mark();
    typename Net::template saved<N> s;
    Net::template reserve<N>(ctx, batch, s);
    Net::forward(ctx, w, batch, y, s);
    // A tower hands its gradient in, and may use that memory.
    if (how == way::whole || how == way::split)
      Net::backward(ctx, w, batch, view<T, width>(const_cast<T*>(dy_data), y_rows()), s, g);
    release(ctx, mark);
  }
};

// Calls body(ctx) on one thread, in the memory that a dry run asks for. Differences are hundreds of calls,
// and a system takes longer to give megabytes than most of them compute: `room` keeps them from one to the
// next. What layers keep is filled with a pattern that reads as NaN, so that what was never written shows.
template <class Body>
void run(buffer<std::byte>& room, Body&& body) {
  cpu::context dry;
  body(dry);
  const isize kept = round_up(dry.memory.peak(), arena::alignment);
  if (room.size() < kept + dry.scratch.peak()) room = buffer<std::byte>(kept + dry.scratch.peak());
  std::fill_n(room.data(), kept, std::byte{0xff});
  cpu::context ctx;
  ctx.memory = arena(room.data(), kept);
  ctx.scratch = arena(room.data() + kept, dry.scratch.peak());
  body(ctx);
}

template <class Subject>
gradient_report check(const Subject& subject, const gradient_settings& how) {
  using part = typename Subject::layer_type;
  const auto list = layer::parameters_of<part>();
  reals w = random_weights(list, part::parameter_size), x = random_reals(subject.x_size(), "x"),
        dy = random_reals(subject.y_rows() * Subject::width, "dy");
  reals y(dy.size(), not_written), dx(x.size(), not_written), g(w.size());
  buffer<std::byte> room;
  const auto all = [&](way which) {
    run(room, [&](cpu::context& ctx) {
      reals given = dy;  // a tower may use the memory of its gradient
      subject.run(ctx, which, weights<fp64>{w.data()}, x.data(), y.data(), given.data(), dx.data(),
                  gradients<fp64>{g.data()});
    });
  };
  all(way::whole);
  difference_check differences(how);
  const auto loss = [&] {
    all(way::infer);
    double sum = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  differences.compare("x", x.data(), dx.data(), subject.x_size(), how.of_input, loss);
  for (const parameter& p : list)
    differences.compare(p.name, w.data() + p.offset, g.data() + p.offset, p.size(), how.of_parameter, loss);
  return differences.found();
}

// What a loss of a join is asked for while ranks share it; the compiler names what is missing, or is called
// by other arguments.
template <class Loss>
consteval bool has_calls_of_loss() {
  static_assert(
      requires(cpu::context& ctx, const double* w, double* g, matrix<double> rows) {
        double{Loss::pair(ctx, w, g, rows, rows, 0.75, rows, rows)};
      }, "motet: a loss lacks pair(ctx, w, g, a, b, share, da, db), both sides whole on one rank [MT-M08]");
  static_assert(
      requires(cpu::context& ctx, const double* w, double* g, const pair_part<double>& of, const double* told,
               matrix<double> d) { double{Loss::part(ctx, w, g, of, 0.75, told, told, d)}; },
      "motet: a loss lacks part(ctx, w, g, of, share, own, others, d_rows), the gradients of some rows; own "
      "and "
      "others are arguments without tells as well [MT-M08]");
  if constexpr (Loss::tells)
    static_assert(
        requires(cpu::context& ctx, const double* w, double* g, const pair_part<double>& of,
                 double* numbers) { double{Loss::tell(ctx, w, g, of, 0.75, numbers)}; },
        "motet: a loss that tells lacks tell(ctx, w, g, of, share, numbers), its part of the loss [MT-M08]");
  return true;
}

// A loss of two sides, whole and as two ranks share it: each has some rows of both sides, and sees those of
// the other side in the order of the ranks, the second one first.
template <class Loss>
struct loss_subject {
  isize samples, width;
  reals w, a, b;
  reals g{}, da{}, db{};
  double loss = 0;
  buffer<std::byte> room{};

  static matrix<double> rows(reals& of, isize count, isize width) { return {of.data(), count, width, width}; }
  void clear() {
    g.assign(w.size(), 0);
    da.assign(a.size(), 0);
    db.assign(b.size(), 0);
    loss = 0;
  }
  double value() {
    double found = 0;
    run(room, [&](cpu::context& ctx) {
      found = Loss::pair(ctx, static_cast<const double*>(w.data()), static_cast<double*>(nullptr),
                         rows(a, samples, width), rows(b, samples, width), 0.75, matrix<double>{},
                         matrix<double>{});
    });
    return found;
  }
  void whole() {
    run(room, [&](cpu::context& ctx) {
      clear();
      loss = Loss::pair(ctx, static_cast<const double*>(w.data()), g.data(), rows(a, samples, width),
                        rows(b, samples, width), 0.75, rows(da, samples, width), rows(db, samples, width));
    });
  }
  void shared() {
    run(room, [&](cpu::context& ctx) {
      clear();
      reals of_a(static_cast<std::size_t>(samples)), of_b(of_a);  // told numbers, in the order of columns
      if constexpr (Loss::tells) {
        each(a, b, da, [&](const auto& part, isize at, matrix<double>) {
          loss += Loss::tell(ctx, weight(), g.data(), part, 0.75, of_a.data() + at);
        });
        each(b, a, db, [&](const auto& part, isize at, matrix<double>) {
          loss += Loss::tell(ctx, weight(), g.data(), part, 0.75, of_b.data() + at);
        });
      }
      each(a, b, da, [&](const auto& part, isize at, matrix<double> d) {
        const double some = Loss::part(ctx, weight(), Loss::tells ? nullptr : g.data(), part, 0.75,
                                       of_a.data() + at, of_b.data(), d);
        if (!Loss::tells) loss += some;
      });
      each(b, a, db, [&](const auto& part, isize at, matrix<double> d) {
        Loss::part(ctx, weight(), static_cast<double*>(nullptr), part, 0.75, of_b.data() + at, of_a.data(),
                   d);
      });
    });
  }

 private:
  const double* weight() const { return w.data(); }
  // Calls visit(part, number of its first row among the columns, its gradient) for each rank.
  template <class Visit>
  void each(reals& own, reals& others, reals& d_own, Visit&& visit) {
    const isize first = samples / 3, second = samples - first;
    const matrix<const double> from = rows(others, samples, width);
    const matrix<const double> pieces[] = {from.slice(first, second), from.slice(0, first)};
    std::vector<isize> matches;
    for (isize s = 0; s < samples; ++s) matches.push_back(s < first ? second + s : s - first);
    const matrix<const double> all = rows(own, samples, width);
    const matrix<double> d = rows(d_own, samples, width);
    for (const interval mine : {interval{0, first}, interval{first, samples}})
      visit(
          pair_part<double>{all.slice(mine.begin, mine.size()), matches.data() + mine.begin, pieces, samples},
          mine.begin == 0 ? second : 0, d.slice(mine.begin, mine.size()));
  }
};

}  // namespace trial

// Holds the gradients of a net or of an embedding to finite differences in fp64: sum(y dy) for random dy and
// random parameters, one thread. Of the input nothing is compared, as nobody wants its gradient.
// Asks for: samples of the net's own input.
// Memory: what the net takes in fp64, and its parameters and gradients.
// Errors: none of its own.
// Example:
//   #include <motet/nn/layers/linear.hpp>
//   using wide = linear<3, 4>;
//   bool is_right() { return check_gradients<wide>(sequences{2, 5, nullptr}).ok(); }
template <class Net>
  requires requires { typename Net::input; }
gradient_report check_gradients(const typename Net::input& batch, const gradient_settings& how = {}) {
  if constexpr (requires { Net::embedding; }) return trial::check(trial::tower_subject<Net>{batch}, how);
  else return trial::check(trial::embedding_subject<Net>{batch}, how);
}

// A layer's input is made of random numbers and compared as "x".
template <class Layer>
  requires requires { Layer::in; }
gradient_report check_gradients(const sequences& rows, const gradient_settings& how = {}) {
  return trial::check(trial::layer_subject<Layer>{rows, rows}, how);
}

// The same for a loss of a join, of `samples` rows of length one on both sides, "a" and "b": whole, and then
// as two ranks share it, which must make the same loss, "shared loss", and the same gradients, "shared a" and
// so on.
template <class Loss>
gradient_report check_loss_gradients(isize samples = 7, isize width = 5, const gradient_settings& how = {}) {
  static_assert(trial::has_calls_of_loss<Loss>());
  const auto list = layer::parameters_of<Loss>();
  trial::loss_subject<Loss> of{samples, width, trial::random_weights(list, Loss::parameter_size),
                               trial::random_reals(samples * width, "a"),
                               trial::random_reals(samples * width, "b")};
  for (trial::reals* side : {&of.a, &of.b})
    for (auto row = side->begin(); row != side->end(); row += width) {
      const double length = std::sqrt(std::inner_product(row, row + width, row, 0.0));
      std::transform(row, row + width, row, [&](double x) { return x / length; });
    }
  of.whole();
  difference_check differences(how);
  const auto loss = [&] { return of.value(); };
  differences.compare("a", of.a.data(), of.da.data(), samples * width, how.of_input, loss);
  differences.compare("b", of.b.data(), of.db.data(), samples * width, how.of_input, loss);
  for (const parameter& p : list)
    differences.compare(p.name, of.w.data() + p.offset, of.g.data() + p.offset, p.size(), how.of_parameter,
                        loss);
  gradient_report found = differences.found();
  const double value = of.value();
  // Of braces in these calls nvcc makes what no host compiler reads.
  const gradient_report::fault with_gradients{"loss with gradients", 0, of.loss, value};
  found.add(with_gradients, how.tolerance);
  const trial::reals g = of.g, da = of.da, db = of.db;
  of.shared();
  const gradient_report::fault together{"shared loss", 0, of.loss, value};
  found.add(together, how.tolerance);
  const auto same = [&](const std::string& name, const double* got, const double* wanted, isize size) {
    for (isize i = 0; i < size; ++i) found.add({"shared " + name, i, got[i], wanted[i]}, how.tolerance);
  };
  same("a", of.da.data(), da.data(), samples * width);
  same("b", of.db.data(), db.data(), samples * width);
  for (const parameter& p : list) same(p.name, of.g.data() + p.offset, g.data() + p.offset, p.size());
  return found;
}

}  // namespace motet
