// The parts that draw nothing: addresses, tables as CSV, filters, live messages, words.

import { describe, expect, test } from "vitest";
import { gzipSync } from "node:zlib";

import type { Second } from "../../src/data";
import { checked, decode } from "../../src/decode";
import { apply, type Live } from "../../src/live";
import { isolated, visible } from "../../src/outside";
import { stops } from "../../src/predicting";
import { hashOf, parse, switched } from "../../src/route";
import { csv, shown, type Table } from "../../src/table";
import { inLanguage, type Language } from "../../src/language";
import { matching, NO_FILTER, sorted } from "../../src/trials";
import { clientsText, fill } from "../../src/words";
import { inEach, pageOf, session } from "../fixture";
import { rows } from "../others";
import { en, ja } from "../words";

describe("the address", () => {
  test("says which page, in which language and theme", () => {
    expect(parse("#/session/3?lang=ja&theme=dark", ["en"])).toEqual({
      place: { page: "session", id: 3 }, language: "ja", theme: "dark" });
    expect(parse("#/compare/3/5", ["en"]).place).toEqual({ page: "compare", a: 3, b: 5 });
    expect(parse("#/predict/3", ["en"]).place).toEqual({ page: "predict", id: 3 });
    expect(parse("", ["ja-JP", "en"])).toEqual({
      place: { page: "list" }, language: "ja", theme: "system" });
  });

  test("that says nonsense is the list, in English", () => {
    for (const hash of ["#/session/x", "#/compare/1", "#nothing", "#/session/3.5?lang=fr"]) {
      expect(parse(hash, ["de"])).toEqual({
        place: { page: "list" }, language: "en", theme: "system" });
    }
  });

  test("keeps what was switched when the page changes", () => {
    expect(switched("#/session/3", "lang", "ja")).toBe("#/session/3?lang=ja");
    expect(switched("#/session/3?theme=dark", "theme", "system")).toBe("#/session/3");
    expect(hashOf({ page: "compare", a: 3, b: 5 }, "#/?lang=ja")).toBe("#/compare/3/5?lang=ja");
    expect(switched("", "theme", "dark")).toBe("#?theme=dark");
  });
});

