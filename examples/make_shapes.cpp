// SPDX-License-Identifier: Apache-2.0

// Draws a captioned picture set to learn from: coloured shapes on backgrounds, as WebDataset shards with a vocabulary and a list of classes.
// What picture i shows depends on the seed and i alone, never on the number of shards.
#include "make_shapes_messages.hpp"

#include <motet/data/file.hpp>
#include <motet/data/jpeg.hpp>
#include <motet/data/png.hpp>
#include <motet/data/tar_writer.hpp>
#include <motet/data/tokenizer_file.hpp>
#include <motet/data/tokenizer_train.hpp>
#include <motet/tensor/random.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>

#include <unistd.h>

namespace motet::shapes {
namespace {

constexpr const char* usage =
    "make_shapes --output DIR --count N [--size 64] [--seed 1] [--format png|jpeg|ppm] [--shards K] [--quiet]\n"
    "\n"
    "Draws N captioned pictures of coloured shapes. About a tenth of them, at least one for each class when N allows, is held out.\n"
    "DIR/train-{000..}.tar  pictures, captions and attributes to train on\n"
    "DIR/test-000.tar       the held-out ones\n"
    "DIR/tokenizer.json     a vocabulary trained on the captions\n"
    "DIR/classes.json       50 classes (colour and shape) with one caption each, and the class of each held-out picture\n"
    "\n"
    "  --size P     side of a picture in pixels (16 to 1024)\n"
    "  --seed S     other seeds draw other pictures\n"
    "  --format F   png and jpeg need their libraries; ppm always works and is larger. Default: png where there is libspng, else ppm\n"
    "  --shards K   number of training shards (default: one for each 5000 pictures)\n"
    "  --quiet      no progress line\n";

struct options {
  std::string output;
  index count = 0;
  index size = 64;
  std::uint64_t seed = 1;
  std::string format = has_png ? "png" : "ppm";
  index shards = 0;
  bool quiet = false;
};

// ---- What can be drawn, and its words: the first is the name, the others are synonyms.

struct colour {
  const char* words[3];
  float rgb[3];
};
constexpr colour colours[] = {
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
constexpr shape shapes[] = {
    {{"circle", "disc"}, {"circles", "discs"}},       {{"square", "box"}, {"squares", "boxes"}}, {{"triangle", "wedge"}, {"triangles", "wedges"}},
    {{"star", "pentagram"}, {"stars", "pentagrams"}}, {{"ring", "hoop"}, {"rings", "hoops"}},
};
constexpr index colour_count = std::size(colours), shape_count = std::size(shapes), class_count = colour_count * shape_count;

// Backgrounds stay dark and grey or brown, so that no object hides in one.
enum class texture { plain, stripes, checks, gradient, spots };
struct backdrop {
  const char* words[2];
  texture pattern;
};
constexpr backdrop backdrops[] = {
    {{"plain", "smooth"}, texture::plain},     {{"striped", "lined"}, texture::stripes}, {{"checkered", "chequered"}, texture::checks},
    {{"shaded", "fading"}, texture::gradient}, {{"spotted", "dotted"}, texture::spots},
};
struct ground {
  const char* word;
  float rgb[3];
};
constexpr ground grounds[] = {{"black", {14, 14, 16}}, {"grey", {66, 68, 70}}, {"brown", {72, 48, 30}}, {"slate", {36, 48, 64}}};

struct place {
  const char* word;
  float x, y;  // of the middle, in units of what the radius leaves free
};
constexpr place places[] = {
    {"in the middle", 0, 0}, {"on the left", -1, 0},      {"on the right", 1, 0},      {"at the top", 0, -1},         {"at the bottom", 0, 1},
    {"in the centre", 0, 0}, {"in the top left", -1, -1}, {"in the top right", 1, -1}, {"in the bottom left", -1, 1}, {"in the bottom right", 1, 1},
};
constexpr const char* numbers[] = {"", "one", "two", "three", "four"};

// Draws one after another from a counter-based stream, so that a picture's choices depend on its own number only.
class dice {
 public:
  dice(std::uint64_t seed, std::string_view split, index picture_number)
      : stream_(seed, random_stream::hash(split) + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(picture_number + 1)) {}
  index below(index bound) { return static_cast<index>(stream_.below(at_++, static_cast<std::uint32_t>(bound))); }
  float between(float low, float high) { return low + (high - low) * stream_.uniform(at_++); }
  bool chance(float probability) { return stream_.uniform(at_++) < probability; }
  const random_stream& stream() const { return stream_; }

 private:
  random_stream stream_;
  std::uint64_t at_ = 0;
};

struct scene {
  index hue = 0, form = 0;
  index number = 1;
  const char* size_word = "";
  float radius = 16;  // in pixels of a picture of side 64
  index where = 0;    // of a single object
  struct spot {
    float x, y, turn;
  } spots[4]{};
  index backdrop_kind = 0, ground_kind = 0;
  float tint[3]{}, ground_rgb[3]{};
  float phase = 0, slope_x = 0, slope_y = 0, noise = 0;

  index class_id() const { return hue * shape_count + form; }
};

scene imagine(dice& roll, index class_id) {
  scene made;
  made.hue = class_id / shape_count;
  made.form = class_id % shape_count;
  const float u = roll.between(0, 1);
  made.number = u < 0.85f ? 1 : u < 0.93f ? 2 : u < 0.97f ? 3 : 4;
  if (made.number == 1) {
    const index size = roll.below(3);
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
    const index first = roll.below(4), step = made.number == 2 ? 2 : 1;
    for (index i = 0; i < made.number; ++i) {
      const index corner = (first + i * step) % 4;
      const float x = corner == 0 || corner == 3 ? -1.0f : 1.0f, y = corner < 2 ? -1.0f : 1.0f;
      made.spots[i] = {32 + x * 16 + roll.between(-1.5f, 1.5f), 32 + y * 16 + roll.between(-1.5f, 1.5f), 0};
    }
  }
  for (index i = 0; i < made.number; ++i) made.spots[i].turn = roll.between(-0.12f, 0.12f);
  made.backdrop_kind = roll.below(std::size(backdrops));
  made.ground_kind = roll.below(std::size(grounds));
  const float shade = roll.between(0.88f, 1.08f), darkness = roll.between(0.8f, 1.25f);
  for (index c = 0; c < 3; ++c) {
    made.tint[c] = std::min(255.0f, colours[made.hue].rgb[c] * shade + roll.between(-9, 9));
    made.ground_rgb[c] = grounds[made.ground_kind].rgb[c] * darkness + roll.between(-6, 6);
  }
  made.phase = roll.between(0, 64);
  made.slope_x = roll.between(-0.12f, 0.12f);
  made.slope_y = roll.between(-0.12f, 0.12f);
  made.noise = roll.between(2, 7);
  return made;
}

std::string with_article(const std::string& words) {
  return (std::string_view("aeiou").find(words[0]) != std::string_view::npos ? "an " : "a ") + words;
}

std::string describe(dice& roll, const scene& shown) {
  const colour& hue = colours[shown.hue];
  const shape& form = shapes[shown.form];
  const index word = roll.chance(0.75f) ? 0 : roll.chance(0.8f) ? 0 : 1;
  std::string object = roll.chance(0.7f) ? hue.words[0] : hue.words[1 + roll.below(2)];
  object += " ";
  object += shown.number > 1 ? form.plurals[word] : form.words[word];
  if (*shown.size_word != '\0' && roll.chance(0.4f)) {
    const bool small = shown.size_word[0] == 's';
    object = std::string(roll.chance(0.7f) ? shown.size_word : small ? "little" : "big") + " " + object;
  }
  const std::string subject = shown.number > 1 ? std::string(numbers[shown.number]) + " " + object : with_article(object);
  const std::string where = shown.number > 1 ? "" : std::string(" ") + places[shown.where].word;
  const backdrop& behind = backdrops[shown.backdrop_kind];
  const std::string kind = std::string(behind.words[roll.chance(0.7f) ? 0 : 1]) + " " + grounds[shown.ground_kind].word;
  const std::string on = (roll.chance(0.7f) ? " on " : " over ") + with_article(kind) + " background";
  // Half of the captions name the object alone: were there always more to tell captions apart by, shapes would be learnt last.
  switch (roll.below(12)) {
    case 0:
    case 1:
    case 2: return "a photo of " + subject;
    case 3: return "a picture of " + subject;
    case 4: return "a drawing of " + subject;
    case 5: return "an image showing " + subject;
    case 6: return "a photo of " + subject + where;
    case 7: return subject + where;
    case 8: return "a picture of " + subject + on;
    case 9: return subject + on;
    case 10: return "an image showing " + subject + where + on;
    default: return (shown.number > 1 ? "there are " : "there is ") + subject + where + on;
  }
}

std::string class_name(index class_id) {
  return std::string(colours[class_id / shape_count].words[0]) + " " + shapes[class_id % shape_count].words[0];
}
std::string class_caption(index class_id) { return "a photo of " + with_article(class_name(class_id)); }

// ---- Drawing. Every outline is a signed distance (negative inside) for radius 1; half a pixel on either side of zero is the smooth edge.

float distance_to_segment(float x, float y, float ax, float ay, float bx, float by) {
  const float t = std::clamp(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) * (bx - ax) + (by - ay) * (by - ay)), 0.0f, 1.0f);
  return std::hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay));
}

