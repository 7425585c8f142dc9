// The program's own pages: `serve` on a store that was really recorded. Needs SWEETSPOT, the path of
// the program; without it these fail, because what is tested elsewhere is a stand-in for this.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Browser } from "playwright-core";

import { launch, open } from "../browser";
import { store } from "../document";

const program = process.env["SWEETSPOT"] ?? "";
let browser: Browser;
let served: ChildProcess;
let address: string;
let report: any;

/** The first line that a program prints. */
function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    createInterface({ input: child.stdout! }).once("line", found);
    child.once("error", failed);
    child.once("exit", (code) => failed(new Error(`it ended with ${code}`)));
  });
}

beforeAll(async () => {
  expect(program, "SWEETSPOT names the program: make test sets it").not.toBe("");
  const path = store();
  const json = execFileSync(program, ["report", "last", "-q", "--json", "--store", path]);
  report = JSON.parse(json.toString());
  served = spawn(program, ["serve", "--port", "0", "--json", "--store", path]);
  address = JSON.parse(await firstLine(served)).address;
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  served?.kill("SIGTERM");
});

describe("what serve shows of a recorded session", () => {
  test("is listed, and opens as its report", async () => {
    const { tab, errors, requests } = await open(browser, address);
    const row = tab.locator(`[data-table="sessions"] [data-session="${report.session}"]`);
    await row.waitFor();
    expect(await row.textContent()).toContain(report.server);
    await row.locator("a").first().click();
    const { workers, threads } = report.decision;
    const trials = tab.locator("[data-table=trials] [data-trial]");
    await trials.first().waitFor();
    expect(await tab.locator("#page h1").textContent())
      .toMatch(new RegExp(`${workers} workers? x ${threads} threads?`));
    expect(await trials.count()).toBe(report.trials.length);
    const cells = tab.locator(`[data-chart="map"] [data-mark="cell"]`);
    expect(await cells.count()).toBeGreaterThanOrEqual(report.predicted.length);
    expect(errors).toEqual([]);
    expect(requests).toEqual([]);
  });

  test("says of a session that is not there what is wrong", async () => {
    const { tab } = await open(browser, `${address}#/session/99`);
    await tab.getByText("there is no session 99").first().waitFor();
  });

  test("answers nobody who does not know the token", async () => {
    const other = new URL(address);
    other.pathname = "/0123456789abcdef0123456789abcdef/api/sessions";
    expect((await fetch(other)).status).toBe(404);
  });
});
