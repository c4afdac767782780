#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sass_windows.py finds in the machine code of three kernels, as nvcc 13.0 made it, and how it follows registers."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sass_windows  # noqa: E402

# stores_across: st.global to dynamic shared memory. adds_across: red.global to static shared memory. generic: a pointer to either, for a plain load.
KERNELS = {
    ("stores_across", "sm_80"): """
0000 MOV R1, c[0x0][0x28]
0010 S2R R2, SR_TID.X
0020 HFMA2.MMA R3, -RZ, RZ, 0, 9.5367431640625e-07
0030 ULDC.64 UR4, c[0x0][0x118]
0040 IMAD.WIDE.U32 R8, R2, R3, c[0x0][0x160]
0050 LDG.E.128 R4, [R8.64]
0060 SHF.L.U32 R0, R2.reuse, 0x4, RZ
0070 IMAD.WIDE.U32 R2, R2, R3, c[0x0][0x18]
0080 LOP3.LUT R0, R0, 0x10, RZ, 0x3c, !PT
0090 STG.E.128 [R2.64], R4
00a0 BAR.SYNC.DEFER_BLOCKING 0x0
00b0 LDS.128 R12, [R0]
00c0 STG.E.128 [R8.64], R12
00d0 EXIT
00e0 BRA 0xe0
""",
    ("stores_across", "sm_90"): """
0000 LDC R1, c[0x0][0x28]
0010 S2R R11, SR_TID.X
0020 LDC.64 R8, c[0x0][0x210]
0030 ULDC.64 UR8, c[0x0][0x208]
0040 IMAD.WIDE.U32 R8, R11, 0x10, R8
0050 LDG.E.128 R4, desc[UR8][R8.64]
0060 S2UR UR6, SR_CgaCtaId
0070 UMOV UR4, 0x400
0080 SHF.L.U32 R0, R11, 0x4, RZ
0090 LOP3.LUT R0, R0, 0x10, RZ, 0x3c, !PT
00a0 S2UR UR7, SR_SWINHI
00b0 ULEA UR6, UR6, UR4, 0x18
00c0 UMOV UR4, UR6
00d0 UMOV UR5, UR7
00e0 MOV R2, UR4
00f0 MOV R3, UR5
0100 IMAD.WIDE.U32 R2, R11, 0x10, R2
0110 STG.E.128 desc[UR8][R2.64], R4
0120 BAR.SYNC.DEFER_BLOCKING 0x0
0130 LDS.128 R12, [R0+UR6]
0140 STG.E.128 desc[UR8][R8.64], R12
0150 EXIT
0160 BRA 0x160
""",
    ("adds_across", "sm_80"): """
0000 IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]
0010 S2R R2, SR_TID.X
0020 HFMA2.MMA R9, -RZ, RZ, 1.875, 0
0030 ULDC.64 UR4, c[0x0][0x118]
0040 SHF.L.U32 R0, R2, 0x2, RZ
0050 LOP3.LUT R4, R0.reuse, 0x7c, RZ, 0xc0, !PT
0060 LOP3.LUT R0, R0, 0xfc, RZ, 0xc0, !PT
0070 IADD3 R4, P0, R4, c[0x0][0x18], RZ
0080 STS [R0], RZ
0090 IMAD.X R5, RZ, RZ, c[0x0][0x1c], P0
00a0 BAR.SYNC.DEFER_BLOCKING 0x0
00b0 RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R4.64], R9
00c0 IMAD.MOV.U32 R3, RZ, RZ, 0x4
00d0 BAR.SYNC.DEFER_BLOCKING 0x0
00e0 IMAD.WIDE.U32 R2, R2, R3, c[0x0][0x160]
00f0 LDS R7, [R0]
0100 STG.E [R2.64], R7
0110 EXIT
0120 BRA 0x120
""",
    ("adds_across", "sm_90"): """
0000 LDC R1, c[0x0][0x28]
0010 S2R R9, SR_TID.X
0020 S2UR UR6, SR_CgaCtaId
0030 UMOV UR4, 0x400
0040 IMAD.MOV.U32 R11, RZ, RZ, 0x3f800000
0050 S2UR UR7, SR_SWINHI
0060 LDC.64 R2, c[0x0][0x210]
0070 ULEA UR6, UR6, UR4, 0x18
0080 IMAD.SHL.U32 R0, R9, 0x4, RZ
0090 UMOV UR4, UR6
00a0 UMOV UR5, UR7
00b0 LOP3.LUT R4, R0.reuse, 0x7c, RZ, 0xc0, !PT
00c0 LOP3.LUT R0, R0, 0xfc, RZ, 0xc0, !PT
00d0 IADD3 R4, P0, R4, UR4, RZ
00e0 STS [R0+UR6], RZ
00f0 IADD3.X R5, RZ, UR5, RZ, P0, !PT
0100 ULDC.64 UR4, c[0x0][0x208]
0110 BAR.SYNC.DEFER_BLOCKING 0x0
0120 REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R4.64], R11
0130 IMAD.WIDE.U32 R2, R9, 0x4, R2
0140 BAR.SYNC.DEFER_BLOCKING 0x0
0150 LDS R7, [R0+UR6]
0160 STG.E desc[UR4][R2.64], R7
0170 EXIT
0180 BRA 0x180
""",
    ("generic", "sm_80"): """
0000 IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]
0010 S2R R7, SR_TID.X
0020 ULDC.64 UR8, c[0x0][0x118]
0030 ULDC UR6, c[0x0][0x168]
0040 ULDC.64 UR4, c[0x0][0x18]
0050 IMAD.WIDE.U32 R4, R7, 0x4, RZ
0060 IADD3 R2, P0, R4, c[0x0][0x160], RZ
0070 IADD3.X R3, R5, c[0x0][0x164], RZ, P0, !PT
0080 LDG.E R0, [R2.64]
0090 UISETP.GT.AND UP0, UPT, UR6, 0x5, UPT
00a0 LOP3.LUT R4, R4, 0x4, RZ, 0x3c, !PT
00b0 ULDC.64 UR6, c[0x0][0x160]
00c0 USEL UR4, UR4, UR6, UP0
00d0 USEL UR5, UR5, UR7, UP0
00e0 IADD3 R4, P0, R4, UR4, RZ
00f0 IADD3.X R5, R5, UR5, RZ, P0, !PT
0100 STS [R7.X4], R0
0110 BAR.SYNC.DEFER_BLOCKING 0x0
0120 LD.E R5, [R4.64]
0130 STG.E [R2.64], R5
0140 EXIT
0150 BRA 0x150
""",
    ("generic", "sm_90"): """
0000 LDC R1, c[0x0][0x28]
0010 S2R R7, SR_TID.X
0020 ULDC.64 UR8, c[0x0][0x210]
0030 ULDC.64 UR10, c[0x0][0x208]
0040 IMAD.WIDE.U32 R4, R7, 0x4, RZ
0050 IADD3 R2, P0, R4, UR8, RZ
0060 IADD3.X R3, R5, UR9, RZ, P0, !PT
0070 LDG.E R0, desc[UR10][R2.64]
0080 S2UR UR6, SR_CgaCtaId
0090 UMOV UR4, 0x400
00a0 LOP3.LUT R4, R4, 0x4, RZ, 0x3c, !PT
00b0 S2UR UR7, SR_SWINHI
00c0 ULEA UR6, UR6, UR4, 0x18
00d0 ULDC UR4, c[0x0][0x218]
00e0 UISETP.GT.AND UP0, UPT, UR4, 0x5, UPT
00f0 LEA R7, R7, UR6, 0x2
0100 UMOV UR4, UR6
0110 UMOV UR5, UR7
0120 USEL UR4, UR4, UR8, UP0
0130 USEL UR5, UR5, UR9, UP0
0140 IADD3 R4, P0, R4, UR4, RZ
0150 IADD3.X R5, R5, UR5, RZ, P0, !PT
0160 STS [R7], R0
0170 BAR.SYNC.DEFER_BLOCKING 0x0
0180 LD.E R5, desc[UR10][R4.64]
0190 STG.E desc[UR10][R2.64], R5
01a0 EXIT
01b0 BRA 0x1b0
""",
}
FAULTS = {
    ("stores_across", "sm_80"): ["STG.E.128 [R2.64], R4"],
    ("stores_across", "sm_90"): ["STG.E.128 desc[UR8][R2.64], R4"],
    ("adds_across", "sm_80"): ["RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R4.64], R9"],
    ("adds_across", "sm_90"): ["REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R4.64], R11"],
}


