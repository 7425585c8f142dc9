// axe-core finds nothing to object to: every page, both themes, both widths.

import axe from "axe-core";
import type { Browser, Page as Tab } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { launch, open } from "../browser";
import { fileOfPage } from "../document";
import { nothingValid, pageOf, session } from "../fixture";
import { compare, lab, rows } from "../others";
import { serve, type Fake } from "../serve";

let browser: Browser;
let fake: Fake;

beforeAll(async () => {
  browser = await launch();
  const running = { ...session(6, 6), state: "running" as const };
  fake = await serve({ sessions: rows(), page: () => pageOf({ session: running }) });
});
afterAll(async () => {
  await browser.close();
  await fake.close();
});

const PAGES: Record<string, () => string> = {
  session: () => fileOfPage(pageOf({ session: session(12, 10) })),
  nothing: () => fileOfPage(pageOf({ session: nothingValid() })),
  compare: () => fileOfPage(pageOf({ compare: compare() })),
  lab: () => fileOfPage(pageOf({ lab: lab() })),
  list: () => fake.address,
  live: () => `${fake.address}#/session/5`,
  predict: () => `${fake.address}#/predict/5`,
};

async function violations(tab: Tab, rules?: string[]): Promise<string[]> {
  await tab.evaluate(axe.source);
  return tab.evaluate(async (rules) => {
    // Elements that nothing is wrong with are not described one by one, which takes most of the time.
    const of = { resultTypes: ["violations" as const], ...(rules && { runOnly: rules }) };
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(of);
    return violations.flatMap((it) => it.nodes.map((node) =>
      `${it.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`));
  }, rules);
}

for (const [name, address] of Object.entries(PAGES)) {
  for (const width of [1280, 390]) {
    test(`${name}, ${width} px, light and dark`, async () => {
      const { tab } = await open(browser, address(), { width });
      await tab.waitForSelector("#page main section");
      const opener = tab.locator(".opener").last();
      if (await opener.count() > 0) await opener.click();
      for (const summary of await tab.locator("summary").all()) await summary.click();
      expect(await violations(tab)).toEqual([]);
      // The themes differ in their colours and in nothing else.
      await tab.emulateMedia({ colorScheme: "dark" });
      expect(await violations(tab, ["color-contrast"])).toEqual([]);
      await tab.context().close();
    });
  }
}
