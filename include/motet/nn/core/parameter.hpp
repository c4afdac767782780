// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/tensor/share.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace motet {

enum class fill : std::uint8_t { zeros, ones, normal, constant, sine_grid };

// A parameter starts with numbers that are keyed by its global name and element number, so that every plan
// draws the same values.
struct initial {
  fill kind = fill::zeros;
  // deviation of `normal`, value of `constant`, height of `sine_grid`: 2-D sine positions of a square of
  // rows, zeros before it
  float scale = 0;
};

// A rank holds one of the parts of a net that tensor parallelism makes: `shards` ranks share heads and hidden
// units as evenly as can be.
struct tensor_cut {
  std::int32_t shards = 1;
  std::int32_t shard = 0;
  // So many replicas share the experts of mixtures, and those alone; this rank is in one of them.
  std::int32_t replicas = 1;
  std::int32_t replica = 0;
  constexpr bool whole() const { return shards == 1; }
  constexpr bool over_replicas() const { return replicas > 1; }
  constexpr bool all_here() const { return whole() && !over_replicas(); }
  // All ranks of these replicas share the experts: the tensor group of one behind that of another.
  constexpr tensor_cut of_experts() const { return {shards * replicas, replica * shards + shard}; }
  constexpr interval share(isize whole) const { return motet::share(whole, shards, shard); }
};

// What cuts a parameter: nothing, a tensor group, or those who share the experts of mixtures.
enum class cut_by : std::uint8_t { nothing, tensor, experts };
inline constexpr int kinds_of_cut = 3;

// A block of a parameter as a rank holds it: its rows are contiguous.
struct parameter_slice {
  interval rows, columns;  // of the global tensor
  isize offset = 0;        // elements from the start of the flat buffer
  constexpr isize size() const { return rows.size() * columns.size(); }
};

// One named tensor of a net, with its global shape, what of it is held here, and its offset in the flat
// buffer.
struct parameter {
  std::string name;
  isize rows = 1;
  isize width = 1;
  bool vector = false;  // written to files as one dimension
  initial start;
  // weight decay: not for norms, biases and single numbers
  bool decay = true;
  // elements from the start of the flat buffer
  isize offset = 0;
  // one after the other; those of a vector are columns
  std::vector<interval> held_rows{{0, rows}}, held_columns{{0, width}};
  cut_by by = cut_by::nothing;  // then every rank that shares this stage with others holds all of it
  // The block of its net that it is in, or on which side of the blocks it stands: an embedding before them, a
  // head behind them. All of a net without blocks is behind.
  static constexpr isize before_blocks = -1, behind_blocks = -2;
  isize block = behind_blocks;
  isize stacked = 1;  // matrices of equal size, one below the other, as the weights of experts are
  // of the B of adapters: the rows of the weight that each of them stands beside
  std::vector<interval> adapts{};

  isize size() const { return rows * width; }  // of the global tensor
  isize held() const {
    isize held_of = 0, width_of = 0;
    for (const interval& each : held_rows) held_of += each.size();
    for (const interval& each : held_columns) width_of += each.size();
    return held_of * width_of;
  }
  // Slices say where the elements that are held come from. Only one side has several intervals, and a vector
  // has columns alone.
  std::vector<parameter_slice> slices() const;
};

// Each tensor starts on its own cache line.
constexpr isize parameter_space(isize elements) { return round_up(elements, 16); }

// A layer that tensor parallelism may cut, or that has such a part, tells the size of what a rank holds:
// L::size(cut). All others stay whole, with everything in them.
template <class L>
concept can_be_cut = requires(tensor_cut cut) { L::size(cut); };

// A list has the weights of a net, or the adapters beside them, which have a buffer of their own.
enum class listed : std::uint8_t { weights, adapters };

// Collects the parameters of a net: layers call matrix() and vector() in the order of their memory, and
// child() for their parts. With a cut, it lists what one rank holds of them.
class parameter_list {
 public:
  explicit parameter_list(tensor_cut cut = {}, listed what = listed::weights) : cut_(cut), what_(what) {}
  tensor_cut cut() const { return cut_; }