describe("a table as CSV", () => {
  const table = (value: string | number | null): Table => ({
    name: "x", columns: [{ key: "a", label: "A" }], rows: [[value]] });

  test("quotes what needs it, and leaves numbers and nothing as they are", () => {
    expect(csv(table('say "hi", you'))).toBe('a\r\n"say ""hi"", you"\r\n');
    expect(csv(table(-1.5))).toBe("a\r\n-1.5\r\n");
    expect(csv(table(null))).toBe("a\r\n\r\n");
  });

  test("has no cell that a spreadsheet would run", () => {
    for (const text of ["=1+1", "+1", "-1", "@x", "\t=1"]) {
      expect(csv(table(text)).split("\r\n")[1]).toMatch(/^"?'/);
    }
  });

  test("is shown in units", () => {
    expect(shown(5, { key: "a", label: "", format: (v) => `${v}/s` })).toBe("5/s");
    const plain = { key: "a", label: "" };
    expect([null, true, "x"].map((value) => shown(value, plain))).toEqual(["–", "✓", "x"]);
  });
});

describe("text from outside", () => {
  test("shows its control characters instead of sending them", () => {
    expect(visible("a\u001b[31mb\u0000\u007f\n")).toBe("a␛[31mb␀␡\n");
  });

  test("ends what it turned around", () => {
    expect(isolated("\u202eabc")).toBe("\u2068\u202eabc\u2069");
  });
});

describe("trials", () => {
  const { trials } = session();

  test("are found by words, purpose, outcome and setting together", () => {
    expect(matching(trials, NO_FILTER)).toHaveLength(30);
    expect(matching(trials, { ...NO_FILTER, purpose: "saturate" })).toHaveLength(6);
    expect(matching(trials, { ...NO_FILTER, text: "3x8 DID not" }).map((it) => it.id))
      .toEqual(trials.filter((it) => it.workers === 3 && it.threads === 8 &&
        it.outcome === "did not hold").map((it) => it.id));
    const setting = { workers: 1, threads: 5 };
    expect(matching(trials, { ...NO_FILTER, setting, outcome: "held" })
      .every((it) => it.workers === 1 && it.verdict === "yes")).toBe(true);
    expect(matching(trials, { ...NO_FILTER, text: "no such thing" })).toEqual([]);
  });

  test("of an outcome stay found when the language changes", () => {
    const both = trials.map((it) => ({ ...it, outcome: inEach(it.outcome, `ja: ${it.outcome}`) }));
    const held = (language: Language) =>
      matching(inLanguage(both, language), { ...NO_FILTER, outcome: "held" }).map((it) => it.id);
    expect(held("en").length).toBeGreaterThan(0);
    expect(held("ja")).toEqual(held("en"));
  });

  test("are sorted either way, what is not known last", () => {
    const unknown = trials.map((it) => (it.id === 4 ? { ...it, memory_bytes: null } : it));
    for (const isDown of [true, false]) {
      expect(sorted(unknown, { key: "memory", isDown }).at(-1)?.id).toBe(4);
    }
    const p95 = sorted(trials, { key: "p95", isDown: true }).map((it) => it.latency_s.p95);
    expect(p95).toEqual([...p95].sort((a, b) => b - a));
    expect(sorted(trials, { key: "setting", isDown: false })[0]?.workers).toBe(1);
  });
});

describe("live messages", () => {
  const whole = session(5, 5);
  const live: Live = { page: pageOf({ session: whole }), running: null, seconds: [],
    isConnected: true, isAlive: true };
  const second = (at_s: number): Second => ({ at_s, phase: "measure", due: 9, sent: 9,
    replies: 9, errors: 0, in_flight: 1, p95_s: 0.1 });

  test("add a trial, or put it in the place of the one with its number", () => {
    const trial = { ...whole.trials[2]!, outcome: "undecided" };
    const same = apply(live, { kind: "trial", value: trial });
    expect(same.page.session?.trials.map((it) => it.id)).toEqual([1, 2, 3, 4, 5]);
    expect(same.page.session?.trials[2]?.outcome).toBe("undecided");
    const next = apply(live, { kind: "trial", value: { ...trial, id: 6 } });
    expect(next.page.session?.trials).toHaveLength(6);
  });

  test("tell when the program that measured is gone", () => {
    const row = { ...rows()[0]!, id: whole.session! };
    const gone = apply(live, { kind: "sessions", value: [{ ...row, is_alive: false }] });
    expect(gone.isAlive).toBe(false);
    expect(apply(gone, { kind: "sessions", value: [{ ...row, is_alive: true }] }).isAlive).toBe(true);
    expect(apply(live, { kind: "sessions", value: [] }).isAlive).toBe(true);
  });

  test("keep the trials when the session changes", () => {
    const { trials, ...value } = { ...whole, state: "done" as const };
    const next = apply(live, { kind: "session", value });
    expect(next.page.session?.trials).toBe(whole.trials);
    expect(trials).toHaveLength(5);
  });

  test("collect seconds, and start anew with the next trial", () => {
    let next = apply(live, { kind: "second", value: second(0) });
    next = apply(next, { kind: "second", value: second(1) });
    expect(next.seconds).toHaveLength(2);
    next = apply(next, { kind: "running", value: null });
    expect(next.seconds).toEqual([]);
  });

  test("never keep more seconds than a long trial has", () => {
    let next = live;
    for (let i = 0; i < 1000; i += 1) next = apply(next, { kind: "second", value: second(i) });
    expect(next.seconds).toHaveLength(900);
    expect(next.seconds.at(-1)?.at_s).toBe(999);
  });
});

test("a slider has the table's stops, and those between where the program can be asked", () => {
  expect(stops([1, 2, 4], null)).toEqual([1, 2, 4]);
  expect(stops([1, 2, 4], 1)).toEqual([1, 2, 3, 4]);
  expect(stops([0.5, 1], 0.25)).toEqual([0.5, 0.75, 1]);
});

test("data is decoded, and refused when it is of another version", async () => {
  const page = pageOf({ session: session(2, 3) });
  const text = gzipSync(JSON.stringify(page)).toString("base64");
  expect(await decode(`\n${text}\n`)).toEqual(page);
  expect(() => checked({ format: 1 })).toThrow("format 1");
  expect(() => checked(null)).toThrow();
  await expect(decode("AAAA")).rejects.toThrow();
});

test("Japanese says it in Japanese", () => {
  const same = Object.entries(en).filter(([name, text]) => ja[name as keyof typeof ja] === text);
  // Terms that Japanese developers write as they are.
  expect(same.map(([name]) => name)).toEqual(["steal", "backlog"]);
});

test("sentences have their values, and show the place of one that is missing", () => {
  expect(fill("{a} of {b}, {a}", { a: 1, b: "{a}" })).toBe("1 of {a}, 1");
  expect(fill("{a} of {b}", { a: 1 })).toBe("1 of {b}");
  expect([1, 2].map((count) => clientsText(count, en))).toEqual(["1 client", "2 clients"]);
});

describe("what comes in each language", () => {
  const failed = { en: "it failed", ja: "失敗しました" };
  const content = { notes: [failed, "theirs"], trials: [{ reason: failed, p95: [1, 2] }],
    text: { en: { facts: [["what", "is"]] }, ja: { facts: [["何", "です"]] } }, none: null };

  test("is shown in the reader's, and everything else as it is", () => {
    expect(inLanguage(content, "en")).toEqual({ notes: ["it failed", "theirs"],
      trials: [{ reason: "it failed", p95: [1, 2] }], text: { facts: [["what", "is"]] },
      none: null });
    expect(inLanguage(content, "ja")).toEqual({ notes: ["失敗しました", "theirs"],
      trials: [{ reason: "失敗しました", p95: [1, 2] }], text: { facts: [["何", "です"]] },
      none: null });
  });

  test("values with more or other names are no texts", () => {
    const others = { a: { en: 1 }, b: { en: 1, ja: 2, fr: 3 }, c: { constructor: 1, toString: 2 } };
    expect(inLanguage(others, "ja")).toEqual(others);
  });
});
