#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks each rule of check_floors.py in a small tree of its own: a checker that cannot fail checks nothing."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_floors  # noqa: E402

GOOD = {
    "meta/config.hpp": "",
    "tensor/view.hpp": "#include <motet/meta/config.hpp>\n",
    "nn/layers/linear.hpp": "#include <motet/tensor/view.hpp>\n#include <vector>\n",
    "nn/core/messages.hpp": "",
    "backend/groups/concepts.hpp": "#include <motet/nn/layers/linear.hpp>\n",
    "backend/cpu/products/linear.hpp": "#include <motet/backend/groups/concepts.hpp>\n#include <thread>\n",
    "backend/count/products/linear.hpp": '#include "../../groups/concepts.hpp"\n',
    "plan/describe/plan.hpp": "",
    "plan.hpp": "",  # brings its floors, see findings()
}


class Floors(unittest.TestCase):
    def findings(self, changes=(), without_tests=(), lines=0, forgotten=None, program=""):
        with tempfile.TemporaryDirectory() as scratch:
            pathlib.Path(scratch, "examples").mkdir()
            pathlib.Path(scratch, "examples", "train.cpp").write_text(program)
            tree = {**GOOD, **dict(changes)}
            tree["plan.hpp"] = "".join(f"#include <motet/{name}>\n" for name in tree if name not in ("plan.hpp", forgotten))
            for header, body in tree.items():
                path = pathlib.Path(scratch, "include", "motet", header)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n" + body + "\n" * lines)
                unit = pathlib.Path(scratch, "tests", "unit", header).with_suffix(".cpp")
                if header not in without_tests and "messages" not in header and header != "plan.hpp":
                    unit.parent.mkdir(parents=True, exist_ok=True)
                    unit.write_text("")
            return check_floors.check(scratch, "off")

    def fails(self, expected, *arguments, **named):
        errors, _ = self.findings(*arguments, **named)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(expected, errors[0])

    def test_good_tree(self):
        self.assertEqual(self.findings(), ([], []))

    def test_upward(self):
        self.fails("which is higher", {"tensor/arena.hpp": "#include <motet/nn/layers/linear.hpp>\n"})

    def test_upward_to_the_top(self):
        errors, _ = self.findings({"runtime/trainer.hpp": "#  include <motet/plan.hpp>\n"})
        self.assertEqual(len(errors), 2, errors)  # a cycle, too
        self.assertIn("which is higher", errors[0])

    def test_sibling(self):
        self.fails("its sibling", {"backend/count/norm.hpp": "#include <motet/backend/cpu/products/linear.hpp>\n"})

    def test_sibling_by_relative_path(self):
        self.fails("its sibling", {"backend/count/norm.hpp": '#include "../cpu/products/linear.hpp"\n'})

    def test_shared_part_of_back_ends(self):
        self.fails("may not include one of them", {"backend/core/all.hpp": "#include <motet/backend/cpu/products/linear.hpp>\n"})

    def test_concrete_back_end_in_runtime(self):
        self.fails("may not include", {"runtime/trainer.hpp": "#include <motet/backend/cpu/products/linear.hpp>\n"})

    def test_tools_and_trainers_do_not_know_each_other(self):
        self.fails("tools/ may not include", {"tools/report/report.hpp": "#include <motet/runtime/trainer.hpp>\n", "runtime/trainer.hpp": ""})
        self.fails("runtime/ may not include", {"runtime/trainer.hpp": "#include <motet/tools/report/report.hpp>\n", "tools/report/report.hpp": ""})

    def test_schedule_knows_no_net(self):
        self.fails("may not include", {"schedule/check/check.hpp": "#include <motet/nn/layers/linear.hpp>\n"})

    def test_rooms(self):
        self.fails("whose room comes later", {"schedule/core/score.hpp": "#include <motet/schedule/check/play.hpp>\n", "schedule/check/play.hpp": ""})
        self.assertEqual(self.findings({"schedule/check/play.hpp": "#include <motet/schedule/core/score.hpp>\n", "schedule/core/score.hpp": ""}), ([], []))

    def test_details_are_their_rooms_own(self):
        low = """namespace motet {
namespace detail {
template <class T>
struct alignas(2 * sizeof(T)) part {};
inline int depth_of(int x) { return x; }
}  // namespace detail
}  // namespace motet
"""
        user = "#include <motet/schedule/core/low.hpp>\nnamespace motet {\n%s\n}  // namespace motet\n"
        refused = "inline int f(int x) { return detail::depth_of(x); }", "inline detail::part<int> f();", \
            "namespace detail {\ninline int f(int x) { return depth_of(x); }\n}  // namespace detail"
        for body in refused:
            name = "part" if "part" in body else "depth_of"
            self.fails(f"uses {name}, which is a detail of schedule/core/ (schedule/core/low.hpp)",
                       {"schedule/core/low.hpp": low, "schedule/check/play.hpp": user % body})
            self.fails("schedule/check/play.hpp:", {"schedule/core/low.hpp": low, "schedule/check/play.hpp": user % body})
        self.assertEqual(self.findings({"schedule/core/low.hpp": low}, program="int three() { return motet::detail::depth_of(3); }\n")[0],
                         ["examples/train.cpp: uses depth_of, which is a detail of the library"])
        same_room = {"schedule/core/low.hpp": low, "schedule/core/play.hpp": user % refused[0]}
        self.assertEqual(self.findings(same_room), ([], []))
        for body in ("namespace detail {\ninline int depth_of(long x);\ninline int f(int x) { return depth_of(x); }\n}  // namespace detail",
                     "namespace detail {\ninline int f(int part) { return part (2); }\n}  // namespace detail",
                     "inline int depth_of(int x);  // not detail::depth_of"):
            self.assertEqual(self.findings({"schedule/core/low.hpp": low, "schedule/check/play.hpp": user % body}), ([], []), body)

    def test_a_body_belongs_to_the_header_that_includes_it(self):
        tree = {"schedule/core/body.inc": "inline int f(int x) { return detail::depth_of(x); }\n".join(("namespace motet {\n", "}  // namespace motet\n"))}
        low = "%snamespace motet {\nnamespace detail {\ninline int depth_of(int x) { return x; }\n}  // namespace detail\n}  // namespace motet\n"
        named = low % "#define BODY <motet/schedule/core/body.inc>\n"
        self.assertEqual(self.findings({**tree, "schedule/check/play.hpp": named})[0], [])
        self.fails("schedule/core/body.inc:4: uses depth_of, which is a detail of schedule/check/", {
            **tree, "schedule/check/play.hpp": low % "", "schedule/simulate/run.hpp":
            "#define BODY <motet/schedule/core/body.inc>\n#include <motet/schedule/check/play.hpp>\n"})

    def test_rooms_of_a_back_end(self):
        self.fails("whose room comes later", {"backend/cpu/rows/norm.hpp": "#include <motet/backend/cpu/products/linear.hpp>\n",
                                              "backend/count/rows/norm.hpp": ""})
        self.fails("whose room comes later", {"backend/cpu/rows/norm.hpp": "#include <motet/backend/cpu/device.hpp>\n", "backend/cpu/device.hpp": "",
                                              "backend/count/rows/norm.hpp": "", "backend/count/device.hpp": ""})
        self.assertEqual(self.findings({"backend/cpu/device.hpp": "#include <motet/backend/cpu/products/linear.hpp>\n", "backend/count/device.hpp": ""}), ([], []))
        self.fails("backend/cpu/stuff/norm.hpp: is in no room of backend/cpu/, which are device, kernels, rows,",
                   {"backend/cpu/stuff/norm.hpp": "", "backend/count/stuff/norm.hpp": ""})

    def test_rooms_that_all_back_ends_share(self):
        self.fails("whose room comes later", {"backend/core/sizes.hpp": "#include <motet/backend/groups/concepts.hpp>\n"})
        self.fails("backend/sizes.hpp: is in no room of backend/, which are core, groups, exchange", {"backend/sizes.hpp": ""})
        self.assertEqual(self.findings({"backend/groups/sizes.hpp": "#include <motet/backend/core/sizes.hpp>\n", "backend/core/sizes.hpp": ""}), ([], []))

    def test_header_outside_of_rooms(self):
        errors, _ = self.findings({"plan/plan.hpp": "", "plan/stuff/tower.hpp": ""})
        self.assertIn("plan/plan.hpp: is in no room of plan/, which are order, describe, prove, cost, search, distmm, disttrain, optimus, cells, quotas, files", errors)
        self.assertIn("plan/stuff/tower.hpp: is in no room of plan/, which are order, describe, prove, cost, search, distmm, disttrain, optimus, cells, quotas, files", errors)

    def test_heavy(self):
        self.fails("too heavy", {"nn/layers/norm.hpp": "#include <functional>\n"})

    def test_names_without_their_header(self):
        self.fails("says std::vector, and brings no <vector>", {"nn/layers/norm.hpp": "std::vector<int> rows();  // not of std::string\n"})
        self.fails("says std::memcpy, and brings no <cstring>", {"nn/layers/norm.hpp": "#include <motet/nn/layers/linear.hpp>\nauto of = std::memcpy;\n"})

    def test_names_by_another_header(self):
        self.assertEqual(self.findings({"nn/layers/norm.hpp": "#include <motet/nn/layers/linear.hpp>\nstd::vector<int> rows();\n"}), ([], []))

    def test_range_v3(self):
        for header in ("meta/pack.hpp", "plan/search/search.hpp"):
            self.fails("no range-v3", {header: "#include <range/v3/view/zip.hpp>\n"})

    def test_cycle(self):
        self.fails("include cycle", {"nn/core/a.hpp": "#include <motet/nn/core/b.hpp>\n", "nn/core/b.hpp": "#include <motet/nn/core/a.hpp>\n"})

    def test_missing_unit_test(self):
        self.fails("has no unit test", without_tests=("nn/layers/linear.hpp",))

    def test_missing_header(self):
        self.fails("which does not exist", {"nn/layers/norm.hpp": "#include <motet/nn/no_such.hpp>\n"})

    def test_forgotten_in_plan_hpp(self):
        self.fails("plan/describe/plan.hpp: plan.hpp does not bring it", forgotten="plan/describe/plan.hpp")

    def test_unknown_folder(self):
        errors, _ = self.findings({"stuff/norm.hpp": ""})
        self.assertIn("stuff/norm.hpp: folder stuff has no floor; add it to FLOORS", errors)

    def test_long_header(self):
        errors, _ = self.findings(lines=500)
        self.assertEqual(len(errors), len(GOOD))

    def test_instructions_for_one_kind_of_memory(self):
        store = 'inline void store(int* at, int x) {\n%s  asm volatile("st.global.b32 [%%0], %%1;" ::"l"(at), "r"(x));\n}\n'
        for body in (store % "",
                     "template <class T>\nT store(const T* at) {\n  return __ldg(at);\n}\n",
                     'inline void store(int* at) {\n  asm volatile(\n      "red.shared.add.u32 [ %0 ], 1;" ::"r"(at));\n}\n',
                     "inline void store(int* at) { __builtin_assume(__isGlobal(at)); }\n",
                     "inline void other(int* at) { must_lie_in<memory_kind::gpu>(at, 4); }\n" + store % ""):
            self.fails("store says an instruction for one kind of memory", {"backend/count/products/linear.hpp": body})
        for body in (store % "  must_lie_in<memory_kind::gpu>(at, 4);\n",
                     "template <class Thread>\nvoid store(Thread&, int* at) {\n  must_lie_in<memory_kind::gpu>(at, 4);\n}\n" + store % "",
                     'inline void wait() { asm volatile("cp.async.wait_group 0;"); }\n',
                     'inline void store(int& both) {\n  asm("cvt.rn.bf16x2.f32 %0, 1, 1;" : "=r"(both));\n}\n'):
            self.assertEqual(self.findings({"backend/count/products/linear.hpp": body})[0], [], body)

    def test_unequal_siblings_are_a_notice(self):
        errors, notices = self.findings({"backend/cpu/rows/norm.hpp": ""})
        self.assertEqual(errors, [])
        self.assertEqual(len(notices), 1)
        self.assertIn("backend/count: has no rows/norm", notices[0])


if __name__ == "__main__":
    unittest.main()
