// The largest session that is promised: 500 trials of 120 seconds. How long it takes is printed,
// not asserted: a busy machine says nothing about the page.

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { launch, open } from "../browser";
import { fileOfPage } from "../document";
import { big, pageOf } from "../fixture";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

test("500 trials of 120 seconds open, scroll and open a row", async () => {
  const address = fileOfPage(pageOf({ session: big() }));
  const bytes = statSync(fileURLToPath(address)).size;
  const { tab, errors } = await open(browser, address);
  expect(await tab.locator("tbody[data-trial]").count()).toBe(500);
  // What is not opened is not drawn.
  expect(await tab.locator("tbody[data-trial] svg").count()).toBe(0);
  expect(await tab.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(25_000);
  const times = await tab.evaluate(() => {
    const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? NaN;
    return { decoded: at("sweetspot-decoded") - at("sweetspot-begin"),
      drawn: at("sweetspot-drawn") - at("sweetspot-decoded") };
  });
  const frames = await tab.evaluate(async () => {
    const gaps: number[] = [];
    let last = performance.now();
    const end = document.documentElement.scrollHeight;
    for (let y = 0; y < end; y += 400) {
      scrollTo({ top: y, behavior: "instant" });
      const now = await new Promise<number>((next) => requestAnimationFrame(next));
      gaps.push(now - last);
      last = now;
    }
    return gaps.sort((a, b) => a - b);
  });
  await tab.locator(".opener").nth(250).click();
  expect(await tab.locator("tbody.open svg").count()).toBe(4);
  const frame = (share: number) => frames[Math.floor(frames.length * share)]?.toFixed(0);
  console.log(`${(bytes / 1e6).toFixed(1)} MB; decoded in ${times.decoded.toFixed(0)} ms, ` +
    `drawn in ${times.drawn.toFixed(0)} ms; ` +
    `frames: median ${frame(0.5)} ms, 99 % ${frame(0.99)} ms`);
  expect(errors).toEqual([]);
});
