#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference: a page in Markdown for each public header, made of its own comments and declarations, so that it cannot drift. docs_site.py builds a site of them.

    reference_pages.py REPOSITORY    exits 1 where a header lacks the sentence that its page begins with, or declarations, or a part of the form
"""
import argparse
import pathlib
import re
import sys

SKIP = re.compile(r"^\s*(#|namespace\b|}\s*//\s*namespace|using namespace|//\s*SPDX|extern \"C\")")
HEADS = re.compile(r"^(#include <motet/|#define MOTET_|namespace motet\b)")  # what a comment on a whole header stands before
FLOORS = {"meta": 0, "tensor": 1, "format": 1, "nn": 2, "model": 3, "strategy": 4, "schedule": 5, "plan": 6, "backend": 7, "data": 8, "runtime": 9, "tools": 9}


def depth_change(line):
    code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'|//.*', "", line)
    return code.count("{") - code.count("}"), code.count("(") - code.count(")")


def signature(lines):
    """A declaration without the bodies of its functions."""
    text = "\n".join(lines).rstrip()
    first = re.search(r"\b(struct|class|enum|concept)\b[^;(]*\{", text)
    if first or text.endswith("};"):
        return text if len(lines) <= 12 else members(lines)
    cut = body_start(text)
    return text if cut is None else text[:cut].rstrip().rstrip(":").rstrip() + ";"


def body_start(text):
    depth = 0
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "{" and depth == 0:
            before = text[:at].rstrip()
            # Initialisers of variables belong to the declaration; bodies of functions do not.
            return at if before.endswith((")", "const", "noexcept", "override")) or re.search(r"\)\s*(const)?\s*(requires[^;]*|:[^;]*|->[^;]*)$", before) else None
    return None


def without_initialisers(text):
    return re.sub(r"\)\s*:\s+\w+[({].*$", ")", text.rstrip(), flags=re.S)


def members(lines):
    """The public face of a long class: comments and declarations, bodies left out."""
    out, depth, hidden, i = [lines[0]], 0, False, 1
    for k, line in enumerate(lines):
        if "{" in line:
            out = lines[: k + 1]
            i = k + 1
            break
    indent = None
    while i < len(lines):
        line = lines[i]
        stripped = line.strip()
        if stripped in ("public:", "private:", "protected:"):
            hidden = stripped != "public:"
            i += 1
            continue
        if stripped.startswith("};") and (indent is None or len(line) - len(line.lstrip()) < indent):
            break
        if stripped and indent is None:
            indent = len(line) - len(line.lstrip())
        piece = [line]
        if not stripped.startswith("//") and stripped:
            depth, parens = depth_change(line)
            while (depth > 0 or parens > 0 or not re.search(r"[;}]\s*(//.*)?$", piece[-1])) and i + 1 < len(lines):
                i += 1
                piece.append(lines[i])
                a, b = depth_change(lines[i])
                depth, parens = depth + a, parens + b
        if not hidden:
            text = "\n".join(piece)
            cut = body_start(text)
            if cut is not None and ("\n" in text or len(text) > 100):
                text = without_initialisers(text[:cut]) + ";"
            out.append(text)
        i += 1
    result = re.sub(r"\n\s*\n+", "\n", "\n".join(out)).rstrip()
    return result + "\n};"


def entries(text):
    """(comment, declaration lines) for everything at namespace scope outside `detail`."""
    lines, found, comment, i = text.split("\n"), [], [], 0
    detail = 0
    while i < len(lines):
        line = lines[i]
        if re.match(r"^namespace detail\b.*\{", line):
            depth = depth_change(line)[0]
            while depth > 0 and i + 1 < len(lines):
                i += 1
                depth += depth_change(lines[i])[0]
            comment, i = [], i + 1
            continue
        if line.startswith("#"):
            if comment and HEADS.match(line):
                found.append((comment, []))
            while line.endswith("\\") and i + 1 < len(lines):
                i += 1
                line = lines[i]
            comment, i = [], i + 1
            continue
        if SKIP.match(line) or (not line.strip()):
            if comment and (not line.strip() or HEADS.match(line)):
                found.append((comment, []))
            comment, i = [], i + 1
            continue
        if line.startswith("//"):
            comment.append(re.sub(r"^// ?", "", line))
            i += 1
            continue
        if line.startswith("}"):
            comment, i = [], i + 1
            continue
        piece = [line]
        depth, parens = depth_change(line)
        while (depth > 0 or parens > 0 or not re.search(r"[;}]\s*(//.*)?$", piece[-1])) and i + 1 < len(lines):
            i += 1
            piece.append(lines[i])
            a, b = depth_change(lines[i])
            depth, parens = depth + a, parens + b
        if detail == 0:
            found.append((comment, piece))
        comment, i = [], i + 1
    if comment:
        found.append((comment, []))
    return found


# What the comment of a header's main declaration says after what it does, each beginning a line, in this order. An example is a program's text, set in by two.
FORM = ("Asks for", "Memory", "Errors", "Example")
LABEL = re.compile(rf"^({'|'.join(FORM)}):(?: |$)")
# Headers that users and those who write plans and schedules include: each has it.
FORMED_BY_FOLDER = {
    "model": "describe edge graph join model module",
    "nn/compose": "adaptive frozen recompute repeat residual sequential stage",
    "nn/layers": "activation attention caption_places cross_attention dropout gated_branch gated_mlp linear mixture mlp modulated_linear modulation noised_pictures norm patch_embedding pictured_text projection sound_embedding token_embedding",
    "nn/towers": "attention_pool cross_decoder decoder decoder_rows denoise_tail drawer fed_decoder fed_decoder_rows fed_drawer last_logits picture_rows pooled_rows rows_through seeing_decoder seeing_decoder_rows sound_rows sound_tower text tower upper_decoder vit vit_rows vocabulary_tail",
    "schedule/core": "compile compose score shape",
    "schedule/write": "batch_sync dualpipe_v gpipe interleaved one_f_one_b schedules through v_pattern zb_auto zb_v zero_bubble",
    "schedule/check": "check explain prove proven",
    "schedule/simulate": "analyse simulate",
    "schedule/place": "fill placed replicate",
    "schedule/draw": "draw_svg draw_text draw_trace",
    "schedule/csv": "csv_read csv_write",
    "strategy": "mesh resplit",
    "plan/describe": "cluster cluster_kinds cluster_presets model_presets plan tower tower_of",
    "plan/prove": "check_plan plan_for require_plan",
    "plan/files": "cluster_json model_json plan_header plan_json profile_json",
    "plan/disttrain": "orchestrate",
    "plan/cost": "collective_cost estimate_plan",
    "plan/search": "search",
    "plan/order": "deal defer fill_microbatches interleaved_order microbatch_order",
    "jobs/files": "cluster_file trace",
    "jobs/policies": "policies",
    "backend/cpu/device": "continued_context",
    "data": "permutation skips",
    "data/words": "tokenizer tokenizer_file tokenizer_train",
    "data/pictures": "augment decode",
    "data/shards": "shards tar tar_writer",
    "data/samples": "classes sample_source source",
    "data/steps": "loader sample_loader",
    "data/sound": "decode_sound log_mel",
    "format/text": "json json_read json_write",
    "format/files": "atomic_file",
    "format/tensors": "safetensors safetensors_write tensor_set tensor_set_write",
    "format/checkpoint": "checkpoint",
    "format/hf": "peft_lora",
    "runtime/state": "rate",
    "tools/process": "interrupt options",
    "tools/report": "progress report",
    "run": "pair_session run_program trained_session",
    "front": "check_gradients plan_of trainer",
    "front/ranks": "launched_world",
    "front/trained": "continuation painter picture_speaker sampling seeing_painter speaker time_tokens",
}
FORMED = tuple(f"{folder}/{name}" for folder, names in FORMED_BY_FOLDER.items() for name in names.split())


def form(comment):
    """(what it does, {label: lines}) of a comment; no labels where it has no form."""
    does, said, label = [], {}, None
    for line in comment:
        found = LABEL.match(line)
        if found:
            label = found.group(1)
            said[label] = []
            line = line[found.end() :]
        if label is None:
            does.append(line)
        elif line.strip():
            said[label].append(line)
    return does, said


def example(text):
    """The program's text that a header gives as its example, and the line that it begins on; or nothing."""
    for comment, _ in entries(text):
        lines = form(comment)[1].get("Example")
        if lines:
            return "".join(line[2:] + "\n" for line in lines), 2 + text[: text.index("// Example:")].count("\n")
    return None


