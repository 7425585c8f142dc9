// The session's page in a real browser: what is drawn against the data, and what can be pressed.
// With SWEETSPOT and SWEETSPOT_STORE set, the page is the program's own report.

import { readFileSync } from "node:fs";

import type { Browser, Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { capacityRows } from "../../src/charts/capacity";
import { latencyRows, latencySettings } from "../../src/charts/latency";
import { mapRows } from "../../src/charts/map";
import { memoryRows } from "../../src/charts/memory";
import { spectrumRows } from "../../src/charts/spectrum";
import { sureRows } from "../../src/charts/sure";
import { csv } from "../../src/table";
import { capacityTable } from "../../src/charts/capacity";
import { en } from "../words";
import { launch, open, type Watched } from "../browser";
import { fileOf, fileOfPage, html, ofProgram, packed } from "../document";
import { nothingValid, pageOf, session, unfinished, withoutThreads } from "../fixture";
import { inLanguage } from "../../src/language";

const program = ofProgram();
const page = program?.page ?? pageOf({ session: session() });
const shown = inLanguage(page.session, "en");
const japanese = inLanguage(page.session, "ja");
const address = program?.address ?? fileOfPage(page);

let browser: Browser;
let watched: Watched;
let tab: Tab;

beforeAll(async () => {
  browser = await launch();
  watched = await open(browser, address);
  tab = watched.tab;
});
afterAll(() => browser.close());

function count(chart: string, mark: string): Promise<number> {
  return tab.locator(`[data-chart="${chart}"] [data-mark="${mark}"]`).count();
}

/** What the marks of a chart say of one thing, in drawing order. */
function values(chart: string, mark: string, name: string): Promise<(string | null)[]> {
  return tab.locator(`[data-chart="${chart}"] [data-mark="${mark}"]`).evaluateAll(
    (marks, attribute) => marks.map((it) => it.getAttribute(attribute)), `data-${name}`);
}

describe("each chart has the marks that the data says", () => {
  test("the first screen: the sentence, its figures, the interval of each side", async () => {
    expect(await tab.locator("#page h1").textContent()).toBe(shown.text.headline);
    const rows = sureRows(shown);
    expect(await values("sure", "point", "rps")).toEqual(rows.map((row) => String(row.rps)));
    expect(await values("sure", "interval", "low")).toEqual(rows.map((row) => String(row.low)));
    for (const [what, sentence] of shown.text.facts) {
      const fact = tab.locator(".facts dl > div", { hasText: what });
      expect(await fact.first().textContent()).toBe(what + sentence);
    }
  });

  test("the map", async () => {
    const rows = mapRows(shown);
    expect(await values("map", "cell", "rps")).toEqual(
      rows.map((row) => (row.cell.rps === null ? null : String(row.cell.rps))));
    expect(await values("map", "cell", "kind")).toEqual(rows.map((row) => row.kind));
    const of = (mark: string) => rows.filter((row) => row.cell.mark === mark).length;
    expect(await count("map", "chosen")).toBe(of("chosen"));
    expect(await count("map", "equivalent")).toBe(of("equivalent"));
    expect(await count("map", "today")).toBe(rows.filter((row) => row.isToday).length);
    expect(await count("map", "cross")).toBe(rows.filter((row) => row.kind === "crossed").length);
    expect(await tab.locator(".map-cell").count()).toBe(rows.length);
  });

  test("capacity", async () => {
    const rows = capacityRows(shown);
    const measured = rows.filter((row) => row.kind !== "predicted");
    const predicted = rows.filter((row) => row.kind === "predicted");
    expect((await values("capacity", "point", "rps")).sort()).toEqual(
      measured.map((row) => String(row.rps)).sort());
    expect(await count("capacity", "interval")).toBe(
      measured.filter((row) => row.low !== null).length);
    expect(await count("capacity", "predicted")).toBe(predicted.length);
    expect(await count("capacity", "curve")).toBe(new Set(predicted.map((it) => it.threads)).size);
    expect(await count("capacity", "band")).toBe(
      new Set(predicted.filter((it) => it.low !== null).map((it) => it.threads)).size);
  });

  test("latency against load, with the SLO", async () => {
    const rows = latencyRows(shown, latencySettings(shown)[0]!);
    expect((await values("latency", "point", "latency")).sort()).toEqual(
      rows.map((row) => String(row.latency_s)).sort());
    expect(await count("latency", "curve")).toBe(4);
    expect(await values("latency", "limit", "value")).toEqual(
      shown.limits.map(([, limit]) => String(limit)));
  });

  test("CPU by process, throughput, memory and the spectrum", async () => {
    const of = Number(await tab.locator("#cpu select").inputValue());
    const detail = shown.trials.find((it) => it.id === of)!.detail!;
    expect((await values("cpu", "process", "pid")).sort()).toEqual(
      detail.monitor.processes.map((it) => String(it.pid)).sort());
    expect(await values("throughput", "curve", "flow")).toEqual(
      expect.arrayContaining(["due", "sent", "answered"]));
    const parts = shown.memory === null ? 1 : 3;
    expect(await count("memory", "part")).toBe(memoryRows(shown).length * parts);
    expect(await count("memory", "measured")).toBe(
      memoryRows(shown).filter((row) => row.isMeasured).length);
    const sides = [...new Set(spectrumRows(shown).map((row) => row.side))];
    expect((await values("spectrum", "curve", "side")).sort()).toEqual(sides.sort());
  });

  test("every trial has a row, and every row its outcome", async () => {
    expect(await tab.locator("tbody[data-trial]").count()).toBe(shown.trials.length);
    expect(await tab.locator("tbody[data-trial] .outcome").allTextContents()).toEqual(
      shown.trials.map((it) => it.outcome));
  });

  test("every drawing says what it shows", async () => {
    for (const svg of await tab.locator("[data-chart] > svg, [data-chart] > figure").all()) {
      expect(await svg.getAttribute("role")).toBe("img");
      expect((await svg.getAttribute("aria-label"))?.length).toBeGreaterThan(5);
    }
  });
});

describe("what can be pressed", () => {
  test("a trial opens into its seconds, and closes again", async () => {
    const trial = shown.trials.filter((it) => it.detail !== null).at(-1)!;
    const row = tab.locator(`tbody[data-trial="${trial.id}"]`);
    expect(await row.locator("svg").count()).toBe(0);
    await row.locator(".opener").click();
    expect(await row.locator("[data-chart]").count()).toBe(4);
    expect(await row.locator(".reason").textContent()).toContain(trial.reason);
    expect(await row.locator('[data-chart="flow"] [data-mark="curve"]').count())
      .toBeGreaterThanOrEqual(3);
    expect(await row.locator('[data-chart="bands"] [data-mark="band"]').count()).toBe(3);
    expect(await row.locator('[data-chart="bands"] [data-mark="limit"]').count()).toBe(
      shown.limits.length);
    expect(await row.locator('[data-chart="workers"] [data-mark="process"]').count()).toBe(
      trial.detail!.monitor.processes.length);
    expect(await row.locator('[data-mark="warm-up"]').count()).toBe(trial.warm_up_s > 0 ? 4 : 0);
    expect(await tab.locator("#cpu select").inputValue()).toBe(String(trial.id));
    await row.locator(".opener").click();
    expect(await row.locator("[data-chart]").count()).toBe(0);
  });

  test("a cell of the map filters the trials, and says so", async () => {
    const at = shown.trials.at(-1)!;
    const own = shown.trials.filter((it) =>
      it.workers === at.workers && it.threads === at.threads);
    const cell = tab.locator(`.map-cell[aria-label^="\u2068${at.workers} x ${at.threads}"]`);
    await cell.first().click();
    expect(await cell.first().getAttribute("aria-pressed")).toBe("true");
    expect(await tab.locator("tbody[data-trial]").count()).toBe(own.length);
    expect(await tab.locator('[data-part="picked"]').textContent()).toContain(String(own.length));
    await tab.locator('[data-part="picked"] button').click();
    expect(await tab.locator("tbody[data-trial]").count()).toBe(shown.trials.length);
  });

  test("hover and focus tell the same of a cell, arrows go on", async () => {
    const [first, second] = [tab.locator(".map-cell").nth(0), tab.locator(".map-cell").nth(1)];
    await first.hover();
    const hovered = await tab.locator(".tooltip").textContent();
    await tab.mouse.move(2, 2);
    expect(await tab.locator(".tooltip").count()).toBe(0);
    await first.focus();
    expect(await tab.locator(".tooltip").textContent()).toBe(hovered);
    await tab.keyboard.press("ArrowRight");
    expect(await second.evaluate((it) => it === document.activeElement)).toBe(true);
    await tab.keyboard.press("Enter");
    expect(await second.getAttribute("aria-pressed")).toBe("true");
    await tab.keyboard.press("Enter");
  });

  test("text, purpose and outcome filter together; heads sort", async () => {
    const held = shown.trials.filter((it) => it.outcome === "held" && it.purpose === "probe");
    await tab.selectOption('[data-filter="purpose"]', "probe");
    await tab.selectOption('[data-filter="outcome"]', "held");
    expect(await tab.locator("tbody[data-trial]").count()).toBe(held.length);
    await tab.fill('[data-filter="text"]', "no trial says this");
    expect(await tab.locator("tbody[data-trial]").count()).toBe(0);
    await tab.locator(".filters button").click();
    expect(await tab.inputValue('[data-filter="text"]')).toBe("");
    await tab.locator('[data-sort="p95"]').click();
    const ids = await tab.locator("tbody[data-trial]").evaluateAll((rows) =>
      rows.map((row) => Number(row.getAttribute("data-trial"))));
    const p95 = ids.map((id) => shown.trials.find((it) => it.id === id)!.latency_s.p95);
    expect(p95).toEqual([...p95].sort((a, b) => a - b));
    expect(await tab.locator('th:has([data-sort="p95"])').getAttribute("aria-sort")).toBe(
      "ascending");
    await tab.locator('[data-sort="id"]').click();
  });

  test("a chart's data is a table, and CSV of it can be saved", async () => {
    const figure = tab.locator("#capacity");
    await figure.locator("summary").click();
    const table = capacityTable(shown, en);
    // It is made when the browser says that it was opened, which is after the click.
    await figure.locator("tbody tr").first().waitFor();
    expect(await figure.locator("tbody tr").count()).toBe(table.rows.length);
    expect(await figure.locator('tbody th[scope="row"]').count()).toBe(table.rows.length);
    const [saved] = await Promise.all([
      tab.waitForEvent("download"),
      figure.getByText(en.save_csv).click(),
    ]);
    expect(saved.suggestedFilename()).toBe("sweetspot-capacity.csv");
    expect(readFileSync(await saved.path(), "utf8")).toBe(csv(table));
    await figure.locator("summary").click();
  });

  test.skipIf(shown.predict === null)("sliders move the predictions", async () => {
    const before = await tab.locator('[data-part="predicted"]').textContent();
    const cores = tab.locator('[data-slider="cores"]');
    await cores.focus();
    await tab.keyboard.press("End");
    await tab.locator('[data-slider="workers"]').focus();
    await tab.keyboard.press("End");
    const after = await tab.locator('[data-part="predicted"]').textContent();
    expect(after).not.toBe(before);
    expect(await cores.getAttribute("aria-valuetext")).toBe(String(shown.predict!.cores.at(-1)));
    expect(await values("predict-workers", "current", "at")).toEqual(
      [String(shown.predict!.workers.at(-1))]);
    expect(await count("predict-workers", "predicted")).toBe(shown.predict!.workers.length);
  });

  test("the language switches, and the address remembers it", async () => {
    await tab.locator(".switches select").first().selectOption("ja");
    expect(await tab.evaluate(() => document.documentElement.lang)).toBe("ja");
    expect(await tab.locator("#page h1").textContent()).toBe(japanese.text.headline);
    expect(tab.url()).toContain("lang=ja");
    const notes = await tab.locator("#notes li").allTextContents();
    expect(notes).toEqual(japanese.notes);
    // The recorded session is of a version that stored text, which is shown as it is.
    if (!program) expect(japanese.notes).not.toEqual(shown.notes);
    const warnings = await tab.locator("#warnings").allTextContents();
    for (const it of japanese.warnings) expect(warnings.join()).toContain(it.message);
    await tab.locator(".switches select").first().selectOption("en");
    expect(await tab.locator("#page h1").textContent()).toBe(shown.text.headline);
  });

  test("the theme switches", async () => {
    const paper = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await tab.locator(".switches select").nth(1).selectOption("dark");
    expect(await paper()).not.toBe(light);
    await tab.locator(".switches select").nth(1).selectOption("system");
    expect(await paper()).toBe(light);
  });
});

test("the plain tables are hidden once the page is drawn", async () => {
  expect(await tab.locator("#static").isHidden()).toBe(true);
});

test("nothing failed, and nothing was asked of any network", () => {
  expect(watched.errors).toEqual([]);
  expect(watched.requests).toEqual([]);
});

describe("copy puts exactly the lines on the clipboard", () => {
  const lines = (env: Record<string, string>) =>
    Object.entries(env).map(([name, value]) => `${name}=${value}`).join("\n");

  /** What pasting gives: works without any permission, as on file://. */
  async function pasted(from: Tab): Promise<string> {
    return from.evaluate(async () => {
      const box = document.createElement("textarea");
      document.body.append(box);
      box.focus();
      document.execCommand("paste");
      const text = box.value || (await navigator.clipboard.readText().catch(() => ""));
      box.remove();
      return text;
    });
  }

  for (const way of ["clipboard", "selection"] as const) {
    test(`by ${way}`, async () => {
      const own = await open(browser, fileOfPage(pageOf({ session: session() })));
      const context = own.tab.context();
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      if (way === "selection") {
        await own.tab.evaluate(() => {
          navigator.clipboard.writeText = () => Promise.reject(new Error("no permission"));
        });
      }
      const { settings } = session().decision!;
      for (const [name, text] of [["env", lines(settings.env)],
        ["snippet", settings.config_snippet], ["start", settings.start],
        ["knobs-env", lines(settings.knobs_env!)],
        ["knobs-lines", settings.knobs_lines![0]!.line]] as const) {
        const button = own.tab.locator(`[data-paste="${name}"] button`);
        await button.click();
        await own.tab.waitForSelector(`[data-paste="${name}"] .copied`);
        expect(await pasted(own.tab)).toBe(text);
      }
      await context.close();
    });
  }
});

describe("sessions that are not whole", () => {
  for (const [name, of] of Object.entries({ unfinished, nothingValid, withoutThreads })) {
    test(`${name} shows what there is`, async () => {
      const own = await open(browser, fileOfPage(pageOf({ session: of() })));
      expect(await own.tab.locator("#page h1").textContent()).toBe(inLanguage(of(), "en").text.headline);
      expect(await own.tab.locator("tbody[data-trial]").count()).toBe(of().trials.length);
      await own.tab.locator(".opener").first().click();
      expect(await own.tab.locator("[data-detail]").count()).toBe(1);
      expect(own.errors).toEqual([]);
      await own.tab.context().close();
    });
  }

  test("without any trial or cell", async () => {
    const bare = { ...nothingValid(), trials: [], map: [], failures: [], plan: [], warnings: [] };
    const own = await open(browser, fileOfPage(pageOf({ session: bare })));
    expect(await own.tab.locator("#trials").textContent()).toContain(en.none_yet);
    expect(own.errors).toEqual([]);
    await own.tab.context().close();
  });
});

describe("when anything goes wrong the plain tables stay, with a sentence", () => {
  const whole = packed(pageOf({ session: session(2, 3) }));
  for (const [name, data] of Object.entries({
    "broken data": whole.slice(0, 400),
    "another version": packed({ format: 3, version: "0.9.0" } as never),
    "nothing in it": packed({ format: 2, version: "0.9.0" } as never),
    "a part that is missing": packed(pageOf({
      session: { ...session(1, 3), text: null as never } })),
  })) {
    test(name, async () => {
      const own = await open(browser, fileOf(html(data)));
      expect(await own.tab.locator("#static").isVisible()).toBe(true);
      expect((await own.tab.locator(".problem").textContent())?.length).toBeGreaterThan(20);
      await own.tab.context().close();
    });
  }
});
