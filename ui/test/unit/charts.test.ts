// What each chart shows, from the session that it is given: rows and tables, without drawing.

import { describe, expect, test } from "vitest";

import { capacityRows, capacityTable, threadCounts } from "../../src/charts/capacity";
import { compareTable, figureFormat, ratioRows, ratioTicks } from "../../src/charts/compare";
import { cpuRows, cpuTable, processesOf } from "../../src/charts/cpu";
import { labFigures, labRows, labTable, runName } from "../../src/charts/lab";
import { latencyRows, latencySettings, latencyTable, sloLines, trialsOf } from
  "../../src/charts/latency";
import { logDomain, logTicks, rateScale } from "../../src/charts/common";
import { mapLabel, mapRows, mapTable, STEPS } from "../../src/charts/map";
import { memoryRows, memoryTable } from "../../src/charts/memory";
import { curveRows, highest, lookUp, predictTable } from "../../src/charts/predict";
import { bandRows, flowRows, queueRows, secondsTable } from "../../src/charts/seconds";
import { lastOf, spectrumRows, spectrumTable, spectrumTrials } from "../../src/charts/spectrum";
import { sureRows } from "../../src/charts/sure";
import { nothingValid, session, unfinished, withoutThreads } from "../fixture";
import { compare, lab } from "../others";
import { en } from "../words";

const page = session();
const trial = page.trials[19]!;
const detail = trial.detail!;

test("ticks of small rates are told apart, and those of large ones have no decimals", () => {
  const text = rateScale(en, 5).tickFormat as (value: number) => string;
  expect([0, 0.5, 1, 1.5, 2, 1500].map(text)).toEqual(["0", "0.5", "1", "1.5", "2", "1\u202f500"]);
});

describe("the map", () => {
  const rows = mapRows(page);

  test("has a row for each cell, of the kind that its state says", () => {
    expect(rows).toHaveLength(24);
    const kinds = (kind: string) => rows.filter((row) => row.kind === kind).length;
    expect([kinds("measured"), kinds("predicted"), kinds("crossed")]).toEqual([9, 14, 1]);
  });

  test("gives the highest the last colour and leaves what is not known without", () => {
    const best = rows.reduce((a, b) => ((a.cell.rps ?? 0) > (b.cell.rps ?? 0) ? a : b));
    expect(best.step).toBe(STEPS);
    expect(rows.find((row) => row.kind === "crossed")?.step).toBe(0);
    expect(rows.every((row) => row.step >= 0 && row.step <= STEPS)).toBe(true);
  });

  test("gives a rate that was not held no colour", () => {
    const map = page.map.map((cell) =>
      cell.mark === "chosen" ? cell : { ...cell, state: "below" as const, rps: 9999 });
    const failed = mapRows({ ...page, map });
    expect(failed.find((row) => row.cell.mark === "chosen")?.step).toBe(STEPS);
    expect(failed.filter((row) => row.step > 0)).toHaveLength(1);
  });

  test("finds today's setting by the session, whatever else it is marked as", () => {
    const same = { ...page, current: { ...page.current!, workers: 3, threads: 8 } };
    const chosen = mapRows(same).find((row) => row.cell.mark === "chosen");
    expect(chosen?.isToday).toBe(true);
  });

  test("says in a sign how a figure was come by", () => {
    const cell = rows.find((row) => row.cell.state === "measured")!.cell;
    const labels = (["measured", "at_least", "below", "predicted"] as const)
      .map((state) => mapLabel({ ...cell, state, rps: 412 }));
    expect(labels).toEqual(["412", "≥ 412", "< 412", "~ 412"]);
    expect(mapLabel({ ...cell, rps: null })).toBe("");
  });

  test("has all of it in its table", () => {
    const table = mapTable(page, en);
    expect(table.rows).toHaveLength(24);
    expect(table.rows.at(-1)?.at(-1)).toContain("64 database connections");
    for (const row of table.rows) expect(row).toHaveLength(table.columns.length);
  });
});

describe("capacity", () => {
  test("has measured points beside predicted ones, and none that can't be run", () => {
    const rows = capacityRows(page);
    expect(rows.filter((row) => row.kind === "predicted")).toHaveLength(23);
    expect(rows.filter((row) => row.kind !== "predicted")).toHaveLength(9);
    expect(rows.some((row) => row.workers === 4 && row.threads === 16)).toBe(false);
    expect(rows.find((row) => row.kind === "at_least")?.low).toBeNull();
  });

  test("says nothing of threads where there are none", () => {
    const flat = withoutThreads();
    expect(threadCounts(flat)).toEqual([5]);
    expect(capacityTable(flat, en).columns.map((it) => it.key)).not.toContain("threads");
    expect(capacityTable(page, en).columns.map((it) => it.key)).toContain("threads");
  });

  test("has nothing where nothing was measured", () => {
    expect(capacityRows(nothingValid())).toEqual([]);
  });
});

