#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a site, with search, of README.md, CONTRIBUTING.md, docs/ and a reference page for each public header. It needs no network, nor a server.

    docs_site.py --out FOLDER REPOSITORY     exits 1 where a link or an anchor leads nowhere or no way leads to a page, 77 where cmark-gfm is not installed

A link is written as a reader of the tree follows it. In the site one to a header leads to the header's reference page, and one to another file to its text.
"""
import argparse
import concurrent.futures
import html
import json
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import reference_pages

LOOKS = pathlib.Path(__file__).with_suffix("")  # the style and the script of all pages
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.S)
LINK = re.compile(r'(<a href|<img src)="([^"]*)"')
CODE = re.compile(r'<pre><code(?: class="language-(\w+)")?[^>]*>(.*?)</code></pre>', re.S)
TAG = re.compile(r"<[^>]+>")
KEYWORDS = (
    "alignas auto bool break case catch char class concept const consteval constexpr constinit const_cast continue decltype default delete do double else enum"
    " explicit extern false final float for friend if inline int long mutable namespace new noexcept nullptr operator override private protected public"
    " reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typename"
    " union unsigned using virtual void volatile while __global__ __device__ __host__ __shared__"
)
CPP = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|(?<=#include )<[^>\n]+>)|(?P<directive>^[ \t]*\#[ \t]*\w+)"
    rf"|(?P<keyword>\b(?:{'|'.join(KEYWORDS.split())})\b)|(?P<number>\b\d[\w.']*)",
    re.M | re.S,
)
SHELL = re.compile(r"(?P<comment>(?:^|(?<=\s))#[^\n]*)|(?P<string>\"(?:\\.|[^\"\\])*\"|'[^'\n]*')|(?P<number>(?<![\w.-])\d[\d.]*\b)", re.M)
LANGUAGES = dict.fromkeys(("cpp", "cuda", "c", "hpp", "cu", "cuh"), CPP) | dict.fromkeys(("sh", "cmake", "json", "python", "py", "yaml"), SHELL)


def coloured(code, language):
    """The text of a program as HTML; what its words are is told by classes."""
    rule, out, at = LANGUAGES.get(language), [], 0
    if rule:
        for found in rule.finditer(code):
            out += [html.escape(code[at : found.start()], quote=False), f'<i class="{found.lastgroup}">{html.escape(found.group(), quote=False)}</i>']
            at = found.end()
    return "".join(out) + html.escape(code[at:], quote=False)


def plain(text):
    return " ".join(html.unescape(TAG.sub(" ", text)).split())


def slug(title):
    """The anchor that Git hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", html.unescape(TAG.sub("", title)).lower()).replace(" ", "-")


class page:
    """One page: a source, which is a path in the tree, its place in the site, and what the site knows of it."""

    def __init__(self, source, place, text):
        self.source, self.place, self.text = source, place, text
        self.title, self.body, self.anchors, self.headings, self.sections, self.links = "", "", {""}, [], [], set()


