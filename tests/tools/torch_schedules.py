#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Schedules of torch.distributed.pipelining in its CSV form, and schedule_explorer beside it. Status 77 where this Python has no torch.

    torch_schedules.py --dump FOLDER       writes the dumps of CASES, both forms: the fixtures in tests/data/schedules
    torch_schedules.py PROGRAMS SCRATCH    reads dumps of many sizes with PROGRAMS/schedule_explorer, and has torch read what that writes
"""
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

try:
    from torch.distributed.pipelining import schedules as torch_schedules
    from torch.distributed.pipelining.stage import _PipelineStageBase
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)


class Stage(_PipelineStageBase):
    """As much of a stage as a schedule asks for when it writes its order."""

    def __init__(self, number, stages, ranks):
        self.stage_index, self.num_stages = number, stages
        self.group_size, self.group_rank, self.group = ranks, 0, None
        self.submod, self.has_backward = None, True

    def _create_grad_recv_info(self, *_):
        return None

    def _prepare_forward_infra(self, *_):
        pass

    def _prepare_backward_infra(self, *_):
        pass


def runtime(kind, ranks, microbatches, chunks, **options):
    """A schedule that lowers itself to the form with communication."""
    stages = [Stage(i * ranks, ranks * chunks, ranks) for i in range(chunks)]
    return kind(stages, microbatches, loss_fn=lambda output, target: output, **options)


def text(order):
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for rank in sorted(order):
        writer.writerow(order[rank])
    return out.getvalue()


def dump(name, ranks, microbatches, chunks, **options):
    """Both forms, as torch writes them."""
    if name in ("gpipe", "1f1b"):
        kind = torch_schedules.ScheduleGPipe if name == "gpipe" else torch_schedules.Schedule1F1B
        order = kind(Stage(0, ranks, ranks), microbatches, loss_fn=lambda output, target: output)._get_pipeline_order()
        if name == "1f1b":
            # torch 2.15 numbers the forwards of the last rank from 1; what it runs begins at 0.
            order[ranks - 1] = [
                action._replace(microbatch_index=i // 2) if action is not None and action.computation_type.value == "F" else action
                for i, action in enumerate(order[ranks - 1])
            ]
        order = {rank: [action for action in actions if action is None or action.is_compute_op] for rank, actions in order.items()}
        lowered = runtime(torch_schedules._PipelineScheduleRuntime, ranks, microbatches, 1, **options)
        lowered._prepare_schedule_with_comms({rank: list(actions) for rank, actions in order.items()})
        return text(order), text(lowered.pipeline_order_with_comms)
    kind = {
        "interleaved": torch_schedules.ScheduleInterleaved1F1B,
        "interleaved_zero_bubble": torch_schedules.ScheduleInterleavedZeroBubble,
        "zb_v": torch_schedules.ScheduleZBVZeroBubble,
        "dualpipe_v": torch_schedules.ScheduleDualPipeV,
        "looped_bfs": torch_schedules.ScheduleLoopedBFS,
    }[name]
    made = runtime(kind, ranks, microbatches, chunks, **options)
    return text(made.pipeline_order), text(made.pipeline_order_with_comms)


# name, ranks, microbatches, chunks
CASES = [
    ("gpipe", 3, 4, 1),
    ("1f1b", 4, 8, 1),
    ("interleaved", 2, 4, 4),
    ("interleaved_zero_bubble", 4, 8, 2),
    ("zb_v", 4, 8, 2),
    ("dualpipe_v", 4, 10, 2),
    ("looped_bfs", 2, 4, 2),
]
MORE = [
    ("gpipe", 1, 1, 1),
    ("gpipe", 8, 12, 1),
    ("1f1b", 2, 2, 1),
    ("1f1b", 8, 24, 1),
    ("interleaved", 4, 4, 2),
    ("interleaved", 4, 8, 3),
    ("interleaved", 8, 16, 2),
    ("interleaved", 4, 10, 2),
    ("interleaved_zero_bubble", 2, 6, 3),
    ("zb_v", 2, 4, 2),
    ("zb_v", 8, 24, 2),
    ("dualpipe_v", 2, 4, 2),
    ("dualpipe_v", 8, 20, 2),
    ("looped_bfs", 4, 8, 3),
]
SAME = [
    *((name, name, ranks, microbatches, 1) for name in ("gpipe", "1f1b") for ranks, microbatches in ((1, 1), (2, 2), (4, 8), (8, 24))),
    *(("interleaved", "interleaved", *sizes) for sizes in ((2, 4, 2), (4, 8, 3), (3, 9, 2), (8, 16, 2))),
    *(("interleaved_zero_bubble", "zb_h1", ranks, microbatches, 1) for ranks, microbatches in ((2, 2), (4, 8), (8, 24))),
    *(("dualpipe_v", "dualpipe_v", *sizes) for sizes in ((2, 4, 2), (3, 9, 2), (4, 10, 2), (8, 24, 2))),
]


def normal(csv_text):
    """Without idle slots and waits: the order of what a rank starts."""
    rows = [[cell for cell in row if cell and "WAIT" not in cell] for row in csv.reader(io.StringIO(csv_text, newline=""))]
    return "\n".join(",".join(row) for row in rows)


def main(programs, scratch):
    explorer = pathlib.Path(programs) / "schedule_explorer"
    scratch = pathlib.Path(scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    failed = 0

    def wanted(what, holds, said=""):
        nonlocal failed
        if not holds:
            failed += 1
            print(f"{what}: {said}")

    def explore(*words):
        return subprocess.run([explorer, *map(str, words)], capture_output=True, text=True, check=False)

    count = 0
    for name, ranks, microbatches, chunks in CASES + MORE:
        for options in ({}, {"max_active_stages": 2}, {"defer_reduce_grad_wait": True}):
            what = f"{name} {ranks}x{microbatches}x{chunks} {options}"
            for form, dumped in zip(("compute_only", "compute_comms"), dump(name, ranks, microbatches, chunks, **options)):
                count += 1
                theirs, ours = scratch / "theirs.csv", scratch / "ours.csv"
                theirs.write_bytes(dumped.encode())
                summary = explore("--import", theirs)
                wanted(what, summary.returncode == 0 and json.loads(summary.stdout)["legal"] is True, summary.stdout + summary.stderr)
                written = explore("--import", theirs, "--format", "csv", "--output", ours)
                wanted(what, written.returncode == 0, written.stderr)
                again = ours.read_bytes().decode()
                wanted(f"{what}: {form} read and written", normal(again) == normal(dumped), again)
                # And torch takes it, by its own validation and dry run.
                reader = runtime(torch_schedules._PipelineScheduleRuntime, ranks, microbatches, chunks)
                try:
                    reader._load_csv(ours, format=form if re.search("SEND|UNSHARD", again) else "compute_only")
                    order = reader.pipeline_order_with_comms
                    plain = {r: [a for a in order[r] if not re.search("SHARD|REDUCE|OVERLAP", str(a))] for r in order}
                    if "OVERLAP" not in again:
                        torch_schedules._simulate_comms_compute(plain, lambda s: reader.stage_index_to_group_rank[s], ranks * chunks)
                except Exception as refused:
                    wanted(f"{what}: torch reads {form}", False, repr(refused))

    # Where the algorithms are the same, so are the orders. With as many microbatches as devices, Megatron's interleaved order (ours) runs all
    # forwards first, and torch's does not.
    for name, ours, ranks, microbatches, chunks in SAME:
        schedule = ["--schedule", ours, "--stages", ranks, "--microbatches", microbatches, *(["--chunks", chunks] if chunks > 1 else [])]
        said = explore(*schedule, "--format", "csv")
        theirs = dump(name, ranks, microbatches, chunks)[0]
        wanted(f"{ours} {ranks}x{microbatches}x{chunks} as {name}", normal(said.stdout) == normal(theirs), said.stdout)

    # A file with our header is refused by torch, in words.
    headed = scratch / "headed.csv"
    said = explore("--schedule", "batch_sync", "--stages", 2, "--microbatches", 4, "--format", "csv", "--output", headed)
    wanted("batch_sync", said.returncode == 0, said.stderr)
    try:
        runtime(torch_schedules._PipelineScheduleRuntime, 2, 4, 1)._load_csv(headed)
        wanted("torch and a header", False, "was accepted")
    except RuntimeError as refused:
        wanted("torch and a header", "Invalid action string: motet" in str(refused), str(refused))

    # torch 2.15 prints the last rank of 1F1B with forwards 1..m instead of 0..m-1; here that has a name and a place.
    raw = torch_schedules.Schedule1F1B(Stage(0, 4, 4), 8, loss_fn=lambda output, target: output)._get_pipeline_order()
    if str(raw[3][0]) == "3F1":
        printed = scratch / "printed.csv"
        printed.write_bytes(text(raw).encode())
        said = explore("--import", printed)
        wanted("1F1B as printed", said.returncode == 1 and "MT-P54" in said.stderr, said.stdout + said.stderr)

    print(f"{count} dumps, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--dump":
        folder = pathlib.Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        for case in CASES:
            stem = "{0}_{1}x{2}x{3}".format(*case)
            for ending, dumped in zip(("", "_comms"), dump(*case)):
                (folder / f"{stem}{ending}.csv").write_bytes(dumped.encode())
    else:
        sys.exit(main(*sys.argv[1:3]))
