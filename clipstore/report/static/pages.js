// Keys, sections of one file, sorting and filtering on the spot. Every page works without this.
"use strict";
(() => {
  const one = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const single = document.body.classList.contains("onefile");
  const sections = single ? all("main > section.page") : [];
  const current = () => (single ? sections.find((s) => !s.hidden) : document) || document;

  function remember(name, value) {
    try { localStorage.setItem(name, value); } catch { /* storage may be shut off */ }
  }
  function recall(name) {
    try { return localStorage.getItem(name); } catch { return null; }
  }

  // One file: show the section that the address names, and hide the others.
  function show(move) {
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (wanted === "main") return;
    const found = sections.find((s) => s.id === wanted) || sections[0];
    for (const s of sections) s.hidden = s !== found;
    for (const a of all("header nav a")) {
      const here = a.getAttribute("href") === "#" + found.id;
      if (here) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
    }
    if (move) { scrollTo({ top: 0, behavior: "instant" }); found.focus({ preventScroll: true }); }
  }
  if (single && sections.length) {
    addEventListener("hashchange", () => show(true));
    show(false);
  }

  // Static tables: headers become buttons.
  // A cell is a number if it begins with one that no letter follows: 0.71, 1-3, 12/3/9, 95%; a column is if all are.
  const number = (text) => {
    const found = /^[-+\u2212]?[0-9][0-9,]*(\.[0-9]+)?(e[-+]?[0-9]+)?(?![\p{L}0-9_])/iu.exec(text);
    return found ? parseFloat(found[0].replaceAll(",", "").replace("\u2212", "-")) : NaN;
  };
  const empty = (text) => !/[\p{L}0-9]/u.test(text);
  function sortTable(table, column, down) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const cell = (row) => row.cells[column].textContent.trim();
    const numbers = rows.every((row) => empty(cell(row)) || !Number.isNaN(number(cell(row))));
    const value = (row) => (empty(cell(row)) ? -Infinity : number(cell(row)));
    rows.sort((a, b) => {
      const [x, y] = numbers ? [value(a), value(b)] : [0, 0];
      const order = numbers ? (x === y ? 0 : x - y) : cell(a).localeCompare(cell(b));
      return down ? -order : order;
    });
    body.append(...rows);
    all("thead th", table).forEach((th, at) => {
      if (at === column) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
      const arrow = one(".arrow", th);
      if (arrow) arrow.textContent = at !== column ? "" : down ? "▼" : "▲";
    });
  }
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((th, column) => {
      const button = document.createElement("button");
      const arrow = document.createElement("span");
      arrow.className = "arrow";
      arrow.setAttribute("aria-hidden", "true");
      const sorted = th.getAttribute("aria-sort");
      arrow.textContent = sorted ? (sorted === "descending" ? "▼" : "▲") : "";
      button.type = "button";
      button.append(...th.childNodes, arrow);
      th.append(button);
      button.addEventListener("click", () => sortTable(table, column, th.getAttribute("aria-sort") !== "descending"));
    });
  }

  // Static grids: a box that filters the cards shown.
  for (const label of all(".filterbox")) {
    label.hidden = false;
    const input = one("input", label);
    const root = label.closest("section.page") || document;
    const count = one(".count", root);
    const said = count ? count.textContent : "";
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const card of all(".card", root)) {
        const text = card.textContent.toLowerCase() + " " + (one("[aria-label]", card)?.getAttribute("aria-label") || one("img", card)?.alt || "").toLowerCase();
        card.hidden = !words.every((word) => text.includes(word));
        shown += card.hidden ? 0 : 1;
      }
      if (count) count.textContent = words.length ? `${shown} images hold these words` : said;
    });
  }

  for (const button of all("button.copy")) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(one("code", button.parentElement).textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // Keys.
  const dialog = one("#keys");
  const on = one("#keys-on");
  const opener = one("#keys-button");
  if (opener) { opener.hidden = false; opener.addEventListener("click", () => dialog.showModal()); }
  on.checked = recall("clipstore-keys") !== "off";
  on.addEventListener("change", () => remember("clipstore-keys", on.checked ? "on" : "off"));
  const follow = (query) => one(query, current())?.click();
  function nextSort() {
    const select = one("select[name=sort]");
    if (select) {
      select.selectedIndex = (select.selectedIndex + 1) % select.length;
      select.form.requestSubmit();
      return;
    }
    const links = all("a.sort", current());
    if (links.length) links[(links.findIndex((a) => a.hasAttribute("aria-current")) + 1) % links.length].click();
  }
  function toggle(place) {
    const boxes = all("input[name=sys]");
    if (boxes.length >= place) { boxes[place - 1].click(); return; }
    for (const row of all(`tr[data-system="${place}"]`, current())) row.hidden = !row.hidden;
  }
  const keys = {
    j: () => follow("a[rel=next]"), ArrowRight: () => follow("a[rel=next]"),
    k: () => follow("a[rel=prev]"), ArrowLeft: () => follow("a[rel=prev]"),
    g: () => (one('a[data-key="g"]', current()) || all("header nav a")[1]).click(),
    "/": () => one("input[type=search]", current())?.focus(),
    s: nextSort,
    "[": () => follow('a[data-key="["]'), "]": () => follow('a[data-key="]"]'),
    "?": () => dialog.showModal(),
  };
  addEventListener("keydown", (event) => {
    if (!on.checked || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (event.key.startsWith("Arrow") && event.target.closest(".scroll")) return;
    const act = keys[event.key] || (/^[1-9]$/.test(event.key) ? () => toggle(Number(event.key)) : null);
    if (act) { event.preventDefault(); act(); }
  });
})();