class site:
    def __init__(self, repository):
        self.repository, self.files, self.wrong = repository, {}, []
        self.pages = {}
        texts = ["README.md", "CONTRIBUTING.md", *(path.relative_to(repository).as_posix() for path in (repository / "docs").rglob("*.md"))]
        for source in sorted(texts):
            place = source.removeprefix("docs/").removesuffix(".md").lower() if source.isupper() or "/" not in source else source.removeprefix("docs/").removesuffix(".md")
            self.add(source, place + ".html", (repository / source).read_text(encoding="utf-8"))
        headers = reference_pages.pages(repository)
        for source, text in headers.items():
            self.add(source, "reference/" + source.removeprefix("include/motet/").removesuffix(".hpp") + ".html", text)
        self.add("include/motet", "reference/index.html", reference_pages.index(repository))
        listed = [f"- [{self.title_of(source)}](/{source})" for source in sorted(texts) if source.startswith("docs/decisions/")]
        self.add("docs/decisions", "decisions/index.html", "\n".join(["# Decisions", "", "What was chosen, and what was not.", "", *listed]) + "\n")

    def add(self, source, place, text):
        self.pages[source] = page(source, place, text)

    def title_of(self, source):
        return re.search(r"^# +(.*)", self.pages[source].text, re.M).group(1)

    def read(self, of):
        """What cmark-gfm makes of a page, with anchors, colours and sections for the search."""
        made = subprocess.run(["cmark-gfm", "-e", "table", "-e", "strikethrough"], input=of.text, capture_output=True, text=True, check=True, encoding="utf-8").stdout
        seen = {}

        def heading(found):
            level, title = found.groups()
            anchor = slug(title)
            again = seen.get(anchor, 0)
            seen[anchor] = again + 1
            anchor += f"-{again}" if again else ""
            of.anchors.add(anchor)
            of.headings.append((int(level), anchor, plain(title)))
            return f'<h{level} id="{anchor}"><a class="anchor" href="#{anchor}">{title}</a></h{level}>'

        of.body = HEADING.sub(heading, made)
        of.title = of.headings[0][2] if of.headings else of.source
        # A header is found as a whole, a page by its parts.
        parts = [of.body] if of.source.startswith("include/") else re.split(r"(?=<h[23] id=)", of.body)
        for part in parts:
            at = re.match(r'<h[23] id="([^"]*)">(.*?)</h', part)
            of.sections.append([at.group(1) if at else "", plain(at.group(2)) if at else "", plain(part)])
        of.body = CODE.sub(lambda found: f"<pre><code>{coloured(html.unescape(found.group(2)), found.group(1))}</code></pre>", of.body)
        of.body = of.body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")

    def target(self, of, link):
        """(source, anchor) of a link within the tree; the file is taken into the site where it is no page."""
        path, _, anchor = html.unescape(link).partition("#")
        source = of.source if not path else posixpath.normpath(posixpath.join(posixpath.dirname(of.source), path)) if not path.startswith("/") else path[1:]
        source = source.rstrip("/")
        if source not in self.pages and (self.repository / source).is_file() and not source.startswith(".."):
            if re.search(r"\.(png|svg|jpg)$", source):
                self.files[source] = "files/" + source
            else:
                text = (self.repository / source).read_text(encoding="utf-8")
                made = page(source, f"source/{source}.html", "")
                made.title = source
                made.body = f"<h1>{html.escape(source)}</h1><pre><code>{coloured(text, source.rpartition('.')[2])}</code></pre>"
                self.pages[source] = made
        return source, anchor

    def resolve(self, of):
        def link(found):
            attribute, to = found.groups()
            if re.match(r"https?:|mailto:|#", to) and not to.startswith("#"):
                return found.group()
            source, anchor = self.target(of, to)
            place = self.files.get(source) or (self.pages[source].place if source in self.pages else None)
            if place is None or (source in self.pages and anchor not in self.pages[source].anchors):
                line = 1 + of.text[: max(of.text.find(html.unescape(to)), 0)].count("\n")
                self.wrong.append(f"{of.source}:{line}: {to} leads nowhere" + ("" if place is None else f": {source} has no heading of this name"))
                return found.group()
            of.links.add(source)
            way = "" if source == of.source else posixpath.relpath(place, posixpath.dirname(of.place) or ".")
            return f'{attribute}="{html.escape(way + ("#" + anchor if anchor else ""))}"'

        of.body = LINK.sub(link, of.body)

    def make(self):
        pages = list(self.pages.values())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.read, pages))
        for of in pages:
            self.resolve(of)
        reached, next_ones = set(), ["docs/index.md"]
        while next_ones:
            source = next_ones.pop()
            if source not in reached:
                reached.add(source)
                next_ones += self.pages[source].links if source in self.pages else []
        self.wrong += [f"{of.source}: no way leads here from docs/index.md" for of in pages if of.source not in reached]

    def ways(self, of):
        """The list beside a page: what docs/index.md lists, or the headers of a folder, and the headings of this page."""
        def row(title, source):
            here = source == of.source
            inner = "".join(f'<li><a href="#{anchor}">{html.escape(name)}</a></li>' for level, anchor, name in of.headings if level == 2) if here else ""
            way = posixpath.relpath(self.pages[source].place, posixpath.dirname(of.place) or ".")
            return f'<li><a href="{way}"{" aria-current=page" if here else ""}>{title}</a>' + (f"<ul>{inner}</ul>" if inner else "") + "</li>"

        if of.source.startswith("include/motet"):
            folder = posixpath.dirname(of.source)
            beside = [row(posixpath.basename(other).removesuffix(".hpp"), other) for other in self.pages if other != "include/motet" and posixpath.dirname(other) == folder]
            return f"<ul>{row('All headers', 'include/motet')}</ul><h2>{html.escape(folder.removeprefix('include/'))}</h2><ul>{''.join(beside)}</ul>"
        out, open_list = [], False
        for line in self.pages["docs/index.md"].text.split("\n"):
            if line.startswith("## "):
                out.append(("</ul>" if open_list else "") + f"<h2>{html.escape(line[3:])}</h2><ul>")
                open_list = True
            elif line.startswith("- ") and open_list:
                found = re.findall(r"\[([^]]*)\]\(([^)#]*)", line)
                # A row that begins with its page may name further ones; another lists pages.
                for title, link in found[:1] if line.startswith("- [") else found:
                    out.append(row(html.escape(title), self.target(self.pages["docs/index.md"], link)[0]))
        return "".join(out) + ("</ul>" if open_list else "")

    def write(self, out):
        shutil.rmtree(out, ignore_errors=True)
        found = page("search", "search.html", "")
        found.title, found.body = "Search", "<h1>Search</h1><noscript><p>The search needs JavaScript; the <a href='index.html'>start page</a> does not.</p></noscript>"
        for of in [*self.pages.values(), found]:
            up = "../" * of.place.count("/")
            (out / of.place).parent.mkdir(parents=True, exist_ok=True)
            (out / of.place).write_text(
                f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
                f"<title>{html.escape(of.title)} · Motet</title>"
                f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{up}site.css"><script defer src="{up}site.js" data-up="{up}"></script></head>\n'
                f'<body><header><a class="home" href="{up}index.html">Motet</a><form action="{up}search.html" role="search"><input type="search" name="q" placeholder="Search"'
                f' aria-label="Search" autocomplete="off"></form><a class="ways" href="#ways">Contents</a></header>\n'
                f'<div class="page"><main>\n<section id="found" hidden></section><article>\n{of.body}</article></main>\n<nav id="ways">{self.ways(of)}</nav></div></body></html>\n',
                encoding="utf-8",
            )
        for source, place in self.files.items():
            (out / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.repository / source, out / place)
        index = [[of.place, of.title, *section] for of in self.pages.values() for section in of.sections]
        # A script, not data: a page that lies in a file may load one, and not the other.
        (out / "search.js").write_text("const search_index = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")) + ";\n", encoding="utf-8")
        for name in ("site.css", "site.js"):
            shutil.copyfile(LOOKS / name, out / name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("repository")
    options = parser.parse_args()
    if not shutil.which("cmark-gfm"):
        print("docs_site: cmark-gfm is not installed (Debian and Ubuntu: apt-get install cmark-gfm), which reads the pages", file=sys.stderr)
        return 77
    of = site(pathlib.Path(options.repository).resolve())
    of.make()
    for line in of.wrong:
        print(line, file=sys.stderr)
    if of.wrong:
        return 1
    of.write(pathlib.Path(options.out))
    print(f"{len(of.pages)} pages: {options.out}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
