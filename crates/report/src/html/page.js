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
    // Sums and derived rows stay last.
    const asked = [...body.rows].filter((row) => row.dataset.k !== undefined);
    const last = [...body.rows].filter((row) => row.dataset.k === undefined);
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
        body.append(...(next ? [...asked].sort(compare(column, sign)) : asked), ...last);
      });
    });
  };

  // Of a long table the last rows are one line until it is pressed.
  const foldable = (table) => {
    const count = table.querySelectorAll("tbody tr[data-s]").length;
    if (!count) return;
    const button = document.createElement("button");
    const show = (folded) => {
      table.classList.toggle("folded", folded);
      button.textContent = folded ? `Show ${count} more rows` : `Fold ${count} rows`;
    };
    button.type = "button";
    button.className = "fold";
    button.addEventListener("click", () => show(!table.classList.contains("folded")));
    table.closest(".box").after(button);
    show(true);
  };

  const filterable = (block, table) => {
    const controls = block.querySelector(".controls");
    const kind = controls.querySelector(".kind");
    const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
    const input = made("input", { type: "search", autocomplete: "off", placeholder: "any text of a row" });
    const area = made("select", { className: "area" });
    const count = made("output", { className: "count", ariaLive: "polite" });
    controls.prepend(...[["Filter ", input], ["Area ", area]].map((labelled) => {
      const label = made("label");
      label.append(...labelled);
      return label;
    }));
    controls.append(count);
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const areas = new Set(rows.map(([row]) => row.dataset.a).filter(Boolean));
    area.append(new Option("all", ""), ...[...areas].map((name) => new Option(name)));
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
      count.textContent = shown === rows.length ? `${rows.length} rows; click a heading to sort` : `${shown} of ${rows.length} rows`;
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
  document.querySelectorAll("table.plain").forEach(foldable);

  // Flame graphs: a click zooms, a text is looked for, and an inverted graph begins with the innermost functions.
  const ROW = 18;
  const SLACK = 2e-5;

  const framesOf = (plot) =>
    [...plot.children].filter((box) => box.tagName === "svg").map((box) => ({
      name: box.dataset.n,
      words: box.querySelector("title").textContent,
      look: box.querySelector("rect").getAttribute("class"),
      depth: Math.round(Number(box.getAttribute("y")) / ROW),
      left: parseFloat(box.getAttribute("x")) / 100,
      share: parseFloat(box.getAttribute("width")) / 100,
      box,
    }));

  const holds = (outer, inner) =>
    outer.left <= inner.left + SLACK && outer.left + outer.share >= inner.left + inner.share - SLACK;

  // The same weights, from the innermost function of each stack outwards.
  const inverted = (all) => {
    const root = { share: 0, below: new Map() };
    const open = [];
    const stacks = [];
    for (const box of [...all].sort((a, b) => a.left - b.left || a.depth - b.depth)) {
      open.length = box.depth;
      open.push(box);
      const stack = { path: [...open].reverse(), own: box.share };
      box.stack = stack;
      if (box.depth > 0 && open[box.depth - 1]) open[box.depth - 1].stack.own -= box.share;
      stacks.push(stack);
    }
    for (const { path, own } of stacks) {
      if (own < 0.0001) continue;
      let at = root;
      for (const box of path) {
        const key = `${box.look} ${box.name}`;
        if (!at.below.has(key)) at.below.set(key, { name: box.name, look: box.look, share: 0, below: new Map() });
        at = at.below.get(key);
        at.share += own;
      }
    }
    const placed = [];
    const place = (node, depth, start) => {
      let left = start;
      for (const one of [...node.below.values()].sort((a, b) => b.share - a.share)) {
        const words = `${one.name}: ${(100 * one.share).toFixed(1)}%`;
        placed.push({ name: one.name, look: one.look, words, depth, left, share: one.share });
        place(one, depth + 1, left);
        left += one.share;
      }
    };
    place(root, 0, 0);
    return placed;
  };

  const drawn = (box, [x, width], plot, room) => {
    const made = (tag) => document.createElementNS(plot.namespaceURI, tag);
    const svg = made("svg");
    const add = (tag, attributes, content) => {
      const child = made(tag);
      Object.entries(attributes).forEach(([name, value]) => child.setAttribute(name, value));
      if (content) child.textContent = content;
      svg.append(child);
    };
    svg.setAttribute("x", `${100 * x}%`);
    svg.setAttribute("y", box.depth * ROW);
    svg.setAttribute("width", `${100 * width}%`);
    svg.setAttribute("height", ROW);
    add("title", {}, box.words);
    add("rect", { width: "100%", height: ROW, class: box.look });
    const fits = Math.floor((width * room) / 6.8) - 1;
    if (fits > 1) add("text", { x: 4, y: 13 }, box.name.length > fits ? `${box.name.slice(0, fits - 1)}…` : box.name);
    return svg;
  };

  const flame = (figure) => {
    const plot = figure.querySelector(".plot");
    const upright = framesOf(plot);
    if (!upright.length) return;
    const whole = { left: 0, share: 1, depth: 0 };
    const shown = new Map(upright.map((frame) => [frame.box, frame]));
    let [all, zoom, sought] = [upright, whole, ""];
    const controls = document.createElement("div");
    controls.className = "controls";
    const control = (tag, properties) => {
      const one = Object.assign(document.createElement(tag), properties);
      controls.append(one);
      return one;
    };
    const search = control("input", { type: "search", placeholder: "function", autocomplete: "off", ariaLabel: "Search" });
    const invert = control("button", { type: "button", textContent: "Invert" });
    const reset = control("button", { type: "button", textContent: "Show all", hidden: true });
    const count = control("output", {});

    // Within quotes it is the whole name.
    const isSought = ({ name }) =>
      /^".+"$/.test(sought) ? name.toLowerCase() === sought.slice(1, -1) : name.toLowerCase().includes(sought);
    const show = () => {
      const room = plot.getBoundingClientRect().width;
      const rows = [];
      shown.clear();
      for (const box of all) {
        const above = box.depth < zoom.depth && holds(box, zoom);
        if (!above && !(box.depth >= zoom.depth && holds(zoom, box))) continue;
        const place = above ? [0, 1] : [(box.left - zoom.left) / zoom.share, box.share / zoom.share];
        if (place[1] * room < 0.5) continue;
        const svg = drawn(box, place, plot, room);
        if (sought && isSought(box)) svg.classList.add("hit");
        shown.set(svg, box);
        rows.push(svg);
      }
      plot.replaceChildren(...rows);
      const height = ROW * (1 + Math.max(...all.map((box) => box.depth))) + 2;
      figure.querySelectorAll(":scope > svg").forEach((svg) => svg.setAttribute("height", height));
      reset.hidden = zoom === whole;
    };
    plot.addEventListener("click", ({ target }) => {
      const box = shown.get(target.closest(".plot > svg"));
      if (!box) return;
      zoom = box;
      show();
    });
    const found = () => {
      const hits = sought ? all.filter(isSought) : [];
      // What is below another hit is part of it.
      const outer = hits.filter((hit) => !hits.some((other) => other.depth < hit.depth && holds(other, hit)));
      const share = 100 * outer.reduce((sum, hit) => sum + hit.share, 0);
      count.textContent = sought ? `${hits.length} box${hits.length === 1 ? "" : "es"}, ${share.toFixed(1)}%` : "";
      return hits;
    };
    search.addEventListener("input", () => {
      sought = search.value.trim().toLowerCase();
      found();
      show();
    });
    search.addEventListener("keydown", (event) => {
      const widest = event.key === "Enter" && found().sort((a, b) => b.share - a.share)[0];
      if (widest) {
        zoom = widest;
        show();
      }
    });
    invert.addEventListener("click", () => {
      [all, zoom] = [all === upright ? inverted(upright) : upright, whole];
      invert.setAttribute("aria-pressed", all !== upright);
      found();
      show();
    });
    reset.addEventListener("click", () => {
      zoom = whole;
      show();
    });
    // Changes are of frames as they were called: inverted ones would need those of each function.
    if (figure.querySelector("[class*=change]")) invert.remove();
    figure.parentElement.before(controls);
  };
  document.querySelectorAll(".flame").forEach(flame);

  // A row of the table of calls leads to its stacks, which are marked there.
  document.querySelectorAll("a[data-call]").forEach((link) =>
    link.addEventListener("click", () =>
      document.querySelectorAll("figure:has(.flame) input").forEach((input) => {
        input.value = `"${link.dataset.call}"`;
        input.dispatchEvent(new Event("input"));
      })));

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
