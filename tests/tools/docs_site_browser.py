#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the built site in a headless browser, as files, as a reader without a server does: docs_site_browser.py SITE

The start page and every kind of page load without a script error, the search finds a header's page and a page's part, and a page of the reference shows its
declaration. Exits 77 where no Chromium is (its kin print a page as scripts have left it; Firefox cannot).
"""
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# An error of a script, and what it could not load.
TROUBLE = re.compile(r'CONSOLE:\d+\] "(?:Uncaught|Failed|Not allowed)[^\n]*|Page load failed[^\n]*|net::ERR\w+')


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not browser:
        print(f"none of {', '.join(BROWSERS)} is installed (Debian: apt-get install chromium-headless-shell)")
        return 77
    wrong = []

    def opened(page, *wanted, wrong=wrong, site=site):
        with tempfile.TemporaryDirectory() as profile:
            # Time stands still for the page until it is through with what it loads.
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=10000",
                 "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", f"file://{site}/{page}"],
                capture_output=True, text=True, timeout=120, check=False, encoding="utf-8", errors="replace",
            )
        wrong.extend(f"{page}: {said}" for said in TROUBLE.findall(done.stderr))
        if done.returncode:
            wrong.append(f"{page}: the browser left with status {done.returncode}: {done.stderr[-500:]}")
        text = html.unescape(re.sub(r"</?i\b[^>]*>", "", done.stdout))
        wrong.extend(f"{page}: does not show {what!r}" for what in wanted if what not in text)

    opened("index.html", "<h1", "Train with it", "Write schedules and plans", "Work on it")
    opened("search.html?q=patch_embedding", 'href="reference/nn/layers/patch_embedding.html"')
    opened("search.html?q=bubble+interleaved", 'href="schedules.html#which-one"')
    opened("schedule/../reference/index.html?q=nosuchwordatall", "Nothing found.")
    opened("reference/nn/layers/linear.html?q=own+schedule", "struct linear {", "static void backward_input(", 'href="../../../schedule/own_schedule.html"')
    # This test notices an error of a script.
    with tempfile.TemporaryDirectory() as broken:
        pathlib.Path(broken, "page.html").write_text("<script>nowhere()</script>")
        noticed = []
        opened("page.html", wrong=noticed, site=broken)
        wrong += [] if noticed else ["an error of a script was not noticed"]
    print("".join(line + "\n" for line in wrong) + f"5 pages in {browser}, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
