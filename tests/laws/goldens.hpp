// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/tensors/convert.hpp>
#include <motet/format/tensors/safetensors.hpp>

#include "layer_laws.hpp"

#include <set>
#include <string>

// Reads what tests/goldens/make_goldens.py wrote.
namespace motet::laws {

class golden_file {
 public:
  explicit golden_file(const std::string& name)
      : file_(std::string(MOTET_TEST_DATA "/golden_") + name + ".safetensors") {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  const stored_tensor& tensor(const std::string& name) const { return file_.at(name); }
  reals at(const std::string& name) const {
    const stored_tensor& found = file_.at(name);
    reals out(static_cast<std::size_t>(found.elements()));
    copy_elements(found, out.data());
    return out;
  }
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const stored_tensor& found = file_.at(name);
    std::vector<T> out(static_cast<std::size_t>(found.elements()));
    copy_elements(found, out.data());
    return out;
  }
  // The tensors `prefix` + name of every parameter, at their offsets; a tensor of the file without a
  // parameter is an error, and so is another shape.
  reals flat(const std::vector<parameter>& list, isize size, const std::string& prefix) const {
    reals out(static_cast<std::size_t>(size), 0.0);
    std::set<std::string> known;
    for (const parameter& p : list) {
      const stored_tensor& found = file_.at(prefix + p.name);
      const std::vector<isize> shape =
          p.vector ? std::vector<isize>{p.width} : std::vector<isize>{p.rows, p.width};
      if (found.shape != shape)
        FAIL_CHECK(prefix << p.name << " is " << shape_text(found.shape) << ", wanted " << shape_text(shape));
      copy_elements(found, out.data() + p.offset);
      known.insert(prefix + p.name);
    }
    for (const stored_tensor& tensor : file_.tensors())
      if (tensor.name.starts_with(prefix) && !known.contains(tensor.name))
        FAIL_CHECK(tensor.name << " is no parameter of this net");
    return out;
  }

 private:
  safetensors_file file_;
};

// A gradient may be off by the tolerance, or in bf16 by as much as PyTorch's own bf16 gradient of this tensor
// may be, where the goldens say so.
inline double allowed_error(const golden_file& file, const std::string& name, const parameter& p,
                            double tolerance) {
  const std::string of_peer = name + "/bf16/" + p.name;
  return tolerance > 1e-3 && file.has(of_peer) ? std::max(tolerance, file.at(of_peer)[0]) : tolerance;
}

// A subject's case of a file, and what is asked of its outcome, which no subject's type changes.
struct golden_case {
  const golden_file& file;
  std::string name;
  std::vector<parameter> list;
  reals w, g, x, dy;
  golden_case(const golden_file& from, const std::string& of, std::vector<parameter> parameters, isize size,
              bool has_x)
      : file(from),
        name(of),
        list(std::move(parameters)),
        w(file.flat(list, size, name + "/w/")),
        g(file.flat(list, size, name + "/g/")),
        x(has_x ? file.at(name + "/x") : reals{}),
        dy(file.at(name + "/dy")) {}

  // Norm-wise relative error of outputs and of every gradient, against PyTorch in float64.
  void check(const outcome& got, std::size_t bytes, double tolerance) const {
    INFO(name << " in numbers of " << bytes << " bytes");
    CHECK_LE(apart(got.y, file.at(name + "/y")), tolerance);
    if (!x.empty()) CHECK_LE(apart(got.dx, file.at(name + "/dx")), tolerance);
    for (const parameter& p : list) {
      INFO(p.name);
      CHECK_LE(apart(piece(got.g, p), piece(g, p)), allowed_error(file, name, p, tolerance));
    }
    CHECK_LE(apart(got.g, g), tolerance);
  }
};

template <class N, class Subject>
void check_golden_in(const golden_file& file, const std::string& name, const Subject& subject,
                     double tolerance) {
  using L = typename Subject::layer_type;
  const golden_case of(file, name, layer::parameters_of<L>(), L::parameter_size, subject.x_size() > 0);
  const reals none(of.w.size(), 0.0);
  of.check(evaluate<N>(subject, way::whole, 2, of.w, of.x, of.dy, none), sizeof(typename N::value),
           tolerance);
}

template <class Subject>
void check_golden(const golden_file& file, const std::string& name, const Subject& subject) {
  with_each_kernel([&] {
    check_golden_in<fp32>(file, name, subject, 1e-5);
    check_golden_in<mixed_bf16>(file, name, subject, 2e-2);
  });
}

}  // namespace motet::laws
