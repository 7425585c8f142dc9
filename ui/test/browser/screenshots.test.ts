// Pictures of every page for the documents, in test-output/ (not kept by git).

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { launch, open } from "../browser";
import { fileOfPage, ofProgram } from "../document";
import { nothingValid, pageOf, session, unfinished, withoutThreads } from "../fixture";
import { compare, lab, rows } from "../others";
import { serve } from "../serve";

const out = fileURLToPath(new URL("../../test-output", import.meta.url));
let browser: Browser;

beforeAll(async () => {
  mkdirSync(out, { recursive: true });
  browser = await launch();
});
afterAll(() => browser.close());

const PAGES = {
  session: () => pageOf({ session: session() }),
  "no-threads": () => pageOf({ session: withoutThreads() }),
  unfinished: () => pageOf({ session: unfinished() }),
  nothing: () => pageOf({ session: nothingValid() }),
  compare: () => pageOf({ compare: compare() }),
  lab: () => pageOf({ lab: lab() }),
};

for (const [name, page] of Object.entries(PAGES)) {
  for (const width of [1280, 390]) {
    test(`${name} at ${width} px doesn't scroll sideways, light or dark`, async () => {
      const { tab } = await open(browser, fileOfPage(page()), { width });
      await tab.screenshot({ path: `${out}/${name}-${width}-first.png` });
      if (name === "session") {
        await tab.click('tbody[data-trial="17"] .opener');
        await tab.waitForSelector('[data-detail="17"] svg');
      }
      for (const scheme of ["light", "dark"] as const) {
        await tab.emulateMedia({ colorScheme: scheme });
        await tab.screenshot({ path: `${out}/${name}-${width}-${scheme}.png`, fullPage: true });
        expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      }
      await tab.context().close();
    });
  }
}

// The pictures of docs/page.md are copies of these: docs/images/page-*.png.
test("the recorded session, for the documents", async ({ skip }) => {
  const program = ofProgram();
  if (!program) return skip();
  for (const [width, scheme] of [[1280, "light"], [390, "dark"]] as const) {
    const { tab } = await open(browser, program.address, { width, scheme });
    await tab.screenshot({ path: `${out}/recorded-${width}.png` });
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    if (width === 1280) {
      await tab.locator("#map").screenshot({ path: `${out}/recorded-map.png` });
    }
    await tab.context().close();
  }
});

test("under serve: the list, and a session while it runs", async () => {
  const fake = await serve({ sessions: rows(), page: () => pageOf({ session: {
    ...session(12, 12), state: "running", decision: null } }) });
  for (const width of [1280, 390]) {
    for (const [name, hash] of [["list", "#/"], ["live", "#/session/5"]]) {
      const { tab } = await open(browser, fake.address + hash, { width });
      await expect.poll(() => fake.streams()).toBe(1);
      fake.send("running", { id: 13, duration_s: 30,
        text: "trial 13: 3 x 8, probe, 520/s for 30 s; about 2 min 20 s left" });
      for (let at_s = 0; at_s < 17; at_s += 1) {
        fake.send("second", { at_s, phase: at_s < 4 ? "warm_up" : "measure", sent: 520, errors: 0,
          due: 520 + (at_s * 37) % 50 - 25, replies: 500 + (at_s * 53) % 40, in_flight: 9,
          p95_s: 0.09 });
      }
      if (name === "live") {
        await expect.poll(() => tab.locator('[data-mark="second"]').count()).toBe(17);
      }
      await tab.screenshot({ path: `${out}/${name}-${width}.png` });
      expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      await tab.context().close();
      await expect.poll(() => fake.streams()).toBe(0);
    }
  }
  await fake.close();
});

test("in Japanese, at both widths", async () => {
  for (const width of [1280, 390]) {
    const { tab } = await open(browser, fileOfPage(PAGES.session()), { width, locale: "ja-JP" });
    expect(await tab.evaluate(() => document.documentElement.lang)).toBe("ja");
    await tab.screenshot({ path: `${out}/session-ja-${width}.png`, fullPage: true });
    await tab.context().close();
  }
});

test("on paper", async () => {
  const { tab } = await open(browser, fileOfPage(PAGES.session()), { scheme: "dark" });
  const pdf = await tab.pdf({ path: `${out}/session.pdf`, format: "A4" });
  expect(pdf.length).toBeGreaterThan(50_000);
  await tab.emulateMedia({ media: "print" });
  await tab.screenshot({ path: `${out}/session-print.png`, fullPage: true });
  await tab.context().close();
});
