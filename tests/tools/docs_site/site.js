// SPDX-License-Identifier: Apache-2.0
// The search: every word must be in a section; titles count more than headings, headings more than text. The index is loaded when it is first asked for.
const up = document.currentScript.dataset.up;
const box = document.querySelector("input[type=search]");
const panel = document.getElementById("found");
let loading = null;

function loaded() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = up + "search.js";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
}

// What a word is worth in a text: all of it, the beginning of a word, anywhere, or nothing.
function worth(text, word) {
  const low = text.toLowerCase();
  if (low === word || low.split("/").pop() === word) return 8;
  const at = low.indexOf(word);
  if (at < 0) return 0;
  return at === 0 || /\W/.test(low[at - 1]) ? 3 : 1;
}

function search(words) {
  const hits = [];
  for (const [place, title, anchor, heading, text] of search_index) {
    let sum = 0;
    const all = words.every((word) => {
      const of = 8 * worth(title, word) + 4 * worth(heading, word) + worth(text, word);
      sum += of;
      return of > 0;
    });
    if (all) hits.push({ sum, place, title, anchor, heading, text });
  }
  return hits.sort((a, b) => b.sum - a.sum || a.place.localeCompare(b.place));
}

function element(name, text, href) {
  const made = document.createElement(name);
  made.textContent = text;
  if (href !== undefined) made.href = href;
  return made;
}

async function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length > 0) await loaded();
  panel.hidden = words.length === 0;
  if (words.length === 0) return;
  const hits = search(words), list = document.createElement("ul");
  for (const { place, title, anchor, heading, text } of hits.slice(0, 30)) {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60), row = document.createElement("li");
    row.append(element("a", heading ? title + " · " + heading : title, up + place + (anchor ? "#" + anchor : "")));
    row.append(element("small", (at > 0 ? "… " : "") + text.slice(at, at + 200) + " …"));
    list.append(row);
  }
  panel.replaceChildren(element("p", hits.length === 0 ? "Nothing found." : hits.length + " found" + (hits.length > 30 ? ", the first 30:" : ":")), list);
}

box.addEventListener("input", show);
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) {
    event.preventDefault();
    box.focus();
  }
});
box.value = new URLSearchParams(location.search).get("q") ?? "";
show();
