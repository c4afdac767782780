// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace motet {

enum class fill : std::uint8_t { zeros, ones, normal, constant, sine_grid };

// How a parameter starts, keyed by its global name and element number, so that every plan draws the same values.
struct initial {
  fill kind = fill::zeros;
  float scale = 0;  // deviation of `normal`, value of `constant`, height of `sine_grid`: 2-D sine positions of a square of rows, zeros before it
};

// Along which side tensor parallelism may cut a parameter.
enum class shard : std::uint8_t { whole, rows, columns, heads };

// One named tensor of a net, with its global shape and its place in the net's flat buffer.
struct parameter {
  std::string name;
  index rows = 1;
  index width = 1;
  bool vector = false;  // written to files as one dimension
  initial start;
  shard cut = shard::whole;
  bool decay = true;  // weight decay: not for norms, biases and single numbers
  index offset = 0;   // elements from the start of the flat buffer
  index size() const { return rows * width; }
};

// Each tensor starts on its own cache line.
constexpr index parameter_space(index elements) { return round_up(elements, 16); }

// Collects the parameters of a net: layers call matrix() and vector() in the order of their memory, and child() for their parts.
class parameter_list {
 public:
  void matrix(std::string_view name, index rows, index width, initial start, shard cut, bool decay = true) {
    push({prefix_ + std::string(name), rows, width, false, start, cut, decay, used_});
  }
  void vector(std::string_view name, index width, initial start, shard cut = shard::whole) {
    push({prefix_ + std::string(name), 1, width, true, start, cut, false, used_});
  }
  template <class Layer>
  void child(std::string_view name) {
    const std::size_t length = prefix_.size();
    prefix_.append(name).append(".");
    Layer::parameters(*this);
    prefix_.resize(length);
  }
  const std::vector<parameter>& items() const { return items_; }
  index used() const { return used_; }

 private:
  void push(parameter item) {
    used_ += parameter_space(item.size());
    items_.push_back(std::move(item));
  }
  std::string prefix_;
  std::vector<parameter> items_;
  index used_ = 0;
};

// A layer's slice of the flat buffers. `Numbers` travels in the type, so layers deduce the precision from their weights.
template <class Numbers>
struct weights {
  const typename Numbers::master* data = nullptr;
  constexpr weights operator+(index offset) const { return {data + offset}; }
};
template <class Numbers>
struct gradients {
  typename Numbers::master* data = nullptr;
  constexpr gradients operator+(index offset) const { return {data + offset}; }
};

}  // namespace motet
