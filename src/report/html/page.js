"use strict";
// Sorting, filtering and the choice of colours. Everything on the page is there without this.
(() => {
  const text = (cell) => (cell ? cell.textContent.trim() : "");
  const value = (cell) => (cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : NaN);

  // Numbers by size, texts by the alphabet; what has neither stands last in both directions.
  const compare = (column, sign) => (a, b) => {
    const [x, y] = [a.cells[column], b.cells[column]];
    const [p, q] = [value(x), value(y)];
    if (!isNaN(p) || !isNaN(q)) return isNaN(p) ? 1 : isNaN(q) ? -1 : sign * (p - q);
    const [s, t] = [text(x), text(y)];
    if (!s || !t) return s ? -1 : t ? 1 : 0;
    return sign * s.localeCompare(t, "en", { numeric: true });
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const asked = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        // Numbers are looked at from the largest down, names from the first.
        const numbers = asked.some((row) => !isNaN(value(row.cells[column])));
        const [first, second] = numbers ? ["descending", "ascending"] : ["ascending", "descending"];
        const next = before === null ? first : before === first ? second : null;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (next) head.setAttribute("aria-sort", next);
        const sign = next === "descending" ? -1 : 1;
        body.append(...(next ? [...asked].sort(compare(column, sign)) : asked));
      });
    });
  };

  const filterable = (block, table) => {
    const controls = block.querySelector(".controls");
    const [input, area, kind] = ["input", ".area", ".kind"].map((what) => controls.querySelector(what));
    const count = controls.querySelector(".count");
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, content] of rows) {
        const kinds = (row.dataset.k || "").split(" ");
        const fits =
          words.every((word) => content.includes(word)) &&
          (!area.value || row.dataset.a === area.value) &&
          (!kind.value || kinds.includes(kind.value));
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      count.textContent = shown === rows.length ? `${rows.length} rows; a heading sorts` : `${shown} of ${rows.length} rows`;
    };
    [input, area, kind].forEach((control) => control.addEventListener("input", apply));
    controls.hidden = false;
    apply();
  };

  document.querySelectorAll(".sortable").forEach((block) => {
    const table = block.querySelector("table");
    sortable(table);
    filterable(block, table);
  });

  // A table that is wider than its box says so.
  const boxes = new ResizeObserver((changed) =>
    changed.forEach(({ target }) => target.classList.toggle("scrolls", target.scrollWidth > target.clientWidth)));
  document.querySelectorAll(".box").forEach((box) => boxes.observe(box));

  // A page opened from a disk may not be allowed to remember.
  const remembered = (write) => {
    try {
      if (write === undefined) return localStorage.getItem("syscost-theme");
      localStorage.setItem("syscost-theme", write);
    } catch {}
    return null;
  };
  const themes = { "": "as the system", light: "light", dark: "dark" };
  const button = document.getElementById("theme");
  const show = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    button.textContent = `Colours: ${themes[theme]}`;
  };
  let theme = remembered();
  theme = Object.hasOwn(themes, theme) ? theme : "";
  button.hidden = false;
  button.addEventListener("click", () => {
    const names = Object.keys(themes);
    theme = names[(names.indexOf(theme) + 1) % names.length];
    show(theme);
    remembered(theme);
  });
  show(theme);
})();
