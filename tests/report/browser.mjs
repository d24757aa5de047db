// What a real browser makes of a page: argv are the page, the folder for screenshots and what kind of page it is. Prints
// one line for each check that holds, and ends with status 1 at the first that does not. tests/report.rs runs it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { constants, inflateSync } from "node:zlib";

const [page_path, shots, kind] = process.argv.slice(2);
const { chromium } = createRequire(`${process.env.SYSCOST_PLAYWRIGHT}/`)("playwright-core");
const axe = readFileSync(`${process.env.SYSCOST_PLAYWRIGHT}/node_modules/axe-core/axe.min.js`, "utf8");
const url = pathToFileURL(page_path).href;
const browser = await chromium.launch({
  executablePath: process.env.SYSCOST_CHROMIUM,
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});

let checks = 0;
// Pages without a table to sort and without a histogram are checked for what all pages have.
const brief = kind.endsWith("-brief");
const check = async (what, body, always = false) => {
  if (brief && !always) return;
  await body();
  checks += 1;
  console.log(`ok: ${what}`);
};

// A page in a context of its own; what it asks for, says or shows is noted.
const open = async (options) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
  const page = await context.newPage();
  const seen = { requests: [], messages: [], dialogs: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => seen.messages.push(message.text()));
  page.on("pageerror", (error) => seen.messages.push(error.message));
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    dialog.dismiss();
  });
  await page.goto(url);
  return { page, seen, context };
};

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
// Every part that is folded, unfolded.
const unfold = (page) => page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
// A4 on its side with the margins of a printer, in CSS pixels; the height is that of Letter, which is less.
const PAPER = { width: 1045, height: 739 };
const names = (page) =>
  page.locator(".sortable table").first().locator("tbody tr[data-k]:visible th[scope=row]").allTextContents();

// What of a page is wider than the room it has, in the browser: lists of what should not be, and how many tables there are
// and scroll sideways.
const measureLayout = () => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const name = (e) => `${e.tagName} ${e.className.baseVal ?? e.className}: ${e.textContent.trim().slice(0, 60)}`;
  const wider = (e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth;
  const right = (e) => e.getBoundingClientRect().right;
  const boxes = all(".box:has(table)").filter((box) => box.checkVisibility());
  const hint = (box) => getComputedStyle(box.querySelector("caption"), "::after").content.includes("sideways");
  const words = all("tbody th").flatMap((th) => [...th.childNodes]).filter((node) => /^\w+\W?$/.test(node.data ?? ""));
  const lines = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getClientRects().length;
  };
  const struck = (row) => [...row.querySelectorAll("text")].some((text) =>
    [...row.querySelectorAll("line,path")].some((mark) => right(mark) > text.getBoundingClientRect().left));
  return {
    tables: boxes.length,
    scrolling: boxes.filter(wider).length,
    page: document.documentElement.scrollWidth > innerWidth ? [document.documentElement.scrollWidth] : [],
    wider: all("body *").filter((e) => !(e instanceof SVGElement) && !e.matches(".box:has(table)") && wider(e)).map(name),
    charts: all("figure > div").filter((box) => box.scrollWidth > box.clientWidth).map(name),
    unreachable: all(".box").filter((box) => box.clientWidth > innerWidth || box.tabIndex !== 0).map(name),
    unsaid: boxes.filter((box) => wider(box) !== hint(box)).map(name),
    broken: words.filter((node) => lines(node) > 1).map((node) => node.data),
    cut: all(".fig .names > svg[width='100%'] text").filter((text) => right(text) > right(text.closest(".names")) + 1).map(name),
    struck: all(".fig .plot g").filter(struck).map(name),
  };
};

// The drawing instructions of each page of a PDF, as text.
const contents = (pdf) => {
  const streams = pdf.toString("latin1").split("endstream").map((part) => part.split(/stream\r?\n/)[1] ?? "");
  const inflate = (stream) => inflateSync(Buffer.from(stream, "latin1"), { finishFlush: constants.Z_SYNC_FLUSH }).toString("latin1");
  return streams.filter((stream) => stream.startsWith("x")).map(inflate);
};

