import { expect, test } from "vitest";

import * as figures from "../../src/figures";
import { nameOf } from "../../src/setting";

test("figures keep three digits and their unit, as the terminal prints them", () => {
  for (const [value, text] of [[412.4, "412/s"], [41.23, "41.2/s"], [4.127, "4.13/s"],
    [0, "0.00/s"], [99.96, "100/s"]] as const) {
    expect(figures.rate(value)).toBe(text);
  }
  for (const [value, text] of [[0.00052, "0.52 ms"], [0.0038, "3.8 ms"], [0.0382, "38 ms"],
    [1.239, "1.24 s"], [0.9996, "1.00 s"]] as const) {
    expect(figures.latency(value)).toBe(text);
  }
  for (const [value, text] of [[0.974, "97 %"], [0.003, "0.3 %"], [0.0004, "0.04 %"],
    [0.000051, "0.01 %"], [0.000049, "<0.01 %"], [0, "0 %"]] as const) {
    expect(figures.percent(value)).toBe(text);
  }
  for (const [value, text] of [[512, "512 B"], [2048, "2 KiB"], [412 * 1024 ** 2, "412 MiB"],
    [23.5 * 1024 ** 3, "23.5 GiB"]] as const) {
    expect(figures.bytes(value)).toBe(text);
  }
});

test("changes have a sign, and none where nothing changed", () => {
  expect([1.53, 0.96, 1.004].map(figures.change)).toEqual(["+53 %", "-4 %", "0 %"]);
});

test("long times are in words", () => {
  expect([48, 360, 372, 7500, 7200].map(figures.span)).toEqual(
    ["48 s", "6 min", "6 min 12 s", "2 h 5 min", "2 h"]);
});

test("a quantile is never rounded up to all", () => {
  expect([0.5, 0.999, 0.99999].map(figures.quantile)).toEqual(["50 %", "99.9 %", "99.999 %"]);
});

test("what is no number says so, and breaks nothing", () => {
  for (const format of [figures.number, figures.latency, figures.percent, figures.bytes,
    figures.ratio, figures.short, figures.cores]) {
    expect(format(NaN)).toBe("?");
    expect(format(Infinity)).toBe("?");
  }
  expect(figures.moment("not a time", "en")).toBe("not a time");
});

test("a server without threads has settings of one number", () => {
  expect(nameOf({ workers: 3, threads: 1 }, { has_threads: false })).toBe("3");
  expect(nameOf({ workers: 3, threads: 5 }, { has_threads: true })).toBe("3 x 5");
});

test("thousands stand apart", () => {
  expect(figures.count(1234567)).toBe("1\u202f234\u202f567");
  expect(figures.count(999)).toBe("999");
});