def form_faults(text, codes):
    """What is wrong with the form of a header: a part that is missing, empty or out of turn, or an error that there is not."""
    forms = [said for _, said in (form(comment) for comment, _ in entries(text)) if said]
    if len(forms) != 1:
        return [f"has {len(forms)} comments of the form {', '.join(FORM)}; wanted one"]
    said = forms[0]
    out = [] if tuple(said) == FORM else [f"says {', '.join(said)}; wanted {', '.join(FORM)}"]
    out += [f"says nothing behind {label}:" for label, lines in said.items() if not lines]
    errors = " ".join(said.get("Errors", []))
    if errors != "none of its own." and not re.fullmatch(r"MT-[A-Z]\d{2,3}(, MT-[A-Z]\d{2,3})*", errors):
        out.append(f"names its errors as {errors!r}; wanted codes with commas, or: none of its own.")
    return out + [f"names {code}, which docs/errors.md lacks" for code in re.findall(r"MT-[A-Z]\d{2,3}", errors) if code not in codes]


def escaped(line):
    """What Markdown would take for its own, except in code."""
    return "".join(part if part.startswith("`") else re.sub(r"([<*_\[\]])", r"\\\1", part) for part in re.split(r"(`[^`]*`)", line))


def prose(comment):
    """Comment lines as Markdown: indented and tabulated lines stay as they are, and a form is a list with its example below."""
    comment, said = form(comment)
    out, block = [], []
    for line in comment:
        if line.startswith("  ") or re.search(r"\S {3,}\S", line):
            block.append(line)
        else:
            if block:
                out += ["```text", *block, "```"]
                block = []
            out.append(escaped(line))
    if block:
        out += ["```text", *block, "```"]
    if said:
        out.append("")
        for label in FORM[:-1]:
            words = escaped(" ".join(said.get(label, [])))
            if label == "Errors":
                words = re.sub(r"MT-[A-Z]\d{2,3}", lambda code: f"[{code.group()}](/docs/errors.md#{code.group().lower()})", words)
            out.append(f"- **{label}:** {words}")
        out += ["", "```cpp", *(line[2:] for line in said.get("Example", [])), "```"]
    return "\n".join(out)