describe("latency against load", () => {
  const at = { workers: 3, threads: 8 };

  test("has four quantiles of each valid open trial, by rising load", () => {
    const rows = latencyRows(page, at);
    expect(rows).toHaveLength(4 * trialsOf(page, at).length);
    const loads = trialsOf(page, at).map((it) => it.offered_rps ?? 0);
    expect([...loads].sort((a, b) => a - b)).toEqual(loads);
    expect(rows.find((it) => it.trial === 20 && it.quantile === "p99")?.latency_s)
      .toBe(trial.latency_s.p99);
  });

  test("leaves out what was not measured as the rest, and trials without a reply", () => {
    const own = trialsOf(page, at)[0]!;
    for (const change of [{ offered_rps: null }, { valid: false }, { changes: ["x=1"] },
      { completed: 0 }, { purpose: "check" as const }, { purpose: "lost_pod" as const }]) {
      const trials = page.trials.map((it) => (it === own ? { ...it, ...change } : it));
      expect(trialsOf({ ...page, trials }, at)).toHaveLength(trialsOf(page, at).length - 1);
    }
  });

  test("offers the chosen setting first", () => {
    expect(latencySettings(page)[0]).toEqual(at);
    expect(latencySettings(unfinished())[0]).toEqual({ workers: 1, threads: 5 });
    expect(latencySettings(nothingValid())).toEqual([]);
  });

  test("names the SLO's limits", () => {
    expect(sloLines(page)).toEqual([{ y: 0.2, text: "p95 < 200 ms" }]);
    expect(sloLines({ limits: [[0.999, 1.5]] })[0]?.text).toBe("p99.9 < 1.50 s");
    expect(latencyTable(page, at, en).rows).toHaveLength(trialsOf(page, at).length);
  });
});

describe("the spectrum", () => {
  test("shows the last confirmation of today and of the choice", () => {
    const { today, chosen } = spectrumTrials(page);
    expect(chosen?.purpose).toBe("confirm");
    expect(chosen).toBe(lastOf(page, { workers: 3, threads: 8 }));
    expect([today?.workers, today?.threads]).toEqual([1, 5]);
    expect(spectrumTable(page, en).rows).toHaveLength(spectrumRows(page).length);
  });

  test("gives each nine the same room, and the slowest a place that is not infinite", () => {
    const rows = spectrumRows(page).filter((row) => row.side === "chosen");
    const at = (share: number) => rows.find((row) => row.quantile === share)?.x;
    expect(at(0.9)).toBeCloseTo(10);
    expect(at(0.99)).toBeCloseTo(100);
    expect(at(1)).toBe(Math.max(10000.0000000011, spectrumTrials(page).chosen!.completed));
  });

  test("shows one side where the choice is what runs today", () => {
    const same = { ...page, current: { ...page.current!, workers: 3, threads: 8 } };
    expect(Object.keys(spectrumTrials(same))).toEqual(["chosen"]);
  });
});

describe("memory", () => {
  test("has a bar for each setting of which it is known, made of its parts", () => {
    const rows = memoryRows(page);
    expect(rows).toHaveLength(24);
    const row = rows.find((it) => it.name === "3 x 8")!;
    expect(row.parts).toEqual({ shared: 61e6, workers: 144e6, threads: 3 * 8 * 1.9e6 });
    expect(memoryTable(page, en).columns.map((it) => it.key)).toContain("shared_bytes");
  });

  test("has no parts where the program doesn't know them", () => {
    const rows = memoryRows({ ...page, memory: null });
    expect(rows.every((it) => it.parts === null)).toBe(true);
    expect(memoryTable({ ...page, memory: null }, en).columns).toHaveLength(3);
  });
});

