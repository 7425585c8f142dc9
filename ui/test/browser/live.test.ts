// The page under `serve`: it asks, follows what is sent, and nothing jumps or loses its focus.

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Second, Page, Running, SessionPage } from "../../src/data";
import { fill } from "../../src/words";
import { en } from "../words";
import { launch, open } from "../browser";
import { inEach, pageOf, session } from "../fixture";
import { compare, rows } from "../others";
import { serve, type Fake } from "../serve";
import { inLanguage } from "../../src/language";

let browser: Browser;
let fake: Fake;
let whole: SessionPage;
/** What the program has of the session so far. */
let known: SessionPage;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

beforeEach(async () => {
  whole = session(24, 12);
  const text = { ...inLanguage(whole, "en").text, headline: "Still measuring.", facts: [] as [string, string][] };
  known = { ...whole, session: 5, state: "running", decision: null, front: [], knobs: [],
    text, trials: whole.trials.slice(0, 20) };
  fake = await serve({
    sessions: rows(),
    page: (id): Page | null => (id === 5 ? pageOf({ session: known }) : null),
    compare: pageOf({ compare: compare() }),
    predict: (asked) => {
      const list = (name: string) => (asked.get(name) ?? "").split(",").map(Number);
      const [workers, threads] = [list("workers"), list("threads")];
      const size = workers.length * threads.length;
      const all = <T>(value: T): T[] => Array.from({ length: size }, () => value);
      return { cores: list("cores"), waits: list("wait"), workers, threads,
        capacity_rps: all(777), low_rps: all(700), high_rps: all(800), memory_bytes: all(1e9),
        limit: all("cores"), limit_names: {}, measured_cores: 2,
        doubts: [inEach("asked of the program", "プログラムの答え")] };
    },
  });
});
afterEach(() => fake.close());

const running: Running = { id: 21, text: "trial 21: 3 x 8, confirm, 540/s for 30 s",
  duration_s: 30 };

function second(at_s: number): Second {
  return { at_s, phase: at_s < 3 ? "warm_up" : "measure", due: 540, sent: 540, replies: 500 + at_s,
    errors: 0, in_flight: 12, p95_s: 0.12 };
}

async function follow(hash = "#/session/5") {
  const watched = await open(browser, fake.address + hash);
  await watched.tab.waitForSelector("#page main section");
  await expect.poll(() => fake.streams()).toBe(1);
  return watched;
}