try {
  const { page, seen } = await open({ colorScheme: "light" });

  await check("nothing is requested but the page itself", async () => {
    const others = seen.requests.filter((request) => request !== url && !request.startsWith("data:"));
    assert.deepEqual(others, []);
  }, true);

  await check("a heading sorts down, up and back, by mouse and by keyboard", async () => {
    const table = page.locator(".sortable table").first();
    const first = await table.evaluate((table) => [...table.tHead.rows[0].cells].findIndex((head, column) =>
      head.matches(".r") && [...table.tBodies[0].rows].some((row) => row.cells[column].dataset.v !== undefined)));
    const head = table.locator("thead th").nth(first);
    const column = await head.evaluate((head) => head.cellIndex);
    const before = await names(page);
    const values = async () => {
      const rows = page.locator(".sortable table").first().locator("tbody tr[data-k]");
      const all = await rows.evaluateAll((rows, column) => rows.map((row) => row.cells[column].dataset.v), column);
      return all.filter((value) => value !== undefined).map(Number);
    };
    await head.locator("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    const down = await values();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await head.locator("button").focus();
    await page.keyboard.press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    const up = await values();
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    await page.keyboard.press("Space");
    assert.equal(await head.getAttribute("aria-sort"), null);
    assert.deepEqual(await names(page), before);
  });

  await check("names sort too", async () => {
    await page.locator(".sortable table").first().locator("thead th button").first().click();
    const sorted = await names(page);
    assert.deepEqual(sorted, [...sorted].sort((a, b) => a.localeCompare(b, "en", { numeric: true })));
  });

  await check("a filter leaves what matches and says how many", async () => {
    const block = page.locator(".sortable").first();
    const all = (await names(page)).length;
    const wanted = (await names(page))[0].slice(0, 6);
    await block.locator("input").fill(wanted);
    const left = await names(page);
    assert.ok(left.length > 0 && left.length <= all);
    const rows = block.locator("tbody tr:visible");
    for (const text of await rows.allTextContents()) assert.ok(text.toLowerCase().includes(wanted.trim().toLowerCase()));
    await block.locator("input").fill("no row has this text");
    assert.equal((await names(page)).length, 0);
    assert.match(await block.locator(".count").textContent(), /^0 of /);
    await block.locator("input").fill("");
    assert.equal((await names(page)).length, all);
  });

  await check("an area is chosen by keyboard", async () => {
    const select = page.locator(".sortable").first().locator("select.area");
    await select.focus();
    await page.keyboard.press("ArrowDown");
    const chosen = await select.inputValue();
    const areas = await page.locator(".sortable").first().locator("tbody tr:visible")
      .evaluateAll((rows) => rows.map((row) => row.dataset.a));
    assert.ok(chosen !== "" && areas.length > 0 && areas.every((area) => area === chosen));
    await page.keyboard.press("ArrowUp");
  });

  await check("the first tab stop skips to the content, and focus is seen", async () => {
    await page.evaluate(() => document.activeElement?.blur());
    const fresh = await open({});
    await fresh.page.keyboard.press("Tab");
    assert.equal(await fresh.page.evaluate(() => document.activeElement.className), "skip");
    assert.ok(await fresh.page.evaluate(() => document.activeElement.getBoundingClientRect().left >= 0));
    await fresh.page.keyboard.press("Tab");
    assert.notEqual(await fresh.page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await fresh.context.close();
  });

  await check("colours follow the system, and the button overrules it and is remembered", async () => {
    const light = await background(page);
    const button = page.locator("#theme");
    await button.click();
    assert.equal(await background(page), light);
    await button.click();
    const dark = await background(page);
    assert.notEqual(dark, light);
    await button.click();
    assert.equal(await background(page), light);
    // Now and then, on a busy machine, a context of Chromium keeps nothing that its pages store, however long one waits. A page
    // that does not remember fails in each.
    const remembered = async () => {
      const fresh = await open({});
      await fresh.page.locator("#theme").click();
      await fresh.page.locator("#theme").click();
      assert.equal(await background(fresh.page), dark);
      await fresh.page.waitForTimeout(300);
      await fresh.page.reload();
      const found = await background(fresh.page);
      await fresh.context.close();
      return found === dark;
    };
    for (let tries = 1; !(await remembered()); tries++) assert.ok(tries < 4, "a reload forgets the chosen colours");
    const other = await open({ colorScheme: "dark" });
    assert.equal(await background(other.page), dark);
    await other.page.screenshot({ path: `${shots}/${kind}-dark.png`, fullPage: true });
    await other.context.close();
  });

  await check("tables have captions and scopes, figures titles and descriptions", async () => {
    const missing = await page.evaluate(() => ({
      captions: [...document.querySelectorAll("table")].filter((table) => !table.caption).length,
      scopes: [...document.querySelectorAll("th")].filter((th) => !th.scope).length,
      tables: document.querySelectorAll("table").length,
      unnamed: [...document.querySelectorAll(".box")].filter((box) => !box.ariaLabel.trim()).length,
      figures: [...document.querySelectorAll("figure > div:not(.controls)")].filter((figure) => figure.role !== "img" || !/\w\. ./.test(figure.ariaLabel)).length,
      ids: [...document.querySelectorAll("[id]")].length - new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size,
      links: [...document.querySelectorAll("a[href^='#']")].filter((a) => !document.querySelector(a.hash)).length,
    }));
    assert.ok(missing.tables > 1);
    assert.deepEqual({ ...missing, tables: 0 }, { captions: 0, scopes: 0, tables: 0, unnamed: 0, figures: 0, ids: 0, links: 0 });
  });

  for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
    await check(`axe finds no fault at ${width} px, ${colorScheme}`, async () => {
      const sized = await open({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
      // It does not know the contrast on the shadows of boxes that scroll.
      await sized.page.addStyleTag({ content: ".box{background:none!important}" });
      await unfold(sized.page);
      const cell = sized.page.locator(".box.map td.step").first();
      if (await cell.count()) await cell.dispatchEvent("click");
      await sized.page.evaluate(axe);
      const { violations, passes } = await sized.page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`)), []);
      assert.ok(passes.find(({ id }) => id === "color-contrast").nodes.length > 10);
      await sized.context.close();
    }, true);
  }

  await check("distributions are drawn", async () => {
    const paths = page.locator("svg.sp path, .fig path.b");
    assert.ok((await paths.count()) > 0);
    const box = await page.locator("svg.sp").first().boundingBox();
    assert.ok(box.width > 50 && box.height > 10);
  });

  for (const width of [360, 390, 800, 1280, 1600]) {
    await check(`at ${width} px nothing is wider than its box, and no text is cut`, async () => {
      const sized = await open({ viewport: { width, height: 900 } });
      await unfold(sized.page);
      await sized.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const found = await sized.page.evaluate(measureLayout);
      assert.ok(brief || found.tables > 1);
      // Only tables scroll, each in a box that the keyboard reaches and that says so; on a wide screen not even those.
      assert.deepEqual({ ...found, tables: 0, scrolling: 0 }, {
        tables: 0, scrolling: 0, page: [], wider: [], charts: [], unreachable: [], unsaid: [], broken: [], cut: [], struck: [],
      });
      // A heat map is as wide as it has releases.
      const wide = await sized.page.locator(".box.map").count();
      if (width >= 1280) assert.ok(found.scrolling <= wide, "a table does not fit");
      await sized.page.screenshot({ path: `${shots}/${kind}-${width}.png`, fullPage: true });
      await sized.context.close();
    }, true);
  }

  await check("a flame graph zooms, is searched and is inverted", async () => {
    if ((await page.locator(".flame").count()) === 0) return;
    const fresh = await open({});
    await unfold(fresh.page);
    const graph = fresh.page.locator("figure:has(.flame)").first();
    const widths = () => graph.locator(".plot > svg").evaluateAll((all) => all.map((one) => parseFloat(one.getAttribute("width"))));
    const before = (await widths()).length;
    const narrow = graph.locator(".plot > svg").nth(before - 1);
    await narrow.locator("rect").dispatchEvent("click");
    const zoomed = await widths();
    assert.ok(zoomed.length < before && zoomed.every((width) => width > 99.9), "the box and its callers are as wide as the page");
    await graph.getByRole("button", { name: "Show all" }).click();
    assert.ok((await widths()).length >= before / 2);
    const name = await graph.locator(".plot > svg title").first().textContent();
    await graph.locator("input").fill(name.slice(0, 3));
    assert.ok((await graph.locator(".hit").count()) > 0);
    assert.match(await graph.locator("output").textContent(), /^\d+ box(es)?, \d/);
    const invert = graph.getByRole("button", { name: "Invert" });
    if ((await invert.count()) > 0) {
      await invert.click();
      const rows = await graph.locator(".plot > svg").evaluateAll((all) =>
        all.filter((one) => one.getAttribute("y") === "0").map((one) => parseFloat(one.getAttribute("width"))));
      const sum = rows.reduce((sum, width) => sum + width, 0);
      assert.ok(sum > 90 && sum < 100.1, `the innermost functions are the whole: ${sum}`);
    }
    await fresh.context.close();
  }, true);

  await check("a row of the table of calls leads to its stacks", async () => {
    const links = page.locator("a[data-call]");
    if ((await page.locator("#stacks").count()) === 0) return assert.equal(await links.count(), 0);
    assert.ok((await links.count()) > 0 || kind.startsWith("profiles"));
    for (const link of (await links.all()).slice(0, 3)) {
      const call = await link.getAttribute("data-call");
      assert.equal(await link.locator("xpath=ancestor::tr/th").textContent(), call);
      await link.click();
      assert.equal(new URL(page.url()).hash, "#stacks");
      const hits = await page.locator("#stacks .hit > title").allTextContents();
      assert.ok(hits.length > 0 && hits.every((words) => words.startsWith(`${call}: `)), hits.join());
    }
  }, true);

  await check("a heat map has all its kernels on a phone", async () => {
    if ((await page.locator(".box.map").count()) === 0) return;
    const phone = await open({ viewport: { width: 390, height: 844 } });
    for (const view of ["series", "all"]) {
      await phone.page.locator("#view").selectOption(view);
      const { cells, named, columns } = await phone.page.evaluate(() => {
        const cells = [...document.querySelectorAll("#map tbody tr:first-child td[data-c]")];
        const within = ({ left, right }) => left >= 0 && right <= innerWidth;
        return {
          cells: cells.filter((cell) => within(cell.getBoundingClientRect())).length,
          named: cells.filter((cell) => getComputedStyle(cell, "::before").content.length > 4).length,
          columns: document.querySelectorAll("#map thead th").length - 2,
        };
      });
      assert.ok(columns > 1);
      assert.deepEqual([cells, named], [columns, columns]);
    }
    await phone.context.close();
  }, true);

  await check("a cell of a heat map says what changed, and how to repeat it", async () => {
    if ((await page.locator(".box.map").count()) === 0) return;
    const fresh = await open({});
    const panel = fresh.page.locator("#panel");
    await fresh.page.locator("td.step[title^='file.fstat in 6.12']").first().click();
    assert.match(await panel.textContent(), /instructions.*syscost explain .*--versus linux-/s);
    assert.ok((await panel.locator("tbody tr").count()) > 0, "no functions");
    const few = await fresh.page.locator("#map thead th").count();
    await fresh.page.locator("#view").selectOption("all");
    assert.ok((await fresh.page.locator("#map thead th").count()) > few);
    await fresh.page.keyboard.press("Tab");
    await fresh.page.locator("#search").fill("fstat");
    assert.match(await fresh.page.locator("#shown").textContent(), /^\d of \d{3} operations$/);
    await fresh.page.locator("#view").selectOption("machines");
    assert.ok((await fresh.page.locator("#map tbody td:visible").count()) > 0);
    await fresh.context.close();
  }, true);

  await check("the rules of a row are one line", async () => {
    const { data } = await page.evaluate(() => {
      const row = document.querySelector(".box tbody tr");
      const drawn = (cell) => {
        const style = getComputedStyle(cell);
        return [cell.getBoundingClientRect().bottom, style.borderBottomWidth, style.borderBottomColor, style.boxShadow].join();
      };
      return { data: [...row.children].map(drawn) };
    });
    assert.equal(new Set(data).size, 1, data.join("\n"));
  });

  await check("printed, it is light and has neither controls nor navigation", async () => {
    const light = await background(page);
    const paper = await open({ colorScheme: "dark" });
    assert.notEqual(await background(paper.page), light);
    await paper.page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.equal(await background(paper.page), light);
    assert.equal(await paper.page.locator("nav:visible, .controls:visible, #theme:visible").count(), 0);
    const shut = await paper.page.evaluate(() =>
      [...document.querySelectorAll("details > :not(summary, .fold)")].filter((e) => !e.checkVisibility({ contentVisibilityAuto: true })).map((e) => `${e.tagName} ${e.className}: ${e.textContent.trim().slice(0, 60)}`));
    assert.deepEqual(shut, [], "details that are shut on paper");
    await paper.page.pdf({ path: `${shots}/${kind}.pdf` });
    await paper.context.close();
  });

  await check("printed, everything is there, and a sheet holds it", async () => {
    const paper = await open({ viewport: PAPER });
    await paper.page.emulateMedia({ media: "print" });
    const { hidden, cut, high, wide } = await paper.page.evaluate(({ width, height }) => {
      const all = (selector) => [...document.querySelectorAll(selector)];
      const name = (e) => `${e.tagName} ${e.className.baseVal ?? e.className}: ${e.textContent.trim().slice(0, 60)}`;
      const size = (e) => e.getBoundingClientRect();
      return {
        hidden: all("main td, main th, main li, main p, main figure").filter((e) =>
          !e.closest("[hidden], .controls, .many thead") && !e.checkVisibility({ contentVisibilityAuto: true })).map(name),
        cut: all("main .box").filter((box) => getComputedStyle(box).overflowY !== "visible").map(name),
        high: all(".fig, tr").filter((e) => size(e).height > height - 60 && !e.closest(".many")).map(name),
        wide: all("main *").filter((e) => !(e instanceof SVGElement) && size(e).right > width + 1).map(name),
      };
    }, PAPER);
    assert.deepEqual({ hidden, cut, high, wide }, { hidden: [], cut: [], high: [], wide: [] });
    await paper.context.close();
  }, true);

  await check("printed, each page of a table has its headings", async () => {
    const paper = await open({ bypassCSP: true });
    // A ground of its own for headings and for rows, which the content of each printed page then names.
    await paper.page.addStyleTag({ content: ".sortable thead th{background:#010203!important}.sortable tbody th{background:#040506!important}" });
    const pages = contents(await paper.page.pdf());
    const fills = (...bytes) => (page) => page.includes(`${bytes.map((byte) => (byte / 255).toFixed(4).slice(1)).join(" ")} rg`);
    const [headed, rows] = [fills(1, 2, 3), fills(4, 5, 6)];
    assert.ok(pages.some(rows));
    assert.equal(pages.filter((page) => rows(page) && !headed(page)).length, 0, "a page without headings");
    await paper.context.close();
  });

  await check("without its script everything is there", async () => {
    const plain = await open({ javaScriptEnabled: false });
    assert.ok((await plain.page.locator("tbody tr:visible").count()) > 0);
    assert.equal(await plain.page.locator(".controls:visible, #theme:visible").count(), 0);
    const trees = plain.page.locator(".tree details[open]:visible");
    const before = await trees.count();
    if (before > 0) {
      await trees.first().locator("> summary").click();
      assert.ok((await trees.count()) < before, "a call tree closes");
    }
    await plain.context.close();
  });

  await check("no name from a file became markup, style or script", async () => {
    const found = await page.evaluate(() => ({
      images: document.images.length,
      frames: document.querySelectorAll("iframe, object, embed, form, base").length,
      scripts: [...document.scripts].filter((script) => script.type !== "application/json").length,
      styles: document.querySelectorAll("style").length,
      handlers: [...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name) || a.name === "style")).length,
      hacked: globalThis.hacked ?? null,
    }));
    assert.deepEqual(found, { images: 0, frames: 0, scripts: 1, styles: 1, handlers: 0, hacked: null });
  }, true);

  await check("the policy stops a script that were there", async () => {
    const stopped = await open({});
    await stopped.page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "globalThis.hacked = true";
      document.body.append(script);
    });
    assert.equal(await stopped.page.evaluate(() => globalThis.hacked ?? null), null);
    await stopped.context.close();
  });

  await page.screenshot({ path: `${shots}/${kind}-light.png`, fullPage: true });
  await check("nothing was said on the console and no dialog was shown", async () => {
    assert.deepEqual(seen.messages, []);
    assert.deepEqual(seen.dialogs, []);
  }, true);
  console.log(`${checks} checks`);
} finally {
  await browser.close();
}
