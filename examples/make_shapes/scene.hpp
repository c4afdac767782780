// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/random.hpp>

#include <algorithm>
#include <iterator>

namespace motet::shapes {

// These can be drawn, and have these words: the first is the name, the others are synonyms.

struct colour {
  const char* words[3];
  float rgb[3];
};
inline constexpr colour colours[] = {
    {{"red", "crimson", "scarlet"}, {220, 25, 35}},  {{"orange", "tangerine", "pumpkin"}, {250, 130, 15}},
    {{"yellow", "golden", "lemon"}, {250, 228, 40}}, {{"green", "emerald", "leafy"}, {30, 165, 55}},
    {{"cyan", "turquoise", "aqua"}, {40, 215, 225}}, {{"blue", "cobalt", "sapphire"}, {35, 70, 225}},
    {{"purple", "violet", "plum"}, {150, 45, 200}},  {{"white", "ivory", "snowy"}, {250, 250, 250}},
    {{"pink", "rosy", "salmon"}, {255, 125, 185}},   {{"silver", "ashen", "leaden"}, {128, 134, 142}},
};
enum class outline { circle, square, triangle, star, ring };
struct shape {
  const char* words[2];
  const char* plurals[2];
};
inline constexpr shape shapes[] = {
    {{"circle", "disc"}, {"circles", "discs"}},       {{"square", "box"}, {"squares", "boxes"}},
    {{"triangle", "wedge"}, {"triangles", "wedges"}}, {{"star", "pentagram"}, {"stars", "pentagrams"}},
    {{"ring", "hoop"}, {"rings", "hoops"}},
};
inline constexpr isize colour_count = std::size(colours), shape_count = std::size(shapes),
                       class_count = colour_count * shape_count;

// Backgrounds stay dark and grey or brown, so that no object hides in one.
enum class texture { plain, stripes, checks, gradient, spots };
struct backdrop {
  const char* words[2];
  texture pattern;
};
inline constexpr backdrop backdrops[] = {
    {{"plain", "smooth"}, texture::plain},         {{"striped", "lined"}, texture::stripes},
    {{"checkered", "chequered"}, texture::checks}, {{"shaded", "fading"}, texture::gradient},
    {{"spotted", "dotted"}, texture::spots},
};
struct ground {
  const char* word;
  float rgb[3];
};
inline constexpr ground grounds[] = {
    {"black", {14, 14, 16}}, {"grey", {66, 68, 70}}, {"brown", {72, 48, 30}}, {"slate", {36, 48, 64}}};

struct place {
  const char* word;
  float x, y;  // of the middle, in units of what the radius leaves free
};
inline constexpr place places[] = {
    {"in the middle", 0, 0},       {"on the left", -1, 0},      {"on the right", 1, 0},
    {"at the top", 0, -1},         {"at the bottom", 0, 1},     {"in the centre", 0, 0},
    {"in the top left", -1, -1},   {"in the top right", 1, -1}, {"in the bottom left", -1, 1},
    {"in the bottom right", 1, 1},
};
inline constexpr const char* numbers[] = {"", "one", "two", "three", "four"};

// Draws one after another from a counter-based stream, so that a picture's choices depend on its own number
// only.
class dice {
 public:
  dice(std::uint64_t seed, std::string_view split, isize picture_number)
      : stream_(seed, random_stream::hash(split) +
                          0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(picture_number + 1)) {}
  isize below(isize bound) {
    return static_cast<isize>(stream_.below(at_++, static_cast<std::uint32_t>(bound)));
  }
  float between(float low, float high) { return low + (high - low) * stream_.uniform(at_++); }
  bool chance(float probability) { return stream_.uniform(at_++) < probability; }
  const random_stream& stream() const { return stream_; }

 private:
  random_stream stream_;
  std::uint64_t at_ = 0;
};

struct scene {
  isize hue = 0, form = 0;
  isize number = 1;
  const char* size_word = "";
  float radius = 16;  // in pixels of a picture of side 64
  isize where = 0;    // of a single object
  struct spot {
    float x, y, turn;
  } spots[4]{};
  isize backdrop_kind = 0, ground_kind = 0;
  float tint[3]{}, ground_rgb[3]{};
  float phase = 0, slope_x = 0, slope_y = 0, noise = 0;

  isize class_id() const { return hue * shape_count + form; }
};

inline scene imagine(dice& roll, isize class_id) {
  scene made;
  made.hue = class_id / shape_count;
  made.form = class_id % shape_count;
  const float u = roll.between(0, 1);
  made.number = u < 0.85f ? 1 : u < 0.93f ? 2 : u < 0.97f ? 3 : 4;
  if (made.number == 1) {
    const isize size = roll.below(3);
    made.size_word = size == 0 ? "small" : size == 2 ? "large" : "";
    made.radius = size == 0 ? roll.between(15, 17) : size == 1 ? roll.between(19, 22) : roll.between(23, 26);
    // The middle more often than any other place, as in real photos.
    made.where = roll.chance(0.3f) ? 0 : roll.below(std::size(places));
    const float free = 31 - made.radius;
    const place& at = places[made.where];
    made.spots[0] = {32 + at.x * free + roll.between(-2, 2), 32 + at.y * free + roll.between(-2, 2), 0};
  } else {
    made.radius = roll.between(14, 15.5f);
    // Corners of the picture, taken in a random order; two objects take opposite ones.
    const isize first = roll.below(4), step = made.number == 2 ? 2 : 1;
    for (isize i = 0; i < made.number; ++i) {
      const isize corner = (first + i * step) % 4;
      const float x = corner == 0 || corner == 3 ? -1.0f : 1.0f, y = corner < 2 ? -1.0f : 1.0f;
      made.spots[i] = {32 + x * 16 + roll.between(-1.5f, 1.5f), 32 + y * 16 + roll.between(-1.5f, 1.5f), 0};
    }
  }
  for (isize i = 0; i < made.number; ++i) made.spots[i].turn = roll.between(-0.12f, 0.12f);
  made.backdrop_kind = roll.below(std::size(backdrops));
  made.ground_kind = roll.below(std::size(grounds));
  const float shade = roll.between(0.88f, 1.08f), darkness = roll.between(0.8f, 1.25f);
  for (isize c = 0; c < 3; ++c) {
    made.tint[c] = std::min(255.0f, colours[made.hue].rgb[c] * shade + roll.between(-9, 9));
    made.ground_rgb[c] = grounds[made.ground_kind].rgb[c] * darkness + roll.between(-6, 6);
  }
  made.phase = roll.between(0, 64);
  made.slope_x = roll.between(-0.12f, 0.12f);
  made.slope_y = roll.between(-0.12f, 0.12f);
  made.noise = roll.between(2, 7);
  return made;
}

}  // namespace motet::shapes
