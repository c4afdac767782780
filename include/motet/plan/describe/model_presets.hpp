// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/tower.hpp>

namespace motet {

// Models that need no file.
struct known_model {
  std::string_view name, about;
  model_shape (*make)();
};

namespace detail {

// A tower of the paper on DistMM (Table 2): a GPT-3 by layers and width, where 5140 is taken for 5120, which
// 40 heads divide. The size of a patch is not published; 14 of 336 makes 577 rows.
struct published_size {
  isize layers, width, heads;
};
inline constexpr published_size of_350m{24, 1024, 16}, of_760m{24, 1536, 16}, of_2_7b{32, 2560, 32},
    of_6_7b{32, 4096, 32}, of_13b{40, 5120, 40};
inline constexpr isize published_embedding = 1024;

constexpr tower_outline stack(label name, isize layers, isize width, isize heads, isize tokens,
                              isize embedding) {
  tower_outline out;
  out.name = name;
  out.layers = layers;
  out.width = width;
  out.heads = heads;
  out.tokens = tokens;
  out.embedding = embedding;
  return out;
}
// Pictures of `rows` patches and a class row.
constexpr tower_outline sight(tower_outline out, isize rows, isize patch) {
  out.tokens = rows + 1;
  out.patch = patch;
  out.class_row = true;
  return out;
}
constexpr tower_outline words(tower_outline out, isize vocabulary) {
  out.vocabulary = vocabulary;
  out.causal = true;
  return out;
}
constexpr model_shape published(label name, published_size vision, published_size text) {
  model_shape out;
  out.name = name;
  out.towers.push(sight(stack("vision", vision.layers, vision.width, vision.heads, 0, published_embedding),
                        24 * 24, 3 * 14 * 14));
  out.towers.push(words(stack("text", text.layers, text.width, text.heads, 77, published_embedding), 49408));
  return out;
}
// As LiT really is: pictures go through a tower that no longer learns, once for all epochs.
constexpr model_shape locked(label name, published_size vision, published_size text) {
  model_shape out = published(name, vision, text);
  out.towers[0].frozen = out.towers[0].cached = true;
  return out;
}

// As train_clip has them: each reads one row, for which alone the last block is computed.
constexpr model_shape own_clip(label name, tower_outline picture, isize side, isize patch,
                               tower_outline caption, isize vocabulary) {
  model_shape out;
  out.name = name;
  picture.pre_norm = true;
  out.towers.push(sight(picture, side * side, 3 * patch * patch));
  out.towers.push(words(caption, vocabulary));
  for (isize k = 0; k < 2; ++k) {
    tower_outline& each = out.towers[k];
    each.hidden = 4 * each.width;
    each.end = tower_end::block_of_row;
  }
  return out;
}

}  // namespace detail

inline constexpr known_model known_models[] = {
    {"quick", "train_clip's quickstart",
     [] {
       return detail::own_clip("quick", detail::stack("picture", 4, 128, 4, 0, 128), 8, 8,
                               detail::stack("caption", 2, 128, 4, 32, 128), 1024);
     }},
    {"tiny", "the smallest of the benchmarks",
     [] {
       return detail::own_clip("tiny", detail::stack("picture", 6, 192, 3, 0, 128), 8, 8,
                               detail::stack("caption", 4, 128, 2, 32, 128), 1024);
     }},
    {"small", "the one that benchmarks compare most",
     [] {
       return detail::own_clip("small", detail::stack("picture", 12, 384, 6, 0, 256), 8, 8,
                               detail::stack("caption", 6, 256, 4, 32, 256), 1024);
     }},
    {"b16", "CLIP ViT-B/16",
     [] {
       return detail::own_clip("b16", detail::stack("picture", 12, 768, 12, 0, 512), 14, 16,
                               detail::stack("caption", 12, 512, 8, 77, 512), 49408);
     }},
    {"l14", "CLIP ViT-L/14",
     [] {
       return detail::own_clip("l14", detail::stack("picture", 24, 1024, 16, 0, 768), 16, 14,
                               detail::stack("caption", 12, 768, 12, 77, 768), 49408);
     }},
    {"clip-1.1b", "DistMM's CLIP for single devices",
     [] { return detail::published("clip-1.1b", detail::of_760m, detail::of_350m); }},
    {"clip-9.3b", "DistMM's CLIP for single nodes",
     [] { return detail::published("clip-9.3b", detail::of_6_7b, detail::of_2_7b); }},
    {"clip-19.7b", "DistMM's CLIP for several nodes",
     [] { return detail::published("clip-19.7b", detail::of_13b, detail::of_6_7b); }},
    {"coca-1.5b", "DistMM's CoCa for single devices",
     [] { return detail::published("coca-1.5b", detail::of_760m, detail::of_760m); }},
    {"coca-13.4b", "DistMM's CoCa for single nodes",
     [] { return detail::published("coca-13.4b", detail::of_6_7b, detail::of_6_7b); }},
    {"coca-26b", "DistMM's CoCa for several nodes",
     [] { return detail::published("coca-26b", detail::of_13b, detail::of_13b); }},
    {"lit-1.1b", "DistMM's LiT for single devices, where both towers learn",
     [] { return detail::published("lit-1.1b", detail::of_350m, detail::of_760m); }},
    {"lit-9.4b", "DistMM's LiT for single nodes",
     [] { return detail::published("lit-9.4b", detail::of_2_7b, detail::of_6_7b); }},
    {"lit-19.7b", "DistMM's LiT for several nodes",
     [] { return detail::published("lit-19.7b", detail::of_6_7b, detail::of_13b); }},
    {"locked-1.1b", "LiT as it is: the pictures' features are computed before",
     [] { return detail::locked("locked-1.1b", detail::of_350m, detail::of_760m); }},
    {"locked-9.4b", "the same, larger",
     [] { return detail::locked("locked-9.4b", detail::of_2_7b, detail::of_6_7b); }},
    {"locked-19.7b", "the same, larger still",
     [] { return detail::locked("locked-19.7b", detail::of_6_7b, detail::of_13b); }},
    {"three-towers", "pictures (ViT-H/14), texts and sounds (ViT-B/16), as ImageBind has them",
     [] {
       model_shape out;
       out.name = "three-towers";
       out.towers.push(detail::sight(detail::stack("image", 32, 1280, 16, 0, 1024), 256, 3 * 14 * 14));
       out.towers.push(detail::words(detail::stack("text", 24, 1024, 16, 77, 1024), 49408));
       out.towers.push(detail::sight(detail::stack("audio", 12, 768, 12, 0, 1024), 228, 16 * 16));
       return out;
     }},
};

// The model of this name, to be made by make(); null when there is none.
// Asks for: a name that is listed here.
// Memory: none before make().
// Errors: none of its own.
// Example:
//   static_assert(find_model("b16") != nullptr && find_model("b17") == nullptr);
constexpr const known_model* find_model(std::string_view name) {
  for (const known_model& each : known_models)
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace motet