def first_sentence(text):
    """Of a header: the beginning of its first comment, or nothing."""
    said = " ".join(next((form(comment)[0] for comment, _ in entries(text) if comment), []))
    return re.split(r"(?<=[.:])\s{2,}|(?<=\.)\s", said + "  ", maxsplit=1)[0]


def headers(repository):
    return sorted((repository / "include" / "motet").rglob("*.hpp"), key=lambda at: (at.parent, at))


def page(repository, header):
    """A header as Markdown; links begin at the root of the tree."""
    name = header.relative_to(repository / "include")
    floor = name.parts[1] if len(name.parts) > 2 else ""
    title = "/".join(name.with_suffix("").parts[1:])
    test = repository / "tests" / "unit" / pathlib.Path(*name.parts[1:]).with_suffix(".cpp")
    out = [f"# {title}", "", f"`#include <{name}>`" + (f" · floor {FLOORS[floor]}" if floor in FLOORS else ""), ""]
    for comment, lines in entries(header.read_text()):
        if comment:
            out += [prose(comment), ""]
        if lines:
            out += ["```cpp", signature(lines), "```", ""]
    guide = repository / "docs" / floor / f"{name.stem}.md"  # whatever room the header is in
    for what, path in (("Guide", guide if floor else guide.parent), ("Test", test)):
        if path.is_file():
            path = path.relative_to(repository)
            out += [f"{what}: [{path}](/{path})", ""]
    return "\n".join(out)


def pages(repository):
    """{path of a header in the tree: its page}"""
    return {header.relative_to(repository).as_posix(): page(repository, header) for header in headers(repository)}


def index(repository):
    out, last = ["# Reference", "", "One page for each public header, made from the header itself.", ""], None
    for header in headers(repository):
        folder = header.parent.relative_to(repository / "include").as_posix()
        if folder != last:
            out += ["", f"## {folder}", ""]
            last = folder
        out.append(f"- [{header.stem}](/{header.relative_to(repository).as_posix()}): {escaped(first_sentence(header.read_text()))}")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository")
    options = parser.parse_args()
    repository = pathlib.Path(options.repository).resolve()
    codes = set(re.findall(r"^#+ (MT-[A-Z]\d{2,3})", (repository / "docs" / "errors.md").read_text(), re.M))
    wrong = [f"{name}: is no header, and should have a page of the form" for name in FORMED if not (repository / "include" / "motet" / f"{name}.hpp").exists()]
    for header in headers(repository):
        text, where = header.read_text(), header.relative_to(repository)
        found = entries(text)
        if not any(comment for comment, _ in found):
            wrong.append(f"{where}: no comment says what it is for")
        elif not re.fullmatch(r"\S.*[.:]", first_sentence(text)):
            wrong.append(f"{where}: its first comment does not begin with a sentence: {first_sentence(text)[:80]}")
        if not any(lines for _, lines in found) and re.search(r"^namespace motet\b", text, re.M) and not re.search(r"^namespace [\w:]*detail\b", text, re.M):
            wrong.append(f"{where}: declares nothing that its page can show")
        # Whoever has a part of the form has all of it.
        name = header.relative_to(repository / "include" / "motet").with_suffix("").as_posix()
        if name in FORMED or any(form(comment)[1] for comment, _ in found):
            wrong += [f"{where}: {fault}" for fault in form_faults(text, codes)]
    for line in wrong:
        print(line, file=sys.stderr)
    count = len(headers(repository))
    print(f"{count} headers, {len(wrong)} faults")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
