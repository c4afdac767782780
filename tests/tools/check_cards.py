#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_cards.py [ROOT]: what is measured stands in cards, docs/cards/NAME.yaml, and pages tell no number that no card has. Status 77: no PyYAML.

A card says what was measured, by which command, at which commit and date, on which machine, the numbers with their units and bars, and whether the bars
hold. `page` and `section` say where it is told: each number of that section is in one of its cards, and each number of a card is in its section."""
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("no PyYAML (Debian: python3-yaml): cards are not read")
    sys.exit(77)

FIELDS = {"name", "what", "page", "section", "command", "commit", "date", "machine", "status", "numbers"}
MAY = {"ran", "rows", "note"}  # the command as it was written then; the file of all rows; what one should know
STATUS = ("holds", "falls short", "measured", "simulated", "not measured")  # the first two where there are bars
# A number that stands for itself: no part of a name such as bf16 or AVX-512.
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w])")


def numbers_in(text):
    return {float(each.replace(",", "")) for each in NUMBER.findall(text)}


def without_names(markdown):
    """Text without the targets of links, code and headings, whose digits belong to names."""
    text = re.sub(r"```.*?```", "", markdown, flags=re.S)
    text = re.sub(r"`[^`]*`", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"^#.*$", "", text, flags=re.M)


def sections_of(markdown):
    """Heading -> text up to the next heading."""
    out = {}
    for part in re.split(r"^(?=#+ )", markdown, flags=re.M):
        if part.startswith("#"):
            heading, _, text = part.partition("\n")
            out[heading.lstrip("# ")] = text
    return out


def source_of(program, root):
    """The text of a program's or script's source; empty where there is none."""
    script = root / program
    if "/" in program:
        return script.read_text(encoding="utf-8") if script.is_file() else ""
    for folder, name in (("bench", program.removeprefix("bench_")), ("bench/gpu", program.removeprefix("bench_")), ("examples", program)):
        source = root / folder / f"{name}.cpp"
        if source.is_file():
            others = sorted((root / folder / name).glob("*.hpp")) + sorted((root / folder).glob("*.hpp"))
            text = "".join(each.read_text(encoding="utf-8") for each in [source, *others])
            if "<motet/run/" in text:  # the options of a training program are the library's
                text += "".join(each.read_text(encoding="utf-8") for each in sorted((root / "include" / "motet" / "run").glob("*.hpp")))
            return text
    return ""


def check_command(command, root):
    for part in command.split(" && "):
        words = part.split()
        if words[0] == "mpirun":  # what stands behind its own options
            words = words[next((i for i, each in enumerate(words) if each.startswith("bench_")), 0):]
        words = [each for each in words if each not in ("sh", "python3") and "=" not in each.split("--")[0]]
        text = source_of(words[0], root)
        if not text:
            yield f"there is no program or script {words[0]}"
        for flag in words[1:]:
            flag = flag.partition("=")[0]
            if text and flag.startswith("--") and not flag.startswith("--benchmark_") and flag not in text and f'"{flag[2:]}"' not in text:
                yield f"{words[0]} does not know {flag}"


def keeps(value, bar):
    sign, _, bound = bar.partition(" ")
    return {">=": value >= float(bound), "<=": value <= float(bound)}[sign]


def check_card(card, root):
    """What is wrong with one card, as sentences."""
    if lacking := sorted(FIELDS - set(card)):
        yield "lacks " + ", ".join(lacking)
        return
    if strange := sorted(set(card) - FIELDS - MAY):
        yield "has a strange " + ", ".join(strange)
    measured = card["status"] != "not measured"
    if card["status"] not in STATUS:
        yield f"status \"{card['status']}\", wanted one of {', '.join(STATUS)}"
    if measured and not re.fullmatch(r"[0-9a-f]{7,40}", str(card["commit"])):
        yield f"commit {card['commit']} is none"
    if measured and not re.fullmatch(r"\d{4}-\d\d-\d\d", str(card["date"])):
        yield f"date {card['date']} is none"
    yield from check_command(card["command"], root)
    if "rows" in card and not (root / card["rows"]).is_file():
        yield f"there is no {card['rows']}"
    bars = broken = 0
    for each in card["numbers"]:
        wanted = {"of", "value", "unit"} if measured else {"of", "bar", "unit"}
        if not wanted <= set(each) <= {"of", "value", "unit", "bar"}:
            yield f"{each} has not {', '.join(sorted(wanted))}"
        elif "bar" in each and not re.fullmatch(r"[<>]= [\d.]+", each["bar"]):
            yield f"{each['of']}: bar \"{each['bar']}\", wanted >= NUMBER or <= NUMBER"
        elif measured and "bar" in each:
            bars += 1
            broken += not keeps(each["value"], each["bar"])
    wanted = ("measured", "simulated") if bars == 0 else ("falls short",) if broken else ("holds",)
    if measured and card["status"] not in wanted:
        yield f"{broken} of {bars} bars are missed, and the status is \"{card['status']}\", wanted {' or '.join(wanted)}"


def check_pages(cards, root):
    """Pages and cards tell the same numbers."""
    places = sorted({(card["page"], card["section"]) for card in cards.values()})
    whole = {page for page, _ in places if page == "results.md"}
    for page in sorted({page for page, _ in places}):
        sections = sections_of((root / "docs" / page).read_text(encoding="utf-8"))
        for heading, text in sections.items():
            here = {name: card for name, card in cards.items() if (card["page"], card["section"]) == (page, heading)}
            told = numbers_in(without_names(text))
            if not here and (page not in whole or not told):
                continue
            known = set().union(*(numbers_in(yaml.safe_dump(card, width=10**6)) for card in here.values()))
            for lost in sorted(told - known):
                yield f"docs/{page}, {heading}: {lost:g} is in no card"
            for name, card in here.items():
                if f"cards/{name}.yaml" not in text:
                    yield f"docs/{page}, {heading}: has no link to the card {name}"
                for each in card["numbers"]:
                    if numbers_in(str(each.get("value", each.get("bar")))) - told:
                        yield f"docs/{page}, {heading}: does not tell {each['of']} of the card {name}"
        for _, heading in (place for place in places if place[0] == page):
            if heading not in sections:
                yield f"docs/{page}: has no section {heading}"


def check(root):
    cards, faults = {}, []
    for path in sorted((root / "docs/cards").glob("*.yaml")):
        card = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = list(check_card(card, root))
        if card.get("name") != path.stem:
            found.append(f"is called {card.get('name')}")
        faults += [f"docs/cards/{path.name}: {each}" for each in found]
        if FIELDS <= set(card):
            cards[path.stem] = card
    read = {card.get("rows") for card in cards.values()}
    for path in sorted((root / "bench/results").iterdir()):
        if f"bench/results/{path.name}" not in read:
            faults.append(f"bench/results/{path.name}: no card reads it")
    return cards, faults + list(check_pages(cards, root))


if __name__ == "__main__":
    all_cards, all_faults = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for fault in all_faults:
        print(fault)
    print(f"{len(all_cards)} cards, {len(all_faults)} faults")
    sys.exit(1 if all_faults or not all_cards else 0)
