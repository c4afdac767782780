# SPDX-License-Identifier: Apache-2.0
"""jobs_page.py PROGRAMS SCRATCH: the page of schedule_jobs in a headless browser, opened as a file: it loads without an error, and its curves and the chart of
devices are drawn with a height and a width. Exits 77 where no Chromium is."""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

programs, scratch = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
data = pathlib.Path(os.environ["MOTET_SOURCE"]) / "tests" / "data" / "jobs"
browser = next((path for path in map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")) if path), None)
if not browser:
    print("no Chromium is installed (Debian: apt-get install chromium-headless-shell)")
    sys.exit(77)
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
words = [word for name in ("trace", "times", "memory", "cluster") for word in (f"--{name}", data / f"{name}.{'json' if name in ('memory', 'cluster') else 'csv'}")]
subprocess.run([programs / "schedule_jobs", *words, "--node-hours", "200", "--emit", "html", "--output", "page.html"], cwd=scratch, check=True)
# What is drawn is asked of the browser: a script behind the page writes down the sizes of all pictures, and how many jobs they show.
page = (scratch / "page.html").read_text()
probe = """<script>document.title = JSON.stringify([...document.querySelectorAll('svg')].map(e => [e.getAttribute('aria-label'), e.getBoundingClientRect().width,
e.getBoundingClientRect().height, e.querySelectorAll('rect').length, [...e.querySelectorAll('polyline')].map(p => Math.round(p.getTotalLength()))]));</script>"""
(scratch / "probed.html").write_text(page.replace("</body>", probe + "</body>"))
with tempfile.TemporaryDirectory() as profile:
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=10000",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", f"file://{scratch}/probed.html"],
        capture_output=True, text=True, timeout=120, check=False, encoding="utf-8", errors="replace",
    )
trouble = re.findall(r'CONSOLE:\d+\] "(?:Uncaught|Failed|Not allowed)[^\n]*|net::ERR\w+', done.stderr)
if done.returncode != 0 or trouble:
    sys.exit(f"FAILED: status {done.returncode}, {trouble}: {done.stderr[-500:]}")
title = html.unescape(re.search(r"<title>(\[.*?\])</title>", done.stdout).group(1))
drawn = {label: rest for label, *rest in json.loads(title)}
for label in ("Samples a second", "Jobs in the queue"):
    width, height, _, lengths = drawn[label]
    if width < 300 or height < 40 or not lengths or lengths[0] < 900:
        sys.exit(f"FAILED: {label} is drawn as {drawn[label]}")
if drawn["Devices"][0] < 300 or drawn["Devices"][1] < 20 or drawn["Devices"][2] < 150:
    sys.exit(f"FAILED: the chart of devices is drawn as {drawn['Devices']}")
print("ok")