describe("a trial's seconds", () => {
  test("have each flow once a second, and errors only where there were some", () => {
    expect(flowRows(detail)).toHaveLength(4 * 30);
    expect(flowRows({ ...detail, errors: detail.errors.map(() => 0) })).toHaveLength(3 * 30);
  });

  test("leave out seconds without an answer from the latency bands", () => {
    const gap = { ...detail, p50_s: detail.p50_s.map((it, i) => (i === 7 ? 0 : it)) };
    expect(bandRows(gap)).toHaveLength(29);
    expect(bandRows(detail)[3]?.max).toBe(detail.max_s[3]);
  });

  test("leave out what could not be seen of the queue", () => {
    const { monitor } = detail;
    const blind = { ...detail, monitor: { ...monitor, queue: monitor.queue.map(() => null) } };
    expect(queueRows(blind)).toEqual([]);
    expect(queueRows(detail)).toHaveLength(30);
  });

  test("mark the warm-up in their table", () => {
    const rows = secondsTable(page.trials[16]!, page.trials[16]!.detail!, en).rows;
    expect(rows.map((row) => row[1])).toEqual(rows.map((_, i) => i < 4));
  });

  test("have the processes' CPU, workers first", () => {
    expect(processesOf(detail).map((it) => it.role)).toEqual(
      ["worker", "worker", "worker", "master"]);
    expect(cpuRows(detail)).toHaveLength(4 * 30);
    const table = cpuTable(trial, detail, en);
    expect(table.rows).toHaveLength(30);
    expect(table.columns).toHaveLength(1 + 4 + 4);
    expect(table.rows[5]?.[1]).toBe(processesOf(detail)[0]?.cores[5]);
  });
});

describe("predictions", () => {
  const table = page.predict!;
  const at = { cores: 4, wait: 2, workers: 6, threads: 5 };

  test("are looked up where the sliders stand", () => {
    const i = ((2 * 4 + 2) * 8 + 4) * 6 + 3;
    expect(lookUp(table, at)?.capacity_rps).toBe(table.capacity_rps[i]);
    expect(lookUp(table, at)?.limit).toBe(table.limit[i]);
    expect(lookUp(table, { ...at, cores: 3 })).toBeNull();
  });

  test("make a line along workers and one along threads", () => {
    expect(curveRows(table, at, "workers").map((it) => it.workers)).toEqual(table.workers);
    expect(curveRows(table, at, "threads").map((it) => it.threads)).toEqual(table.threads);
    expect(predictTable(table, at, en).rows).toHaveLength(8 * 6);
    expect(highest(table, at)).toBeGreaterThanOrEqual(lookUp(table, at)!.high_rps!);
  });
});

describe("a comparison", () => {
  test("draws the figures whose ratio is known, and lists all", () => {
    expect(ratioRows(compare())).toHaveLength(6);
    expect(compareTable(compare(), en).rows).toHaveLength(7);
  });

  test("prints each figure in its unit", () => {
    expect(figureFormat("capacity")(412)).toBe("412/s");
    expect(figureFormat("memory")(1024 ** 3)).toBe("1.0 GiB");
    expect(figureFormat("latency_p95")(0.12)).toBe("120 ms");
    expect(figureFormat("errors")(0.003)).toBe("0.3 %");
    expect(figureFormat("something_new")(5)).toBe("5.00");
  });

  test("has ticks at round changes on both sides of none", () => {
    expect(ratioTicks(1.25, 4)).toContain(1);
    expect(ratioTicks(1.25, 4).every((it) => it > 1 / 1.25 && it < 1.25)).toBe(true);
  });
});

describe("a published experiment", () => {
  test("sets measured beside published, also where one is missing", () => {
    const rows = labRows(lab(), "throughput", en);
    expect(rows).toHaveLength(6);
    expect(rows[5]?.measured).toBeNull();
    expect(labRows(lab(), "memory", en).every((row) => row.published === null)).toBe(true);
    expect(labTable(lab(), "p95", en).rows).toHaveLength(6);
  });

  test("offers only figures that a run has", () => {
    expect(labFigures(lab(), en)).not.toContain("p90");
    expect(labFigures(lab(), en)).toContain("relative");
    expect(runName(lab().runs[4]!, en)).toBe("GET /products series 2 · 3 x 1 · 64 clients");
  });
});

test("how sure: today beside the choice, once where they are the same", () => {
  expect(sureRows(page).map((row) => row.side)).toEqual(["today", "chosen"]);
  const same = { ...page, current: { ...page.current!, workers: 3, threads: 8 } };
  expect(sureRows(same)).toHaveLength(1);
  expect(sureRows(nothingValid())).toEqual([]);
});

test("logarithmic axes have round ticks, and a domain also of nothing", () => {
  expect(logTicks(0.009, 0.3)).toEqual([0.01, 0.02, 0.05, 0.1, 0.2]);
  expect(logTicks(0.0001, 10)).toEqual([0.0001, 0.001, 0.01, 0.1, 1, 10]);
  expect(logDomain([0, NaN])).toEqual([0.001, 1]);
  const [low, high] = logDomain([0.01, 0, 2]);
  expect(low).toBeLessThan(0.01);
  expect(high).toBeGreaterThan(2);
});
