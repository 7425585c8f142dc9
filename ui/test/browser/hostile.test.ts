// Values from outside are text: one test for each place that shows any.

import type { Browser, Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Page } from "../../src/data";
import { launch, open, type Watched } from "../browser";
import { fileOfPage } from "../document";
import { pageOf } from "../fixture";
import { COMPARE_SINKS, hostile, hostileCompare, hostileLab, hostileRows, hostileSession, LAB_SINKS,
  LIST_SINKS, SESSION_SINKS } from "../hostile";
import { serve, type Fake } from "../serve";

let browser: Browser;
let fake: Fake;

beforeAll(async () => {
  browser = await launch();
  fake = await serve({ sessions: hostileRows(), page: () => null });
});
afterAll(async () => {
  await browser.close();
  await fake.close();
});

interface Seen {
  watched: Watched;
  /** The text of each element that has some of its own. */
  texts: string[];
  /** Texts that turn what stands around them. */
  turning: string[];
  foreign: number;
  pwned: unknown;
}

/** Opens all that can be opened, then reads the whole page. */
async function look(address: string): Promise<Seen> {
  const watched = await open(browser, address);
  const { tab } = watched;
  await tab.waitForSelector("#page main section, #page main table");
  for (const opener of await tab.locator(".opener").all()) await opener.click();
  for (const summary of await tab.locator("summary").all()) await summary.click();
  for (const cell of await tab.locator(".map-cell").all()) await cell.focus();
  return { watched, ...(await tab.evaluate(readAll)) };
}

/** Runs in the page. */
function readAll() {
  const [texts, turning]: [string[], string[]] = [[], []];
  const walk = document.createTreeWalker(document.getElementById("page")!, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent ?? "";
    texts.push(text);
    const start = text.indexOf("\u202e");
    const isIsolated = text.slice(0, start).includes("\u2068");
    if (start >= 0 && !isIsolated && !walk.currentNode.parentElement?.closest("bdi")) {
      turning.push(text);
    }
  }
  return {
    texts, turning,
    foreign: document.querySelectorAll("#page img, #page script, #page iframe, [onerror]").length,
    pwned: (window as unknown as { pwned: unknown }).pwned,
  };
}

const PAGES: [string, readonly string[], (() => Page) | null][] = [
  ["session", SESSION_SINKS, () => pageOf({ session: hostileSession() })],
  ["compare", COMPARE_SINKS, () => pageOf({ compare: hostileCompare() })],
  ["lab", LAB_SINKS, () => pageOf({ lab: hostileLab() })],
  ["list", LIST_SINKS, null],
];

for (const [name, sinks, page] of PAGES) {
  describe(`the ${name} page`, () => {
    let seen: Seen;
    beforeAll(async () => {
      seen = await look(page === null ? fake.address : fileOfPage(page()));
    });

    test.each(sinks)("shows %s as text", (sink) => {
      expect(seen.texts.some((text) => text.includes(hostile(sink)))).toBe(true);
    });

    test("runs nothing and makes no element of it", () => {
      expect(seen.pwned).toBeUndefined();
      expect(seen.foreign).toBe(0);
      expect(seen.watched.errors).toEqual([]);
      expect(seen.watched.requests).toEqual([]);
    });

    test("turns no text around but the value's own", () => {
      expect(seen.turning).toEqual([]);
    });
  });
}

test("a hostile line is copied as it is", async () => {
  const { tab } = await open(browser, fileOfPage(pageOf({ session: hostileSession() })));
  await tab.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await tab.locator('[data-paste="snippet"] button').click();
  await tab.waitForSelector('[data-paste="snippet"] .copied');
  expect(await read(tab)).toBe(hostile("snippet"));
});

function read(tab: Tab): Promise<string> {
  return tab.evaluate(() => navigator.clipboard.readText());
}
