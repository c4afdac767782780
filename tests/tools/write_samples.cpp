// SPDX-License-Identifier: Apache-2.0

// Writes into the folder given: samples.safetensors, with every type and shape that may trip a reader, and
// checkpoints. read_safetensors.py reads them.
#include <motet/format/checkpoint/checkpoint_write.hpp>

#include <cstdio>
#include <numeric>

int main(int count, char** words) {
  if (count != 2) return std::fputs("write_samples FOLDER\n", stderr), 2;
  const std::filesystem::path folder = words[1];
  using motet::dtype;
  const motet::dtype kinds[] = {dtype::u8,  dtype::i8,  dtype::i16, dtype::f16, dtype::bf16,
                                dtype::i32, dtype::f32, dtype::i64, dtype::f64, dtype::boolean};
  std::vector<motet::declared_tensor> declared{{"scalar", dtype::f32, {}},
                                               {"none", dtype::f32, {0, 7}},
                                               {"caf\xc3\xa9 \"quoted\"\n", dtype::f32, {1}},
                                               {"cube", dtype::f32, {2, 3, 4}}};
  for (const dtype kind : kinds) declared.push_back({"type " + std::string(motet::name_of(kind)), kind, {3}});
  motet::safetensors_writer writer(folder / "samples.safetensors", declared,
                                   {{"format", "pt"}, {"note", "line\nbreak"}});
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.5f);
  writer.write("cube", values.data());
  writer.write("scalar", values.data());
  writer.write("caf\xc3\xa9 \"quoted\"\n", values.data());
  for (const dtype kind : kinds) {
    // 1, 0, 1 as each type writes them.
    std::vector<std::byte> bytes(static_cast<std::size_t>(3 * motet::dtype_bytes(kind)));
    const auto one = static_cast<std::uint64_t>(kind == dtype::f16    ? 0x3c00
                                                : kind == dtype::bf16 ? 0x3f80
                                                : kind == dtype::f32  ? 0x3f800000
                                                : kind == dtype::f64  ? 0x3ff0000000000000
                                                                      : 1);
    const std::size_t size = bytes.size() / 3;
    std::memcpy(bytes.data(), &one, size);
    std::memcpy(bytes.data() + 2 * size, &one, size);
    writer.write("type " + std::string(motet::name_of(kind)), bytes);
  }
  writer.commit();

  const std::vector<motet::saved_tensor> weights{{"picture.embed.class", {24}, values.data()},
                                                 {"picture.blocks.0.mlp.up.weight", {4, 6}, values.data()}};
  const std::vector<motet::saved_tensor> moments{{"picture.embed.class.m", {24}, values.data()},
                                                 {"picture.embed.class.v", {24}, values.data()}};
  motet::save_checkpoint(folder / "run", {7, "sample", motet::json{{"seed", 1}}, weights, moments});

  // Two ranks write it as well, cut within a row.
  const std::vector<motet::isize> up{4, 6};
  for (const motet::isize part : {0, 1}) {
    std::vector<motet::saved_slice> own, moment;
    motet::append_run<const float>(own, "picture.blocks.0.mlp.up.weight", up, motet::matrix_of(up),
                                   part == 0 ? motet::interval{0, 15} : motet::interval{15, 24},
                                   values.data() + 15 * part);
    if (part == 0) own.push_back({"picture.embed.class", {24}, {{0, 1}, {0, 7}}, values.data()});
    if (part == 1) own.push_back({"picture.embed.class", {24}, {{0, 1}, {7, 24}}, values.data() + 7});
    if (part == 1)
      moment.push_back(motet::whole_slice<const float>("picture.embed.class.m", {24}, values.data()));
    motet::write_checkpoint_part(folder / "parts", {7, "sample", part, 2, own, moment});
  }
  motet::finish_checkpoint(folder / "parts", {7, "sample", 2, motet::json{{"seed", 1}}});
}