  void matrix(std::string_view name, isize rows, isize width, initial start, bool decay = true);
  void vector(std::string_view name, isize width, initial start);
  // A matrix of an adapter, beside what a layer has as weights.
  void adapter(std::string_view name, isize rows, isize width, initial start,
               std::vector<interval> adapts = {});
  template <class Layer>
  void child(std::string_view name) {
    const std::size_t outer = go_into(name);
    part<Layer>();
    come_back(outer);
  }
  // A function may list the parameters.
  template <class Write>
  void child(std::string_view name, Write&& write) {
    const std::size_t outer = go_into(name);
    write();
    come_back(outer);
  }
  // The parameters of a part that adds no name.
  template <class Layer>
  void part() {
    const tensor_cut outer = cut_;
    const bool outer_is_whole = whole_;
    if constexpr (!can_be_cut<Layer>) {
      cut_ = {};
      whole_ = true;
    }
    Layer::parameters(*this);
    cut_ = outer;
    whole_ = outer_is_whole;
  }
  // Only these rows are held of matrices that a function lists, and of vectors these elements.
  template <class Write>
  void of_rows(std::vector<interval> rows, Write&& write) {
    by_rows_ = true;
    held_ = std::move(rows);
    write();
    by_rows_ = false;
  }
  // Only these columns; vectors stay whole.
  template <class Write>
  void of_columns(interval columns, Write&& write) {
    by_columns_ = true;
    held_ = {columns};
    write();
    by_columns_ = false;
  }
  // Parameters that a function lists belong to this block (parameter::block). Of one within another the outer
  // one counts.
  template <class Write>
  void in_block(isize number, Write&& write) {
    const isize outer = block_;
    if (outer == parameter::behind_blocks) block_ = number;
    write();
    block_ = outer;
  }
  // Its matrices are so many, one below the other.
  template <class Write>
  void stacked(isize count, Write&& write) {
    stacked_ = count;
    write();
    stacked_ = 1;
  }
  // A product cut along its outputs.
  template <class Layer>
  void child_rows(std::string_view name, std::vector<interval> rows) {
    of_rows(std::move(rows), [&] { child(name, [&] { Layer::parameters(*this); }); });
  }
  // A product cut along its inputs: columns of the matrix; the bias stays whole.
  template <class Layer>
  void child_columns(std::string_view name, interval columns) {
    of_columns(columns, [&] { child(name, [&] { Layer::parameters(*this); }); });
  }
  const std::vector<parameter>& items() const { return items_; }
  isize used() const { return used_; }

 private:
  void push(parameter item, listed as = listed::weights);
  void keep(std::vector<interval>& side) const;
  std::size_t go_into(std::string_view name);
  void come_back(std::size_t outer) { prefix_.erase(outer); }
  std::string prefix_;
  tensor_cut cut_;
  listed what_;
  bool whole_ = false;                         // within a layer that is never cut
  bool by_rows_ = false, by_columns_ = false;  // within a product that is cut
  isize block_ = parameter::behind_blocks, stacked_ = 1;
  std::vector<interval> held_;  // of its outputs or inputs
  std::vector<parameter> items_;
  isize used_ = 0;
};

// A layer's slice of the flat buffers, and which part of the layer it is. `Numbers` travels in the type, so
// layers deduce the precision from their weights. Where a net learns by adapters alone, its gradients are
// those of adapters, and the others are none.
template <class Numbers>
struct weights {
  const typename Numbers::master* data = nullptr;
  tensor_cut cut{};
  const typename Numbers::master* adapters = nullptr;
  isize block = 0;  // of all that a tower repeats, the one that these belong to
  const typename Numbers::master* lent = nullptr;  // what a tail reads of its tower's embedding
  constexpr weights operator+(isize offset) const { return {data + offset, cut, adapters, block, lent}; }
};
template <class Numbers>
struct gradients {
  typename Numbers::master* data = nullptr;
  tensor_cut cut{};
  typename Numbers::master* adapters = nullptr;
  typename Numbers::master* lent = nullptr;
  constexpr gradients operator+(isize offset) const { return {data + offset, cut, adapters, lent}; }
};

#if !defined(MOTET_COMPILED_KERNELS)
MOTET_BODY std::vector<parameter_slice> parameter::slices() const {
  std::vector<parameter_slice> found;
  isize at = offset;
  for (const interval& of_rows : held_rows)
    for (const interval& of_columns : held_columns) {
      found.push_back({of_rows, of_columns, at});
      at += found.back().size();
    }
  return found;
}
MOTET_BODY void parameter_list::matrix(std::string_view name, isize rows, isize width, initial start,
                                       bool decay) {
  push({prefix_ + std::string(name), rows, width, false, start, decay, used_});
}
MOTET_BODY void parameter_list::vector(std::string_view name, isize width, initial start) {
  push({prefix_ + std::string(name), 1, width, true, start, false, used_});
}
MOTET_BODY void parameter_list::adapter(std::string_view name, isize rows, isize width, initial start,
                                        std::vector<interval> adapts) {
  parameter item{prefix_ + std::string(name), rows, width, false, start, true, used_};
  item.adapts = std::move(adapts);
  push(std::move(item), listed::adapters);
}
MOTET_BODY void parameter_list::push(parameter item, listed as) {
  if (as != what_) return;
  if (by_rows_) keep(item.vector ? item.held_columns : item.held_rows);
  if (by_columns_ && !item.vector) keep(item.held_columns);
  item.block = block_;
  item.stacked = item.vector ? 1 : stacked_;
  if (!whole_ && (by_rows_ || (by_columns_ && !item.vector)))
    item.by = stacked_ > 1 ? cut_by::experts : cut_by::tensor;
  used_ += parameter_space(item.held());
  items_.push_back(std::move(item));
}
// Neighbours among the intervals of one side become one.
MOTET_BODY void parameter_list::keep(std::vector<interval>& side) const {
  side.clear();
  for (const interval& each : held_) {
    if (each.size() == 0) continue;
    if (!side.empty() && side.back().end == each.begin) side.back().end = each.end;
    else side.push_back(each);
  }
}
MOTET_BODY std::size_t parameter_list::go_into(std::string_view name) {
  const std::size_t outer = prefix_.size();
  prefix_.append(name).append(".");
  return outer;
}
#endif

}  // namespace motet
