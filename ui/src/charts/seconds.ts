// A trial, second by second: what was due, sent and answered; latency bands; the listen queue.

import * as Plot from "@observablehq/plot";

import type { TrialDetail, TrialRow } from "../data";
import { count, latency, short, tick } from "../figures";
import type { Table } from "../table";
import { fill, type Words } from "../words";
import { GRID, limitLine, logDomain, logTicks, plot, rateScale, tagged, ticks, warmUp } from
  "./common";
import type { Drawn, Look } from "./common";

export const FLOWS = ["due", "sent", "answered", "errors"] as const;
export type Flow = (typeof FLOWS)[number];

export const FLOW_COLOURS: Record<Flow, string> = {
  due: "var(--muted)",
  sent: "var(--series-7)",
  answered: "var(--series-1)",
  errors: "var(--bad)",
};

export interface FlowPoint {
  second: number;
  flow: Flow;
  rps: number;
}

/** Errors only where there are any. */
export function flowRows(detail: TrialDetail): FlowPoint[] {
  const flows = FLOWS.filter((flow) => flow !== "errors" || detail.errors.some((n) => n > 0));
  return flows.flatMap((flow) =>
    detail[flow].map((rps, second) => ({ second: second + 0.5, flow, rps })),
  );
}

export interface BandRow {
  second: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** Seconds in which something was answered; the others have no latency. */
export function bandRows(detail: TrialDetail): BandRow[] {
  return detail.p50_s.flatMap((p50, i) => {
    const [p95, p99, max] = [detail.p95_s[i] ?? 0, detail.p99_s[i] ?? 0, detail.max_s[i] ?? 0];
    return p50 > 0 && max > 0 ? [{ second: i + 0.5, p50, p95, p99, max }] : [];
  });
}

export interface QueuePoint {
  at_s: number;
  queue: number;
}

export function queueRows(detail: TrialDetail): QueuePoint[] {
  return detail.monitor.at_s.flatMap((at_s, i) => {
    const queue = detail.monitor.queue[i];
    return queue === null || queue === undefined ? [] : [{ at_s, queue }];
  });
}

/** The seconds of the load, one row each. What the monitor saw has a clock of its own: a table of
 * its own. */
export function secondsTable(trial: TrialRow, detail: TrialDetail, words: Words): Table {
  const timed = (key: string, label: string) => ({ key, label, format: latency });
  return {
    name: `trial-${trial.id}-seconds`,
    columns: [
      { key: "second", label: words.second },
      { key: "is_warm_up", label: words.warm_up },
      { key: "due", label: words.due, format: count },
      { key: "sent", label: words.sent, format: count },
      { key: "answered", label: words.answered, format: count },
      { key: "errors", label: words.errors, format: count },
      timed("latency_s_p50", "p50"),
      timed("latency_s_p95", "p95"),
      timed("latency_s_p99", "p99"),
      timed("latency_s_max", "max"),
      { key: "in_flight", label: words.in_flight, format: count },
    ],
    rows: detail.due.map((due, i) => [
      i,
      i < trial.warm_up_s,
      due,
      ...[detail.sent, detail.answered, detail.errors].map((list) => list[i] ?? null),
      ...[detail.p50_s, detail.p95_s, detail.p99_s, detail.max_s].map((list) => list[i] ?? null),
      detail.in_flight[i] ?? null,
    ]),
  };
}

/** A plot over all seconds of a trial. */
export function secondsPlot(detail: TrialDetail, look: Look, options: Plot.PlotOptions): Drawn {
  const duration = Math.max(1, detail.due.length, (detail.monitor.at_s.at(-1) ?? 0) + 1);
  return plot({
    width: look.width,
    x: { domain: [0, duration], label: look.words.seconds, ticks: ticks(look.width),
      tickFormat: short },
    ...options,
  });
}

export function drawFlow(trial: TrialRow, detail: TrialDetail, look: Look): Drawn {
  const rows = flowRows(detail);
  const due = rows.filter((row) => row.flow === "due");
  const others = rows.filter((row) => row.flow !== "due");
  return secondsPlot(detail, look, {
    height: 210,
    y: rateScale(look.words, 4),
    marks: [
      Plot.gridY({ ...GRID, ticks: 4 }),
      Plot.areaY(due, { x: "second", y: "rps", fill: FLOW_COLOURS.due, fillOpacity: 0.13 }),
      Plot.line(due, { x: "second", y: "rps", stroke: FLOW_COLOURS.due, strokeWidth: 1,
        ...tagged("curve", due, (row) => ({ flow: row.flow })) }),
      Plot.line(others, { x: "second", y: "rps", z: "flow", strokeWidth: 1.75,
        stroke: (row: FlowPoint) => FLOW_COLOURS[row.flow],
        ...tagged("curve", others, (row) => ({ flow: row.flow })) }),
      ...warmUp(trial.warm_up_s, look.words),
      Plot.tip(rows, Plot.pointer({ x: "second", y: "rps", title: (row: FlowPoint) =>
        `${look.words[row.flow]}: ${count(row.rps)}\n` +
        `${look.words.second} ${Math.floor(row.second)}` })),
    ],
  });
}

export const BANDS = [
  { name: "p50–p95", low: "p50", high: "p95", opacity: 0.55 },
  { name: "p95–p99", low: "p95", high: "p99", opacity: 0.32 },
  { name: "p99–max", low: "p99", high: "max", opacity: 0.16 },
] as const;

export function drawBands(
  trial: TrialRow,
  detail: TrialDetail,
  limits: { y: number; text: string }[],
  look: Look,
): Drawn {
  const rows = bandRows(detail);
  const domain = logDomain([
    ...rows.flatMap((row) => [row.p50, row.max]), ...limits.map((it) => it.y),
  ]);
  return secondsPlot(detail, look, {
    height: 240,
    y: { type: "log", domain, label: look.words.latencies, ticks: logTicks(...domain),
      tickFormat: tick },
    marks: [
      Plot.gridY(logTicks(...domain), GRID),
      ...BANDS.map((band) =>
        Plot.areaY(rows, { x: "second", y1: band.low, y2: band.high, fill: "var(--series-1)",
          fillOpacity: band.opacity, ...tagged("band", rows, () => ({ band: band.name })) })),
      Plot.line(rows, { x: "second", y: "p50", stroke: "var(--ink)", strokeWidth: 1.5,
        ...tagged("curve", rows, () => ({ quantile: "p50" })) }),
      ...warmUp(trial.warm_up_s, look.words),
      ...limitLine(limits),
      Plot.tip(rows, Plot.pointerX({ x: "second", y: "p95", title: bandTip })),
    ],
  });
}

function bandTip(row: BandRow): string {
  const names = ["p50", "p95", "p99", "max"] as const;
  return names.map((name) => `${name} ${latency(row[name])}`).join("\n");
}

export function drawQueue(trial: TrialRow, detail: TrialDetail, look: Look): Drawn {
  const rows = queueRows(detail);
  const backlog = detail.monitor.backlog;
  const most = Math.max(1, ...rows.map((row) => row.queue));
  // Far above what was seen, the backlog stands in the chart's note instead.
  const isNear = backlog !== null && backlog < most * 4;
  const limits = isNear ? [{ y: backlog, text: fill(look.words.backlog, { size: backlog }) }] : [];
  return secondsPlot(detail, look, {
    height: 170,
    y: { domain: [0, (isNear ? Math.max(backlog, most) : most) * 1.15], ticks: 4,
      label: look.words.connections },
    marks: [
      Plot.gridY({ ...GRID, ticks: 4 }),
      Plot.areaY(rows, { x: "at_s", y: "queue", fill: "var(--series-2)", fillOpacity: 0.35,
        curve: "step-after", ...tagged("queue", rows, (row) => ({ queue: row.queue })) }),
      Plot.line(rows, { x: "at_s", y: "queue", stroke: "var(--series-2)", curve: "step-after" }),
      ...warmUp(trial.warm_up_s, look.words),
      ...limitLine(limits),
      Plot.tip(rows, Plot.pointerX({ x: "at_s", y: "queue", title: (row: QueuePoint) =>
        `${look.words.connections}: ${row.queue}\n` +
        `${look.words.second} ${short(row.at_s)}` })),
    ],
  });
}
