// Latency quantiles of one setting against the load it was offered, with the SLO's limits.

import * as Plot from "@observablehq/plot";

import type { SessionPage, TrialRow, Verdict } from "../data";
import { latency, quantile, rate, tick } from "../figures";
import { isSame, type Setting } from "../setting";
import type { Table } from "../table";
import type { Words } from "../words";
import { GRID, limitLine, logDomain, logTicks, plot, tagged, ticks } from "./common";
import type { Drawn, Look } from "./common";

export const QUANTILES = ["p50", "p90", "p95", "p99"] as const;
export type Quantile = (typeof QUANTILES)[number];

export interface LatencyPoint {
  trial: number;
  offered_rps: number;
  quantile: Quantile;
  latency_s: number;
  verdict: Verdict;
}

/** Valid open trials of the app as it is, with all of it there and over the plan's connections,
 * that had at least one reply. */
export function trialsOf(session: SessionPage, at: Setting): TrialRow[] {
  return session.trials
    .filter((trial) => isSame(trial, at))
    .filter((trial) => trial.changes.length === 0 && trial.valid && trial.completed > 0)
    .filter((trial) => trial.purpose !== "lost_pod" && trial.purpose !== "check")
    .filter((trial) => trial.offered_rps !== null)
    .sort((a, b) => (a.offered_rps ?? 0) - (b.offered_rps ?? 0));
}

export function latencyRows(session: SessionPage, at: Setting): LatencyPoint[] {
  return trialsOf(session, at).flatMap((trial) =>
    QUANTILES.map((name) => ({
      trial: trial.id,
      offered_rps: trial.offered_rps ?? 0,
      quantile: name,
      latency_s: trial.latency_s[name],
      verdict: trial.verdict,
    })),
  );
}

/** Settings that have at least one point, chosen first. */
export function latencySettings(session: SessionPage): Setting[] {
  const found = new Map<string, Setting>();
  const first = session.decision ?? session.current;
  const all = first === null ? session.trials : [first, ...session.trials];
  for (const { workers, threads } of all) {
    const at = { workers, threads };
    const name = `${workers} x ${threads}`;
    if (!found.has(name) && trialsOf(session, at).length > 0) found.set(name, at);
  }
  return [...found.values()];
}

export function latencyTable(session: SessionPage, at: Setting, words: Words): Table {
  return {
    name: `latency-${at.workers}x${at.threads}`,
    columns: [
      { key: "trial", label: words.trial },
      { key: "offered_rps", label: words.load, format: rate },
      { key: "verdict", label: words.outcome },
      ...QUANTILES.map((name) => ({ key: `latency_s_${name}`, label: name, format: latency })),
    ],
    rows: trialsOf(session, at).map((trial) => [
      trial.id,
      trial.offered_rps,
      trial.outcome,
      ...QUANTILES.map((name) => trial.latency_s[name]),
    ]),
  };
}

/** The SLO's limits as lines. */
export function sloLines(session: { limits: [number, number][] }) {
  return session.limits.map(([share, limit]) => ({
    y: limit,
    text: `p${quantile(share).replace(" %", "")} < ${latency(limit)}`,
  }));
}

export const QUANTILE_COLOURS: Record<Quantile, string> = {
  p50: "var(--series-7)",
  p90: "var(--series-1)",
  p95: "var(--series-5)",
  p99: "var(--series-4)",
};

export function drawLatency(session: SessionPage, at: Setting, look: Look): Drawn {
  const rows = latencyRows(session, at).filter((row) => row.latency_s > 0);
  const limits = sloLines(session);
  const domain = logDomain([...rows.map((row) => row.latency_s), ...limits.map((l) => l.y)]);
  const held = rows.filter((row) => row.verdict !== "no");
  const missed = rows.filter((row) => row.verdict === "no");
  const colour = (row: LatencyPoint) => QUANTILE_COLOURS[row.quantile];
  const at2 = { x: "offered_rps", y: "latency_s" } as const;
  return plot({
    width: look.width,
    height: Math.max(280, Math.min(380, look.width * 0.5)),
    x: { label: look.words.offered_load, nice: true, ticks: ticks(look.width), insetLeft: 8,
      insetRight: 8 },
    y: { type: "log", domain, label: look.words.latencies, ticks: logTicks(...domain),
      tickFormat: tick },
    marks: [
      Plot.gridY(logTicks(...domain), GRID),
      ...limitLine(limits),
      Plot.line(rows, { ...at2, z: "quantile", stroke: colour, strokeWidth: 1.75,
        ...tagged("curve", rows, (row) => ({ quantile: row.quantile })) }),
      Plot.dot(held, { ...at2, r: 4, fill: colour, stroke: "var(--card)",
        ...tagged("point", held, tagsOf) }),
      Plot.dot(missed, { ...at2, r: 4, symbol: "times", stroke: colour, strokeWidth: 2,
        ...tagged("point", missed, tagsOf) }),
      Plot.tip(rows, Plot.pointer({ ...at2, title: (row: LatencyPoint) =>
        `${row.quantile} ${latency(row.latency_s)}\n${look.words.load} ` +
        `${rate(row.offered_rps)}\n${look.words.trial} ${row.trial}` })),
    ],
  });
}

function tagsOf(row: LatencyPoint) {
  return { trial: row.trial, quantile: row.quantile, latency: row.latency_s };
}