// Any polygon, by the even-odd rule.
template <std::size_t Corners>
float distance_to_polygon(float x, float y, const float (&corner)[Corners][2]) {
  float nearest = 1e9f;
  bool inside = false;
  for (std::size_t i = 0, j = Corners - 1; i < Corners; j = i++) {
    nearest = std::min(nearest, distance_to_segment(x, y, corner[j][0], corner[j][1], corner[i][0], corner[i][1]));
    const bool crosses = (corner[i][1] > y) != (corner[j][1] > y);
    if (crosses && x < (corner[j][0] - corner[i][0]) * (y - corner[i][1]) / (corner[j][1] - corner[i][1]) + corner[i][0]) inside = !inside;
  }
  return inside ? -nearest : nearest;
}

float distance_to_box(float x, float y, float half_width, float half_height) {
  const float dx = std::fabs(x) - half_width, dy = std::fabs(y) - half_height;
  return std::hypot(std::max(dx, 0.0f), std::max(dy, 0.0f)) + std::min(std::max(dx, dy), 0.0f);
}

float signed_distance(outline form, float x, float y) {
  static constexpr float triangle[3][2] = {{0, -1}, {0.95f, 0.75f}, {-0.95f, 0.75f}};
  static constexpr float star[10][2] = {{0, -1},   {0.2351f, -0.3236f}, {0.9511f, -0.3090f}, {0.3804f, 0.1236f},   {0.5878f, 0.8090f},
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

float pattern_at(texture pattern, float x, float y, float phase) {
  switch (pattern) {
    case texture::plain: return 1;
    case texture::stripes: return std::fmod(x + y + phase, 12.0f) < 6 ? 1.0f : 0.85f;
    case texture::checks: return (static_cast<int>((x + phase) / 8) + static_cast<int>((y + phase) / 8)) % 2 == 0 ? 1.0f : 0.85f;
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
  explicit canvas(index side) : side_(side), light_(static_cast<std::size_t>(side * side * 3)) {
    shot_.width = shot_.height = side;
    shot_.pixels.resize(light_.size());
  }

  const bitmap& draw(const scene& shown, const random_stream& noise) {
    const float scale = static_cast<float>(side_) / 64, pixel = 1 / scale;
    for (index row = 0; row < side_; ++row) {
      for (index column = 0; column < side_; ++column) {
        const float x = (static_cast<float>(column) + 0.5f) * pixel, y = (static_cast<float>(row) + 0.5f) * pixel;
        const float light = pattern_at(backdrops[shown.backdrop_kind].pattern, x, y, shown.phase);
        for (index c = 0; c < 3; ++c) at(row, column)[c] = shown.ground_rgb[c] * light;
      }
    }
    for (index i = 0; i < shown.number; ++i) stamp(shown, shown.spots[i], scale);
    develop(shown.noise, noise);
    return shot_;
  }

 private:
  float* at(index row, index column) { return light_.data() + (row * side_ + column) * 3; }

  void stamp(const scene& shown, const scene::spot& spot, float scale) {
    const float cosine = std::cos(spot.turn), sine = std::sin(spot.turn), reach = shown.radius * 1.15f;
    const auto bound = [&](float value) { return std::clamp(static_cast<index>(value * scale), index{0}, side_); };
    for (index row = bound(spot.y - reach); row < bound(spot.y + reach + 1); ++row) {
      for (index column = bound(spot.x - reach); column < bound(spot.x + reach + 1); ++column) {
        const float dx = ((static_cast<float>(column) + 0.5f) / scale - spot.x) / shown.radius;
        const float dy = ((static_cast<float>(row) + 0.5f) / scale - spot.y) / shown.radius;
        const float d = signed_distance(static_cast<outline>(shown.form), cosine * dx + sine * dy, cosine * dy - sine * dx);
        const float cover = std::clamp(0.5f - d * shown.radius * scale, 0.0f, 1.0f);
        if (cover <= 0) continue;
        const float light = 1 + shown.slope_x * dx + shown.slope_y * dy;
        for (index c = 0; c < 3; ++c) at(row, column)[c] += cover * (shown.tint[c] * light - at(row, column)[c]);
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
        const float sum = static_cast<float>((w & 255) + ((w >> 8) & 255) + ((w >> 16) & 255) + (w >> 24)) - 510;
        shot_.pixels[i + k] = static_cast<std::uint8_t>(std::clamp(light_[i + k] + sum * scale + 0.5f, 0.0f, 255.0f));
      }
    }
  }

  index side_;
  std::vector<float> light_;
  bitmap shot_;
};

// ---- The set

std::string padded(index value, std::size_t digits) {
  std::string text = std::to_string(value);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

struct split {
  const char* name;
  index first, count;
};

class maker {
 public:
  explicit maker(options given)
      : given_(std::move(given)), page_(given_.size), held_out_(std::max(given_.count / 10, std::min(class_count, given_.count / 2))) {
    if (given_.shards == 0) given_.shards = (given_.count - held_out_ + 4999) / 5000;
  }

  void make() {
    const std::filesystem::path folder = given_.output;
    prepare(folder);
    const auto started = std::chrono::steady_clock::now();
    const index train = given_.count - held_out_;
    for (index k = 0; k < given_.shards; ++k) {
      const index first = train * k / given_.shards, last = train * (k + 1) / given_.shards;
      shard(folder / ("train-" + padded(k, 3) + ".tar"), {"train", first, last - first});
    }
    shard(folder / "test-000.tar", {"test", 0, held_out_});
    write(folder / "tokenizer.json", format_tokenizer(words_.train(1024)));
    write(folder / "classes.json", classes());
    // Only now does anything get its name: who finds classes.json finds a whole set.
    for (const auto& tar : tars_) tar->commit();
    for (const auto& file : files_) file->commit();
    for (index k = given_.shards;; ++k) {
      if (!std::filesystem::remove(folder / ("train-" + padded(k, 3) + ".tar"))) break;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (!given_.quiet) {
      if (terminal_) std::fputs("\r", stderr);
      std::fprintf(stderr, "%td pictures in %.1f s: %td to train on in %td shards, %td held out, %td classes, in %s\n", given_.count, seconds, train,
                   given_.shards, held_out_, class_count, given_.output.c_str());
    }
  }

 private:
  // Pictures of our own making may be replaced; anything else in the folder stops us.
  void prepare(const std::filesystem::path& folder) {
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (!std::filesystem::is_directory(folder)) fail(file_unwritable, folder.string() + (problem ? ": " + problem.message() : ": not a folder"));
    bool ours = false;
    if (std::filesystem::exists(folder / "classes.json")) {
      try {
        const json old = read_json(read_text((folder / "classes.json").string()));
        const json* by = old.find("made_by");
        ours = by != nullptr && by->is_string() && by->string() == "make_shapes";
      } catch (const error&) {
        ours = false;
      }
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      // What an interrupted run of ours left under a temporary name.
      const bool temporary = name.starts_with('.') && name.find(".tmp-") != std::string::npos;
      if (temporary) name = name.substr(1, name.find(".tmp-") - 1);
      const bool shard = (name.starts_with("train-") || name.starts_with("test-")) && name.ends_with(".tar");
      const bool known = shard || name == "tokenizer.json" || name == "classes.json";
      if (!known || !(ours || temporary)) fail(shapes_folder, folder.string() + " holds " + entry.path().filename().string());
      if (temporary) std::filesystem::remove(entry.path());
    }
  }

  void write(const std::filesystem::path& path, const std::string& text) {
    files_.push_back(std::make_unique<atomic_file>(path));
    files_.back()->write(text);
  }

  std::string encode(const bitmap& drawn) const {
    if (given_.format == "png") return encode_png(drawn);
    return given_.format == "jpeg" ? encode_jpeg(drawn) : encode_ppm(drawn);
  }

  void shard(const std::filesystem::path& path, const split& part) {
    tars_.push_back(std::make_unique<tar_writer>(path.string()));
    tar_writer& tar = *tars_.back();
    const std::string extension = given_.format == "jpeg" ? "jpg" : given_.format;
    for (index i = part.first; i < part.first + part.count; ++i) {
      dice roll(given_.seed, part.name, i);
      // Every block of 64 pictures shows every class once.
      const scene shown = imagine(roll, i % class_count);
      const std::string caption = describe(roll, shown);
      const std::string key = (part.name[1] == 'e' ? "test" : "train") + padded(i, 7);
      tar.add(key + "." + extension, encode(page_.draw(shown, roll.stream())));
      tar.add(key + ".txt", caption);
      tar.add(key + ".json", attributes(key, shown, caption));
      if (part.name[1] == 'e') {
        held_out_classes_.set(key, shown.class_id());
      } else {
        words_.add(caption);
      }
      ++done_;
      progress();
    }
    tar.finish();
  }

  // On a terminal a line that changes, in a file one line for each tenth.
  void progress() const {
    if (given_.quiet) return;
    if (terminal_) {
      if (done_ % 100 == 0) std::fprintf(stderr, "\rdrawing %td of %td", done_, given_.count);
    } else if (done_ * 10 / given_.count != (done_ - 1) * 10 / given_.count) {
      std::fprintf(stderr, "drawing %td of %td\n", done_, given_.count);
    }
  }

  static std::string attributes(const std::string& key, const scene& shown, const std::string& caption) {
    return write_json(json{{"key", key},
                           {"class", shown.class_id()},
                           {"colour", colours[shown.hue].words[0]},
                           {"shape", shapes[shown.form].words[0]},
                           {"number", shown.number},
                           {"size", *shown.size_word == '\0' ? "medium" : shown.size_word},
                           {"position", shown.number > 1 ? "spread" : places[shown.where].word},
                           {"background", std::string(backdrops[shown.backdrop_kind].words[0]) + " " + grounds[shown.ground_kind].word},
                           {"caption", caption}});
  }

  std::string classes() const {
    json rows(json::array{});
    for (index i = 0; i < class_count; ++i) rows.push_back({{"name", class_name(i)}, {"caption", class_caption(i)}});
    return write_json(json{{"made_by", "make_shapes"},
                           {"seed", given_.seed},
                           {"count", given_.count},
                           {"size", given_.size},
                           {"train", given_.count - held_out_},
                           {"classes", std::move(rows)},
                           {"samples", held_out_classes_}},
                      1) +
           "\n";
  }

  options given_;
  canvas page_;
  index held_out_;
  index done_ = 0;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  tokenizer_trainer words_;
  json held_out_classes_{json::object{}};
  std::vector<std::unique_ptr<tar_writer>> tars_;
  std::vector<std::unique_ptr<atomic_file>> files_;
};

index whole_number(const std::string& name, const std::string& text, index low, index high) {
  index value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    fail(shapes_command_line, name + " wants a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", got \"" + text + "\"");
  return value;
}

options parse(int count, char** words) {
  options given;
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--quiet") {
      given.quiet = true;
      continue;
    }
    const auto value = [&] {
      if (i + 1 >= count) fail(shapes_command_line, name + " wants a value");
      return std::string(words[++i]);
    };
    if (name == "--output") given.output = value();
    else if (name == "--count") given.count = whole_number(name, value(), 2, 100000000);
    else if (name == "--size") given.size = whole_number(name, value(), 16, 1024);
    else if (name == "--seed") given.seed = static_cast<std::uint64_t>(whole_number(name, value(), 0, std::numeric_limits<index>::max()));
    else if (name == "--format") given.format = value();
    else if (name == "--shards") given.shards = whole_number(name, value(), 1, 999);
    else fail(shapes_command_line, "there is no option " + name);
  }
  if (given.output.empty()) fail(shapes_command_line, "--output is missing");
  if (given.count == 0) fail(shapes_command_line, "--count is missing");
  if (given.format != "png" && given.format != "jpeg" && given.format != "ppm")
    fail(shapes_command_line, "--format wants png, jpeg or ppm, got \"" + given.format + "\"");
  if (given.format == "png" && !has_png) fail(picture_library_missing, "PNG needs libspng");
  if (given.format == "jpeg" && !has_jpeg) fail(picture_library_missing, "JPEG needs libjpeg-turbo");
  return given;
}

}  // namespace

int run(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(words[i]) == "--help") return std::fputs(usage, stdout) < 0 ? 1 : 0;
  }
  try {
    maker(parse(count, words)).make();
    return 0;
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return std::string_view(problem.code()) == shapes_command_line.code ? 2 : 1;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "make_shapes: %s\n", problem.what());
    return 1;
  }
}

}  // namespace motet::shapes

int main(int count, char** words) { return motet::shapes::run(count, words); }
