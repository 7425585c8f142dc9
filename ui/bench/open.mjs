// How soon a file's page is there, and how evenly it scrolls, in Chromium. Prints rows of a table, and
// fails when it takes a second or longer.
//
// Usage: node ui/bench/open.mjs FILE TIMES

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, times] = [pathToFileURL(resolve(process.argv[2])).href, Number(process.argv[3])];

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Milliseconds from the beginning of the navigation until the page shows its decision. */
async function open(browser) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(file, { waitUntil: "commit" });
  await page.waitForSelector("#page h1", { timeout: 60_000 });
  const shown = await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())))),
  );
  return { page, shown };
}

/** Milliseconds between frames while the whole page is scrolled through. */
async function scroll(page) {
  return page.evaluate(async () => {
    const frames = [];
    const step = 400;
    let last = performance.now();
    for (let at = 0; at < document.documentElement.scrollHeight; at += step) {
      window.scrollTo(0, at);
      await new Promise((done) => requestAnimationFrame(done));
      const now = performance.now();
      frames.push(now - last);
      last = now;
    }
    return frames;
  });
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const opened = [];
const frames = [];
for (let at = 0; at < times; at += 1) {
  const { page, shown } = await open(browser);
  opened.push(shown);
  if (at === 0) frames.push(...(await scroll(page)));
  await page.close();
}
await browser.close();
const slow = frames.filter((it) => it > 50).length;
const shown = median(opened) / 1000;
const spread = `${(Math.min(...opened) / 1000).toFixed(2)} to ${(Math.max(...opened) / 1000).toFixed(2)}`;
console.log(`| opened and drawn, Chromium | ${shown.toFixed(2)} s (${spread}) | under 1 s |`);
console.log(
  `| frames while scrolling: median; over 50 ms | ${median(frames).toFixed(0)} ms; ${slow} of ${frames.length} | smooth |`,
);
if (shown >= 1) process.exitCode = 1;
