// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene.hpp"

#include <motet/data/pictures/bitmap.hpp>

#include <cmath>
#include <vector>

namespace motet::shapes {

// Every outline is a signed distance (negative inside) for radius 1; half a pixel on either side of zero is
// the smooth edge.

inline float distance_to_segment(float x, float y, float ax, float ay, float bx, float by) {
  const float t = std::clamp(
      ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) * (bx - ax) + (by - ay) * (by - ay)), 0.0f,
      1.0f);
  return std::hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay));
}

// Any polygon, by the even-odd rule.
template <std::size_t Corners>
inline float distance_to_polygon(float x, float y, const float (&corner)[Corners][2]) {
  float nearest = 1e9f;
  bool inside = false;
  for (std::size_t i = 0, j = Corners - 1; i < Corners; j = i++) {
    nearest =
        std::min(nearest, distance_to_segment(x, y, corner[j][0], corner[j][1], corner[i][0], corner[i][1]));
    const bool crosses = (corner[i][1] > y) != (corner[j][1] > y);
    if (crosses &&
        x < (corner[j][0] - corner[i][0]) * (y - corner[i][1]) / (corner[j][1] - corner[i][1]) + corner[i][0])
      inside = !inside;
  }
  return inside ? -nearest : nearest;
}

inline float distance_to_box(float x, float y, float half_width, float half_height) {
  const float dx = std::fabs(x) - half_width, dy = std::fabs(y) - half_height;
  return std::hypot(std::max(dx, 0.0f), std::max(dy, 0.0f)) + std::min(std::max(dx, dy), 0.0f);
}

inline float signed_distance(outline form, float x, float y) {
  static constexpr float triangle[3][2] = {{0, -1}, {0.95f, 0.75f}, {-0.95f, 0.75f}};
  static constexpr float star[10][2] = {
      {0, -1},   {0.2351f, -0.3236f}, {0.9511f, -0.3090f}, {0.3804f, 0.1236f},   {0.5878f, 0.8090f},
      {0, 0.4f}, {-0.5878f, 0.8090f}, {-0.3804f, 0.1236f}, {-0.9511f, -0.3090f}, {-0.2351f, -0.3236f}};
  switch (form) {
    case outline::circle: return std::hypot(x, y) - 0.95f;
    case outline::square: return distance_to_box(x, y, 0.8f, 0.8f);
    case outline::triangle: return distance_to_polygon(x, y, triangle);
    case outline::star: return distance_to_polygon(x, y, star);
    case outline::ring: return std::fabs(std::hypot(x, y) - 0.74f) - 0.21f;
  }
  return 1;
}

inline float pattern_at(texture pattern, float x, float y, float phase) {
  switch (pattern) {
    case texture::plain: return 1;
    case texture::stripes: return std::fmod(x + y + phase, 12.0f) < 6 ? 1.0f : 0.85f;
    case texture::checks:
      return (static_cast<int>((x + phase) / 8) + static_cast<int>((y + phase) / 8)) % 2 == 0 ? 1.0f : 0.85f;
    case texture::gradient: return 0.75f + 0.4f * (phase < 32 ? x : y) / 64;
    case texture::spots: {
      const float dx = std::fmod(x + phase, 10.0f) - 5, dy = std::fmod(y + phase, 10.0f) - 5;
      return dx * dx + dy * dy < 8 ? 1.12f : 0.94f;
    }
  }
  return 1;
}

class canvas {
 public:
  explicit canvas(isize side) : side_(side), light_(static_cast<std::size_t>(side * side * 3)) {
    shot_.width = shot_.height = side;
    shot_.pixels.resize(light_.size());
  }

  const bitmap& draw(const scene& shown, const random_stream& noise) {
    const float scale = static_cast<float>(side_) / 64, pixel = 1 / scale;
    for (isize row = 0; row < side_; ++row) {
      for (isize column = 0; column < side_; ++column) {
        const float x = (static_cast<float>(column) + 0.5f) * pixel,
                    y = (static_cast<float>(row) + 0.5f) * pixel;
        const float light = pattern_at(backdrops[shown.backdrop_kind].pattern, x, y, shown.phase);
        for (isize c = 0; c < 3; ++c) at(row, column)[c] = shown.ground_rgb[c] * light;
      }
    }
    for (isize i = 0; i < shown.number; ++i) stamp(shown, shown.spots[i], scale);
    develop(shown.noise, noise);
    return shot_;
  }

 private:
  float* at(isize row, isize column) { return light_.data() + (row * side_ + column) * 3; }

  void stamp(const scene& shown, const scene::spot& spot, float scale) {
    const float cosine = std::cos(spot.turn), sine = std::sin(spot.turn), reach = shown.radius * 1.15f;
    const auto bound = [&](float value) {
      return std::clamp(static_cast<isize>(value * scale), isize{0}, side_);
    };
    for (isize row = bound(spot.y - reach); row < bound(spot.y + reach + 1); ++row) {
      for (isize column = bound(spot.x - reach); column < bound(spot.x + reach + 1); ++column) {
        const float dx = ((static_cast<float>(column) + 0.5f) / scale - spot.x) / shown.radius;
        const float dy = ((static_cast<float>(row) + 0.5f) / scale - spot.y) / shown.radius;
        const float d = signed_distance(static_cast<outline>(shown.form), cosine * dx + sine * dy,
                                        cosine * dy - sine * dx);
        const float cover = std::clamp(0.5f - d * shown.radius * scale, 0.0f, 1.0f);
        if (cover <= 0) continue;
        const float light = 1 + shown.slope_x * dx + shown.slope_y * dy;
        for (isize c = 0; c < 3; ++c)
          at(row, column)[c] += cover * (shown.tint[c] * light - at(row, column)[c]);
      }
    }
  }

  // Sensor noise, then 8 bits. The sum of four bytes is close enough to a normal distribution, and cheap.
  void develop(float sigma, const random_stream& noise) {
    const float scale = sigma / 147.8f;  // of the sum of four even distributions on 0..255
    for (std::size_t i = 0; i < light_.size(); i += 4) {
      const auto words = noise.block((std::uint64_t{1} << 32) + i / 4);
      for (std::size_t k = 0; k < 4 && i + k < light_.size(); ++k) {
        const std::uint32_t w = words[k];
        const float sum =
            static_cast<float>((w & 255) + ((w >> 8) & 255) + ((w >> 16) & 255) + (w >> 24)) - 510;
        shot_.pixels[i + k] =
            static_cast<std::uint8_t>(std::clamp(light_[i + k] + sum * scale + 0.5f, 0.0f, 255.0f));
      }
    }
  }

  isize side_;
  std::vector<float> light_;
  bitmap shot_;
};

}  // namespace motet::shapes
