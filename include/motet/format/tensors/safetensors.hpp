// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/tensor/dtype.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace motet {

struct dtype_name {
  dtype kind;
  std::string_view name;
};
inline constexpr dtype_name safetensors_dtypes[] = {
    {dtype::boolean, "BOOL"}, {dtype::u8, "U8"},           {dtype::i8, "I8"},          {dtype::u16, "U16"},
    {dtype::i16, "I16"},      {dtype::u32, "U32"},         {dtype::i32, "I32"},        {dtype::u64, "U64"},
    {dtype::i64, "I64"},      {dtype::f16, "F16"},         {dtype::bf16, "BF16"},      {dtype::f32, "F32"},
    {dtype::f64, "F64"},      {dtype::f8_e4m3, "F8_E4M3"}, {dtype::f8_e5m2, "F8_E5M2"}};

constexpr std::string_view name_of(dtype kind) {
  for (const dtype_name& row : safetensors_dtypes) {
    if (row.kind == kind) return row.name;
  }
  return "?";
}

inline std::string shape_text(std::span<const isize> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

// A tensor inside a file. `bytes` are little-endian, row-major, and need not be aligned.
struct stored_tensor {
  std::string name;
  dtype kind = dtype::f32;
  std::vector<isize> shape;
  std::span<const std::byte> bytes;

  isize elements() const { return static_cast<isize>(bytes.size()) / dtype_bytes(kind); }
};

struct safetensors_contents {
  std::vector<stored_tensor> tensors;  // in the order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Bytes of a tensor, or nothing when they cannot be counted in 63 bits.
inline std::optional<std::uint64_t> tensor_bytes(std::span<const isize> shape, dtype kind) {
  std::uint64_t bytes = static_cast<std::uint64_t>(dtype_bytes(kind));
  bool empty = false;
  for (const isize extent : shape) {
    if (extent == 0) empty = true;
  }
  if (empty) return 0;
  for (const isize extent : shape) {
    if (static_cast<std::uint64_t>(extent) > static_cast<std::uint64_t>(INT64_MAX) / bytes)
      return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

namespace detail {

inline constexpr std::uint64_t safetensors_header_limit = 100'000'000;

struct located_tensor {
  stored_tensor tensor;
  std::uint64_t begin = 0, end = 0;
};

inline located_tensor read_tensor_entry(const std::string& name, const json& entry,
                                        const std::string& where) {
  const auto refuse = [&](const std::string& why) {
    fail(safetensors_malformed, where + ": tensor \"" + name + "\" " + why);
  };
  const auto count = [&](const json& value) {
    if (!value.is_integer() || value.number() < 0 ||
        value.unsigned_integer() > static_cast<std::uint64_t>(INT64_MAX))
      refuse("has a size that is not a count");
    return value.unsigned_integer();
  };
  located_tensor located;
  located.tensor.name = name;
  if (!entry.is_object()) refuse("is not described by an object");
  const json *kind = entry.find("dtype"), *shape = entry.find("shape"), *offsets = entry.find("data_offsets");
  if (kind == nullptr || !kind->is_string()) refuse("has no dtype");
  if (shape == nullptr || !shape->is_array()) refuse("has no shape");
  if (offsets == nullptr || !offsets->is_array() || offsets->items().size() != 2)
    refuse("has no data_offsets [begin, end]");
  const auto row = std::find_if(std::begin(safetensors_dtypes), std::end(safetensors_dtypes),
                                [&](const dtype_name& r) { return r.name == kind->string(); });
  if (row == std::end(safetensors_dtypes))
    refuse("has the dtype " + kind->string() + ", which is not known here");
  located.tensor.kind = row->kind;
  for (const json& extent : shape->items()) located.tensor.shape.push_back(static_cast<isize>(count(extent)));
  located.begin = count(offsets->items()[0]);
  located.end = count(offsets->items()[1]);
  const auto bytes = tensor_bytes(located.tensor.shape, located.tensor.kind);
  const std::string described = std::string(row->name) + " " + shape_text(located.tensor.shape);
  if (!bytes) refuse("has a size beyond 64 bits: " + described);
  if (located.begin > located.end || located.end - located.begin != *bytes) {
    refuse(sentence(
        {"takes bytes ", located.begin, " to ", located.end, ", but ", described, " needs ", *bytes}));
  }
  return located;
}

}  // namespace detail

// Checks a whole file and says where each tensor lies: the header's length and JSON, every dtype, shape and
// offset, and that the tensors follow one another without gap or overlap up to the last byte. Throws MT-F07,
// or MT-F08 when bytes are missing at the end. `where` stands in the message.
inline safetensors_contents read_safetensors(std::span<const std::byte> file, const std::string& where) {
  if (file.size() < 8)
    fail(safetensors_cut,
         sentence({where, ": ", file.size(), " bytes, wanted at least 8 for the header's length"}));
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 8; i-- > 0;)
    header_bytes = (header_bytes << 8) | std::to_integer<std::uint64_t>(file[i]);
  if (header_bytes > detail::safetensors_header_limit) {
    fail(safetensors_malformed,
         sentence({where, ": a header of ", header_bytes, " bytes; at most 100000000 are allowed"}));
  }
  if (header_bytes > file.size() - 8) {
    fail(safetensors_cut, sentence({where, ": the header takes ", header_bytes, " bytes, ",
                                    header_bytes - (file.size() - 8), " of them are missing"}));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, as_size(header_bytes));
  if (text.empty() || text.front() != '{')
    fail(safetensors_malformed, where + ": the header does not begin with {");
  const json header = read_json(text, where + " (header)");
  const std::span<const std::byte> data = file.subspan(8 + as_size(header_bytes));

  safetensors_contents contents;
  std::vector<detail::located_tensor> located;
  for (const auto& [name, entry] : header.members()) {
    if (name != "__metadata__") {
      located.push_back(detail::read_tensor_entry(name, entry, where));
      continue;
    }
    if (!entry.is_object()) fail(safetensors_malformed, where + ": __metadata__ is not an object");
    for (const auto& [key, value] : entry.members()) {
      if (!value.is_string())
        fail(safetensors_malformed, where + ": __metadata__ \"" + key + "\" is not a string");
      contents.metadata.emplace_back(key, value.string());
    }
  }
  std::stable_sort(located.begin(), located.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (auto& [tensor, begin, end] : located) {
    if (begin != at) {
      fail(safetensors_malformed,
           sentence({where, ": tensor \"", tensor.name, "\" begins at byte ", begin, " of the data, ",
                     (begin > at ? "after a gap of " : "overlapping the one before by "),
                     begin > at ? begin - at : at - begin, " bytes"}));
    }
    if (end > data.size()) {
      fail(safetensors_cut, sentence({where, ": tensor \"", tensor.name, "\" ends at byte ", end,
                                      " of the data, of which there are ", data.size(), "; ",
                                      located.back().end - data.size(), " bytes are missing from the file"}));
    }
    tensor.bytes = data.subspan(as_size(begin), as_size(end - begin));
    at = end;
    contents.tensors.push_back(std::move(tensor));
  }
  if (at != data.size())
    fail(safetensors_malformed, sentence({where, ": ", data.size() - at, " bytes follow the last tensor"}));
  return contents;
}

// One file, mapped and checked when it is opened.
// Asks for: a whole file, which stays as it is while it is open.
// Memory: the header; bytes of tensors are mapped, not read.
// Errors: MT-F04, MT-F07, MT-F08, MT-F09
// Example:
//   std::ptrdiff_t elements(const std::string& path, std::string_view name) {
//     return safetensors_file(path).at(name).elements();
//   }
class safetensors_file {
 public:
  explicit safetensors_file(const std::filesystem::path& path)
      : path_(path.string()), file_(path), contents_(read_safetensors(file_.bytes(), path_)) {
    for (std::size_t i = 0; i < contents_.tensors.size(); ++i) by_name_.emplace(contents_.tensors[i].name, i);
  }
  const std::string& path() const { return path_; }
  std::size_t bytes() const { return file_.bytes().size(); }
  const std::vector<stored_tensor>& tensors() const { return contents_.tensors; }
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return contents_.metadata; }
  const stored_tensor* find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &contents_.tensors[found->second];
  }
  const stored_tensor& at(std::string_view name) const {
    const stored_tensor* found = find(name);
    if (found == nullptr) fail(tensor_missing, path_ + " has no tensor \"" + std::string(name) + "\"");
    return *found;
  }

 private:
  std::string path_;
  mapped_file file_;
  safetensors_contents contents_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace motet