describe("a running session", () => {
  test("shows the running trial, second by second", async () => {
    const { tab, errors } = await follow();
    expect(await tab.locator('[data-part="running"]').textContent()).toBe(en.between_trials);
    fake.send("running", running);
    await tab.waitForFunction((text) =>
      document.querySelector('[data-part="running"]')?.textContent?.includes(text), running.text);
    for (let at = 0; at < 8; at += 1) fake.send("second", second(at));
    const bars = tab.locator('[data-chart="running"] [data-mark="second"]');
    await expect.poll(() => bars.count()).toBe(8);
    expect(await bars.last().getAttribute("data-replies")).toBe("507");
    expect(await tab.locator("#live").textContent()).toContain("p95 120 ms");
    fake.send("running", null);
    await expect.poll(() => bars.count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("gains trials and its decision, and then stops listening", async () => {
    const { tab, errors } = await follow();
    const shown = tab.locator("tbody[data-trial]");
    expect(await shown.count()).toBe(20);
    fake.send("trial", whole.trials[20]!);
    await expect.poll(() => shown.count()).toBe(21);
    const said = () => tab.locator('[data-part="said"]').textContent();
    await expect.poll(said).toContain("Trial 21");
    const { trials: _, ...decided } = { ...whole, session: 5, state: "running" as const };
    fake.send("session", decided);
    await expect.poll(() => tab.locator("#page h1").textContent()).toBe(inLanguage(whole, "en").text.headline);
    await expect.poll(said).toBe(en.decided);
    expect(await shown.count()).toBe(21);
    known = { ...whole, session: 5, state: "done", trials: whole.trials.slice(0, 21) };
    fake.send("session", { ...decided, state: "done" });
    await expect.poll(() => fake.streams()).toBe(0);
    expect(await tab.locator("#live").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("asks once more when it has ended, for the predictions that are made then", async () => {
    known = { ...known, predict: null };
    const { tab, errors } = await follow();
    const asked = () => fake.asked.filter((path) => path === "api/sessions/5").length;
    expect(await tab.locator("#predict").count()).toBe(0);
    known = { ...whole, session: 5, state: "done" };
    const { trials: _, ...head } = { ...known, predict: null };
    fake.send("session", head);
    await expect.poll(() => tab.locator("#predict").count()).toBe(1);
    expect(asked()).toBe(2);
    expect(fake.streams()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("loses no focus, no text, no open row, and doesn't move what is read", async () => {
    const { tab } = await follow();
    await tab.fill('[data-filter="text"]', "held");
    await tab.locator(".opener").first().click();
    const open = await tab.locator("tbody.open").getAttribute("data-trial");
    await tab.focus('[data-filter="text"]');
    const place = () => tab.evaluate(() =>
      Math.round(document.querySelector('[data-filter="text"]')!.getBoundingClientRect().top));
    const before = await place();
    fake.send("running", running);
    fake.send("second", second(1));
    fake.send("trial", whole.trials[20]!);
    fake.send("trial", whole.trials[21]!);
    const { trials: _, ...decided } = { ...whole, session: 5, state: "running" as const };
    fake.send("session", decided);
    await expect.poll(() => tab.locator("#page h1").textContent()).toBe(inLanguage(whole, "en").text.headline);
    await tab.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
    expect(await tab.evaluate(() => document.activeElement?.getAttribute("data-filter"))).toBe(
      "text");
    expect(await tab.inputValue('[data-filter="text"]')).toBe("held");
    expect(await tab.locator("tbody.open").getAttribute("data-trial")).toBe(open);
    expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(2);
  });

  test("is said to go on, and what can be done only once its program is gone", async () => {
    const ways = ["take it up again"];
    known = { ...known, text: { ...known.text, ways_out: ways } };
    const { tab, errors } = await follow();
    const answer = () => tab.locator("#decision").textContent();
    expect(await answer()).toContain(fill(en.so_far, { trials: 20 }));
    expect(await answer()).not.toContain(ways[0]);
    fake.send("sessions", rows().map((row) => (row.id === 5 ? { ...row, is_alive: false } : row)));
    await expect.poll(answer).toContain(ways[0]);
    expect(await answer()).toContain(known.text.headline);
    expect(await tab.locator("#live").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("is drawn where there is hardly room, without a fault", async () => {
    const { tab, errors } = await follow();
    await tab.setViewportSize({ width: 140, height: 600 });
    fake.send("running", running);
    fake.send("second", second(1));
    const bars = tab.locator('[data-chart="running"] [data-mark="second"]');
    await expect.poll(() => bars.count()).toBe(1);
    await tab.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await tab.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
    expect(errors).toEqual([]);
  });

  test("connects again after the program was gone, and asks for what it missed", async () => {
    const { tab } = await follow();
    const asked = () => fake.asked.filter((path) => path === "api/sessions/5").length;
    expect(asked()).toBe(1);
    known = { ...known, trials: whole.trials.slice(0, 23) };
    fake.drop();
    await expect.poll(asked).toBe(2);
    await expect.poll(() => tab.locator("tbody[data-trial]").count()).toBe(23);
    expect(await tab.locator("#live").textContent()).not.toContain(en.lost);
  });

  test("asks the program for predictions between those of the table", async () => {
    const { tab, errors } = await follow();
    const cores = tab.locator('[data-slider="cores"]');
    await cores.focus();
    await tab.keyboard.press("ArrowRight");
    const said = tab.locator('[data-part="predicted"]');
    await expect.poll(() => said.textContent()).toContain("777/s");
    expect(await cores.getAttribute("aria-valuetext")).toBe("3");
    const path = fake.asked.find((it) => it.startsWith("api/predict"))!;
    const asked = new URL(path, "http://x").searchParams;
    expect([asked.get("session"), asked.get("cores"), asked.get("wait")]).toEqual(["5", "3", "1"]);
    expect(await tab.locator("#predict").textContent()).toContain("asked of the program");
    await tab.keyboard.press("ArrowRight");
    await expect.poll(() => said.textContent()).not.toContain("777/s");
    expect(errors).toEqual([]);
  });
});

describe("the other pages", () => {
  test("the list links to its sessions and changes when the program says so", async () => {
    const { tab, errors } = await follow("");
    expect(await tab.locator("[data-session]").count()).toBe(3);
    expect(await tab.locator('[data-session="4"] .state').textContent()).toBe(
      en.interrupted);
    fake.send("sessions", [{ ...rows()[0]!, id: 6 }, ...rows()]);
    await expect.poll(() => tab.locator("[data-session]").count()).toBe(4);
    await tab.locator('[data-session="5"] a').click();
    await tab.waitForSelector("#headline");
    expect(tab.url()).toBe(`${fake.address}#/session/5`);
    expect(await tab.title()).toBe("Session 5 · sweetspot");
    await tab.goBack();
    await tab.waitForSelector("[data-session]");
    expect(errors).toEqual([]);
  });

  test("two ticked sessions are compared", async () => {
    const { tab, errors } = await follow("");
    await tab.locator('[data-session="5"] input').check();
    await tab.locator('[data-session="3"] input').check();
    await tab.locator("a.button").click();
    await tab.waitForSelector('[data-chart="compare"] svg');
    expect(tab.url()).toBe(`${fake.address}#/compare/3/5`);
    expect(fake.asked).toContain("api/compare?a=3&b=5");
    const figures = compare().figures.filter((it) => it.ratio !== null);
    expect(await tab.locator('[data-chart="compare"] [data-mark="point"]').count()).toBe(
      figures.length);
    expect(errors).toEqual([]);
  });

  test("predictions have a page of their own", async () => {
    const { tab, errors } = await follow("#/predict/5");
    expect(await tab.locator('[data-chart^="predict-"] svg').count()).toBe(2);
    expect(await tab.locator("#trials").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("what can't be had says why, and no more is asked than the page's own", async () => {
    const { tab, requests } = await open(browser, `${fake.address}#/session/99`);
    await expect.poll(() => tab.locator(".problem").textContent()).toContain(
      "there is no api/sessions/99");
    expect(requests).toEqual([]);
  });
});
