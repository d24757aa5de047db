// Draws the heat map from the data block. The notes on releases are there without this.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const ids = ["map", "panel", "machine", "view", "family", "search", "shown"];
  const [place, panel, machine, view, family, search, shown] = ids.map(byId);
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
  const signed = (value) => (value < 0 ? "−" : "+") + number(Math.abs(value));
  const scrolls = (box) => box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth);
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

  // Of each kernel, by its operations, the steps that lead to it.
  data.machines.forEach((one) => {
    one.to = one.releases.map(() => new Map());
    one.steps.forEach((step) => {
      const to = one.to[step[1]];
      to.set(step[2], [...(to.get(step[2]) || []), step]);
    });
  });

  // A column is a machine and the number of one of its kernels; `base` is the column that its colours compare with.
  let columns = [];
  let chosen = null;

  const release = (column) => column.machine.releases[column.kernel];
  const cell = (column, operation) => column.machine.cells[column.kernel][operation];
  const isShown = (one, kernel) => columns.some((column) => column.machine === one && column.kernel === kernel);
  // Those whose other kernel is a column too.
  const stepsTo = (column, operation) => {
    const all = column.machine.to[column.kernel].get(operation) || [];
    return all.filter((step) => isShown(column.machine, step[0]));
  };

  const columnsOf = (first) => {
    const plain = (kernels) => kernels.map((kernel) => ({ machine: first, kernel }));
    if (view.value === "all") return plain(first.releases.map((_, kernel) => kernel));
    if (view.value === "series") return plain(first.ends);
    return first.ends.flatMap((end) => {
      const name = short(first.releases[end]);
      const others = data.machines.filter((one) => one !== first);
      const same = (one) => ({ machine: one, kernel: one.releases.findIndex((other) => short(other) === name) });
      const found = others.map(same).filter((column) => column.kernel >= 0);
      const base = { machine: first, kernel: end };
      return found.length ? [base, ...found.map((column) => ({ ...column, base }))] : [];
    });
  };

  const sparkline = (counts, marked) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
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
      if (count === null || !marked[index]) return;
      const dot = document.createElementNS(space, "circle");
      dot.setAttribute("cx", x(index).toFixed(1));
      dot.setAttribute("cy", y(count).toFixed(1));
      dot.setAttribute("r", "2");
      svg.append(dot);
    });
    return svg;
  };

  const isChange = (step) => step[6] !== data.unchanged;
  const percent = (step) => (step[3] > 0 ? ` (${signed((100 * (step[4] - step[3])) / step[3])}%)` : "");

  const cellOf = (index, operation, first) => {
    const column = columns[index];
    const one = cell(column, operation);
    const count = mode(one);
    const base = column.base ? mode(cell(column.base, operation)) : first;
    const kind = view.value === "machines" && !column.base ? "" : colour(count, base);
    const td = make("td", count === null ? "–" : number(count), count === null ? "none" : kind);
    const steps = stepsTo(column, operation);
    td.dataset.c = index;
    td.dataset.o = operation;
    td.dataset.r = titleOf(column);
    td.tabIndex = -1;
    if (steps.some(isChange)) td.classList.add("step");
    const changes = steps.map((step) => `; ${signed(step[4] - step[3])} since ${short(column.machine.releases[step[0]])}`);
    td.title = `${data.operations[operation]} in ${titleOf(column)}: ${range(one)}${changes.join("")}`;
    return td;
  };

  const rowOf = (name, operation) => {
    const counts = columns.map((column) => mode(cell(column, operation)));
    const first = counts.find((count) => count !== null);
    const row = make("tr");
    const head = make("th", name);
    head.scope = "row";
    const line = make("td", undefined, "line");
    const marked = columns.map((column) => stepsTo(column, operation).some(isChange));
    if (view.value !== "machines") line.append(sparkline(counts, marked));
    row.append(head, line, ...columns.map((_, index) => cellOf(index, operation, first)));
    return row;
  };

  const titleOf = (column) => short(release(column)) + (view.value === "machines" ? " " + column.machine.name : "");

  // A release may break before its "+deb13".
  const titled = (title) => {
    const head = make("th");
    head.scope = "col";
    title.split(/(?=\+)/).forEach((part, index) => head.append(...(index ? [make("wbr"), part] : [part])));
    return head;
  };

  const draw = () => {
    columns = columnsOf(data.machines[Number(machine.value) || 0]);
    // Paper has room for so many columns.
    const table = make("table", undefined, columns.length > 12 ? "many" : "");
    const head = make("tr");
    head.append(...["Operation", view.value === "machines" ? "" : "Releases", ...columns.map(titleOf)].map(titled));
    const body = make("tbody");
    body.append(...data.operations.map(rowOf));
    const first = body.querySelector("td[data-c]");
    if (first) first.tabIndex = 0;
    const top = make("thead");
    top.append(head);
    table.append(make("caption", "Instructions by operation and kernel."), top, body);
    place.replaceChildren(table);
    scrolls(place);
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
    shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} operations`;
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
    table.append(make("caption", "Functions, their own instructions."), head, body);
    const box = make("div", undefined, "box");
    box.tabIndex = 0;
    box.role = "group";
    box.ariaLabel = "Functions";
    box.append(table);
    return box;
  };

  // An environment as commands name it: with another processor than the usual one, and with boot parameters.
  const command = (operation, of, before, after) => {
    const [name, ...parameters] = operation.split(" ");
    // For a shell: names come from files.
    const quoted = (text) => (/^[\w.=:+\/][\w.=:+\/-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
    const asked = parameters.map((parameter) => ` --param ${quoted(parameter)}`).join("");
    if (name.startsWith("-")) return make("p", "No command can repeat it: its name looks like an option.");
    const line = make("p", "To repeat it: ");
    const [from, to] = [before, after].map((kernel) => quoted(of.environments[kernel]));
    line.append(make("code", `syscost explain ${quoted(name)}${asked} --env ${from} --versus ${to}`));
    return line;
  };

  const tell = (column, operation, step) => {
    const releases = column.machine.releases;
    const parts = [make("p", `Since ${short(releases[step[0]])}: ${signed(step[4] - step[3])} instructions${percent(step)}.`)];
    if (step[5].length) parts.push(functions(step));
    else parts.push(make("p", step[6] || "The functions were not looked into: the step is small.", "faint"));
    return [...parts, command(data.operations[operation], column.machine, step[0], step[1])];
  };

  const open = (td) => {
    const [index, operation] = [Number(td.dataset.c), Number(td.dataset.o)];
    const column = columns[index];
    const parts = [make("h3", `${data.operations[operation]} in ${titleOf(column)}`)];
    const say = (one) => parts.push(make("p", `${titleOf(one)}: ${range(cell(one, operation))}`));
    const before = column.base || (view.value === "machines" ? undefined : columns[index - 1]);
    if (before) say(before);
    say(column);
    const steps = stepsTo(column, operation);
    steps.forEach((step) => parts.push(...tell(column, operation, step)));
    if (!steps.length) parts.push(make("p", before ? "No step here." : "The first one here.", "faint"));
    panel.replaceChildren(...parts);
    panel.hidden = false;
    panel.querySelectorAll(".box").forEach(scrolls);
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
    const td = event.target.closest("td[data-c]");
    if (td) focus(td), open(td);
  });
  place.addEventListener("keydown", (event) => {
    const td = event.target.closest("td[data-c]");
    if (!td) return;
    if (event.key === "Enter") open(td);
    const next = beside(td, event.key);
    if (next && next.dataset.c !== undefined) event.preventDefault(), focus(next);
  });

  data.machines.forEach((one, index) => machine.append(Object.assign(make("option", one.name), { value: String(index) })));
  machine.closest("label").hidden = data.machines.length < 2;
  const families = [...new Set(data.operations.map((name) => name.split(".")[0]))];
  families.forEach((name) => family.append(Object.assign(make("option", name), { value: name })));
  if (data.machines.length > 1) view.append(Object.assign(make("option", "machines side by side"), { value: "machines" }));
  [machine, view].forEach((control) => control.addEventListener("change", draw));
  family.addEventListener("change", filter);
  search.addEventListener("input", filter);
  byId("controls").hidden = false;
  draw();
})();
