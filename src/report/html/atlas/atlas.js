"use strict";
// Draws the heat map from the data block. The notes on releases are there without this.
(() => {
  const data = JSON.parse(document.getElementById("atlas-data").textContent);
  const byId = (id) => document.getElementById(id);
  const [place, panel, machine, family, search, told] = ["map", "panel", "machine", "family", "search", "told"].map(byId);
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
  const signed = (value) => (value < 0 ? "−" : "+") + number(Math.abs(value));
  const short = (release) => release.split("-cloud-")[0];
  // A cell is a count, or [mode, least, most], or [reason], or null if it was not asked for.
  const mode = (cell) => (typeof cell === "number" ? cell : cell && cell.length === 3 ? cell[0] : null);
  const range = (cell) => {
    if (mode(cell) === null) return cell ? "no count: " + data.reasons[cell[0]] : "not measured";
    return typeof cell === "number" ? number(cell) : `${number(cell[0])} (${number(cell[1])} to ${number(cell[2])})`;
  };
  const LIMITS = [0.005, 0.05, 0.15, 0.4, 1];
  const colour = (count, first) => {
    if (!(count > 0) || !(first > 0)) return "";
    const log = Math.log2(count / first);
    const level = LIMITS.filter((limit) => Math.abs(log) >= limit).length;
    return level ? (log > 0 ? "d" : "c") + level : "";
  };

  let shown = null;
  let steps = new Map();
  let chosen = null;

  const sparkline = (cells, operation) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const counts = cells.map(mode);
    const known = counts.filter((count) => count !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const x = (index) => (counts.length > 1 ? 3 + (104 * index) / (counts.length - 1) : 55);
    const y = (count) => (high > low ? 15 - (12 * (count - low)) / (high - low) : 9);
    let path = "";
    counts.forEach((count, index) => {
      if (count === null) return;
      path += (path && counts[index - 1] !== null ? "L" : "M") + x(index).toFixed(1) + " " + y(count).toFixed(1);
    });
    svg.setAttribute("class", "spark");
    svg.setAttribute("viewBox", "0 0 110 18");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(space, "path");
    line.setAttribute("d", path);
    svg.append(line);
    counts.forEach((count, index) => {
      if (count === null || !steps.has(index + " " + operation)) return;
      const dot = document.createElementNS(space, "circle");
      dot.setAttribute("cx", x(index).toFixed(1));
      dot.setAttribute("cy", y(count).toFixed(1));
      dot.setAttribute("r", "2");
      svg.append(dot);
    });
    return svg;
  };

  const cellOf = (cell, first, release, operation) => {
    const count = mode(cell);
    const td = make("td", count === null ? "–" : number(count), count === null ? "none" : colour(count, first));
    const step = steps.get(release + " " + operation);
    td.dataset.r = release;
    td.dataset.o = operation;
    td.tabIndex = -1;
    if (step) td.classList.add("step");
    const change = step ? `; ${signed(step[4] - step[3])} since ${short(shown.releases[step[0]])}` : "";
    const name = `${data.operations[operation]} in ${short(shown.releases[release])}: `;
    td.title = name + range(cell) + change;
    return td;
  };

  const rowOf = (name, operation) => {
    const cells = shown.cells.map((kernel) => kernel[operation]);
    const first = cells.map(mode).find((count) => count !== null);
    const row = make("tr");
    const head = make("th", name);
    head.scope = "row";
    const line = make("td", undefined, "line");
    line.append(sparkline(cells, operation));
    row.append(head, line, ...cells.map((cell, release) => cellOf(cell, first, release, operation)));
    return row;
  };

  // A release may break before its "+deb13".
  const titled = (title) => {
    const head = make("th");
    head.scope = "col";
    title.split(/(?=\+)/).forEach((part, index) => head.append(...(index ? [make("wbr"), part] : [part])));
    return head;
  };

  const draw = () => {
    shown = data.machines[Number(machine.value) || 0];
    steps = new Map(shown.steps.map((step) => [step[1] + " " + step[2], step]));
    const table = make("table");
    const head = make("tr");
    const titles = ["Operation", "All releases", ...shown.releases.map(short)];
    head.append(...titles.map(titled));
    const body = make("tbody");
    body.append(...data.operations.map(rowOf));
    const first = body.querySelector("td[data-r]");
    if (first) first.tabIndex = 0;
    const top = make("thead");
    top.append(head);
    table.append(top, body);
    place.replaceChildren(table);
    panel.hidden = true;
    filter();
  };

  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    const rows = [...place.querySelectorAll("tbody tr")];
    rows.forEach((row, operation) => {
      const name = data.operations[operation];
      const isOf = !family.value || name.split(".")[0] === family.value;
      row.hidden = !isOf || !name.toLowerCase().includes(wanted);
    });
    told.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} operations`;
  };

  const functions = (step) => {
    const table = make("table");
    const line = (kind, cells) => {
      const row = make("tr");
      row.append(...cells.map((cell, index) => make(kind, cell, index > 1 ? "r" : "")));
      return row;
    };
    const [head, body] = [make("thead"), make("tbody")];
    head.append(line("th", ["Function", "Group", "Before", "After", "Change"]));
    body.append(
      ...step[5].map(([name, group, before, after]) =>
        line("td", [data.functions[name], data.groups[group], number(before), number(after), signed(after - before)]),
      ),
    );
    table.append(head, body);
    const box = make("div", undefined, "box");
    box.append(table);
    return box;
  };

  const command = (operation, before, after) => {
    const [name, ...parameters] = operation.split(" ");
    const asked = parameters.map((parameter) => ` --param ${parameter}`).join("");
    const append = shown.append ? ` --append '${shown.append}'` : "";
    const line = make("p", "To repeat it: ");
    line.append(make("code", `syscost explain ${name}${asked} --env linux-${before} --versus linux-${after}${append}`));
    return line;
  };

  const open = (td) => {
    const [release, operation] = [Number(td.dataset.r), Number(td.dataset.o)];
    const step = steps.get(release + " " + operation);
    const before = step ? step[0] : release - 1;
    const [name, is] = [data.operations[operation], shown.releases[release]];
    const parts = [make("h3", `${name} in ${short(is)}`)];
    const say = (index) => parts.push(make("p", `${short(shown.releases[index])}: ${range(shown.cells[index][operation])}`));
    if (before >= 0) say(before);
    say(release);
    if (step) {
      const share = step[3] > 0 ? ` (${signed((100 * (step[4] - step[3])) / step[3])}%)` : "";
      parts.push(make("p", `Change: ${signed(step[4] - step[3])} instructions${share}.`));
      if (step[5].length) parts.push(functions(step));
      else parts.push(make("p", step[6] || "The functions were not looked into: the step is small.", "faint"));
    } else parts.push(make("p", before < 0 ? "The first release here." : "No step here.", "faint"));
    if (before >= 0) parts.push(command(name, shown.releases[before], is));
    panel.replaceChildren(...parts);
    panel.hidden = false;
    if (chosen) chosen.classList.remove("on");
    chosen = td;
    td.classList.add("on");
    panel.scrollIntoView({ block: "nearest" });
  };

  const focus = (td) => {
    place.querySelectorAll("td[tabindex='0']").forEach((other) => (other.tabIndex = -1));
    td.tabIndex = 0;
    td.focus();
  };

  const beside = (td, key) => {
    if (key === "ArrowLeft") return td.previousElementSibling;
    if (key === "ArrowRight") return td.nextElementSibling;
    const next = key === "ArrowUp" ? "previousElementSibling" : key === "ArrowDown" ? "nextElementSibling" : null;
    let row = next && td.parentElement[next];
    while (row && row.hidden) row = row[next];
    return row && row.cells[td.cellIndex];
  };

  place.addEventListener("click", (event) => {
    const td = event.target.closest("td[data-r]");
    if (td) focus(td), open(td);
  });
  place.addEventListener("keydown", (event) => {
    const td = event.target.closest("td[data-r]");
    if (!td) return;
    if (event.key === "Enter") open(td);
    const next = beside(td, event.key);
    if (next && next.dataset.r !== undefined) event.preventDefault(), focus(next);
  });

  data.machines.forEach((one, index) => machine.append(Object.assign(make("option", one.name), { value: String(index) })));
  machine.closest("label").hidden = data.machines.length < 2;
  const families = [...new Set(data.operations.map((name) => name.split(".")[0]))];
  families.forEach((name) => family.append(Object.assign(make("option", name), { value: name })));
  machine.addEventListener("change", draw);
  family.addEventListener("change", filter);
  search.addEventListener("input", filter);
  byId("controls").hidden = false;
  draw();
})();