def faults(text):
    """Of a listing: an address and an instruction in each line, behind its guard if it has one."""
    code, guarded = [], set()
    for line in text.strip().splitlines():
        at, instruction = line.split(" ", 1)
        if instruction.startswith("@"):
            guarded.add(int(at, 16))
            instruction = instruction.split(None, 1)[1]
        code.append((int(at, 16), instruction))
    return [found for _, found in sass_windows.faults(code, guarded)]


class Windows(unittest.TestCase):
    def test_kernels(self):
        for which, text in KERNELS.items():
            self.assertEqual(faults(text), FAULTS.get(which, []), which)

    def test_what_is_overwritten_is_forgotten(self):
        text = "0 S2R R3, SR_SWINHI\n10 LDC.64 R2, c[0x0][0x210]\n20 STG.E [R2.64], R0\n30 EXIT"
        self.assertEqual(faults(text), [])
        self.assertEqual(faults(text.replace("10 LDC", "10 @P0 LDC")), ["STG.E [R2.64], R0"])  # perhaps

    def test_a_way_by_a_jump(self):
        text = "0 S2R R3, SR_SWINHI\n10 @P0 BRA 0x40\n20 MOV R3, R9\n30 NOP\n40 LDG.E R0, desc[UR4][R2.64+0x10]\n50 EXIT"
        self.assertEqual(faults(text), ["LDG.E R0, desc[UR4][R2.64+0x10]"])
        self.assertEqual(faults(text.replace("0x40", "0x50")), [])

    def test_a_way_backwards(self):
        text = "0 MOV R3, R9\n10 LDG.E R0, [R2.64]\n20 S2R R3, SR_SWINHI\n30 @P0 BRA 0x10\n40 EXIT"
        self.assertEqual(faults(text), ["LDG.E R0, [R2.64]"])
        self.assertEqual(faults(text.replace("@P0 BRA 0x10", "@P0 BRA 0x0")), [])

    def test_copies_in_the_background_want_one_of_each(self):
        self.assertEqual(faults("0 S2UR UR5, SR_SWINHI\n10 LDGSTS.E.BYPASS.128 [R4], [R6.64]\n20 EXIT"), [])
        self.assertEqual(len(faults("0 S2R R7, SR_SWINHI\n10 LDGSTS.E.BYPASS.128 [R4], [R6.64]\n20 EXIT")), 1)


if __name__ == "__main__":
    unittest.main()
