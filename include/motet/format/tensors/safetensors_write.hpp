// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/format/tensors/safetensors.hpp>
#include <motet/format/text/json_write.hpp>

namespace motet {

struct declared_tensor {
  std::string name;
  dtype kind = dtype::f32;
  std::vector<isize> shape;
};

// Writes a safetensors file: declare all tensors, write each of them once in any order, commit(). Nothing is
// kept in memory but the header, and the target appears only when it is complete (see atomic_file). Tensors
// of wider elements come first in the file, so that all of them are aligned.
// Asks for: all tensors declared, each by a name of its own, and written once.
// Memory: the header.
// Errors: MT-F05, MT-F06, MT-F12
// Example:
//   void write_one(const std::string& path, const std::vector<float>& numbers) {
//     safetensors_writer out(path, {{"weight", dtype::f32, {static_cast<std::ptrdiff_t>(numbers.size())}}});
//     out.write("weight", numbers.data());
//     out.commit();
//   }
class safetensors_writer {
 public:
  using metadata = std::vector<std::pair<std::string, std::string>>;

  safetensors_writer(const std::filesystem::path& target, std::vector<declared_tensor> tensors,
                     const metadata& about = {})
      : tensors_(std::move(tensors)), entries_(tensors_.size()), file_(target) {
    json header{json::object{}};
    if (!about.empty()) {
      json strings{json::object{}};
      for (const auto& [key, value] : about) strings.set(key, value);
      header.set("__metadata__", std::move(strings));
    }
    std::vector<std::size_t> order(tensors_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return dtype_bytes(tensors_[a].kind) > dtype_bytes(tensors_[b].kind);
    });
    std::uint64_t at = 0;
    for (const std::size_t i : order) {
      const declared_tensor& tensor = tensors_[i];
      const auto bytes = tensor_bytes(tensor.shape, tensor.kind);
      if (!bytes || tensor.name == "__metadata__")
        fail(safetensors_misuse, "\"" + tensor.name + "\" " + shape_text(tensor.shape) + " cannot be stored");
      if (!by_name_.emplace(tensor.name, i).second)
        fail(safetensors_misuse, "\"" + tensor.name + "\" is declared twice");
      entries_[i] = {at, as_size(*bytes), false};
      at += *bytes;
      json shape{json::array{}};
      for (const isize extent : tensor.shape) shape.push_back(extent);
      header.set(tensor.name, json{{"dtype", name_of(tensor.kind)},
                                   {"shape", std::move(shape)},
                                   {"data_offsets", json::array{at - *bytes, at}}});
    }
    std::string text = write_json(header);
    text.append((8 - text.size() % 8) % 8, ' ');
    if (text.size() > detail::safetensors_header_limit)
      fail(safetensors_misuse,
           sentence({"a header of ", text.size(), " bytes; at most 100000000 are allowed"}));
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i)
      length[i] = static_cast<char>(static_cast<unsigned char>(text.size() >> (8 * i)));
    file_.write(length + text);
    data_begin_ = 8 + text.size();
  }

  void write(std::string_view name, std::span<const std::byte> bytes) {
    const auto found = by_name_.find(std::string(name));
    if (found == by_name_.end()) fail(safetensors_misuse, "\"" + std::string(name) + "\" was not declared");
    entry& where = entries_[found->second];
    if (where.written || where.bytes != bytes.size()) {
      fail(safetensors_misuse,
           "\"" + std::string(name) + "\" " +
               (where.written ? "is written twice"
                              : sentence({"takes ", where.bytes, " bytes, got ", bytes.size()})));
    }
    file_.write_at(data_begin_ + as_size(where.begin), bytes);
    where.written = true;
  }
  // The elements are of the declared type.
  template <class T>
  void write(std::string_view name, const T* elements) {
    const auto found = by_name_.find(std::string(name));
    if (found != by_name_.end() && tensors_[found->second].kind != dtype_of<T>) {
      fail(safetensors_misuse, "\"" + std::string(name) + "\" was declared as " +
                                   std::string(name_of(tensors_[found->second].kind)) + ", got " +
                                   std::string(name_of(dtype_of<T>)));
    }
    write(name, std::span(reinterpret_cast<const std::byte*>(elements),
                          found == by_name_.end() ? 0 : entries_[found->second].bytes));
  }

  void commit() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].written && entries_[i].bytes != 0)
        fail(safetensors_misuse, "\"" + tensors_[i].name + "\" was declared and never written");
    }
    file_.commit();
  }

 private:
  struct entry {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    bool written = false;
  };
  std::vector<declared_tensor> tensors_;
  std::vector<entry> entries_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::size_t data_begin_ = 0;
  atomic_file file_;
};

}  // namespace motet
