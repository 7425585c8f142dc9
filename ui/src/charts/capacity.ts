// Capacity against workers, a line for each thread count: what was measured with its intervals,
// and the model's curve with its band.

import * as Plot from "@observablehq/plot";

import type { SessionPage } from "../data";
import { distinct, interval, number, rate, short, type Interval } from "../figures";
import { nameOf } from "../setting";
import type { Table } from "../table";
import type { Words } from "../words";
import { capacityColumns, GRID, HALO, plot, rateScale, series, symbol, tagged } from "./common";
import type { Drawn, Look } from "./common";

export interface CapacityPoint {
  workers: number;
  threads: number;
  kind: "measured" | "at_least" | "below" | "predicted";
  rps: number;
  low: number | null;
  high: number | null;
}

/** Measured points and predicted ones; a measured setting usually has both. */
export function capacityRows(session: SessionPage): CapacityPoint[] {
  return session.map.flatMap(({ workers, threads, state, rps, ...cell }) => {
    const points: CapacityPoint[] = [];
    const add = (kind: CapacityPoint["kind"], rps: number, bounds: Interval | null) => {
      const [low, high] = bounds ?? [null, null];
      points.push({ workers, threads, kind, rps, low, high });
    };
    if (rps !== null && (state === "measured" || state === "at_least" || state === "below")) {
      add(state, rps, cell.rps_interval);
    }
    if (cell.predicted_rps !== null && state !== "ruled_out") {
      add("predicted", cell.predicted_rps, cell.predicted_rps_interval);
    }
    return points;
  });
}

export function capacityTable(session: SessionPage, words: Words): Table {
  return {
    name: "capacity",
    columns: [
      { key: "workers", label: words.workers },
      ...(session.has_threads ? [{ key: "threads", label: words.threads }] : []),
      { key: "kind", label: words.state },
      ...capacityColumns(words),
    ],
    rows: capacityRows(session).map((row) => [
      row.workers,
      ...(session.has_threads ? [row.threads] : []),
      words[row.kind],
      row.rps,
      row.low,
      row.high,
    ]),
  };
}

/** The thread counts, in the order in which they get colours. */
export function threadCounts(session: SessionPage): number[] {
  return distinct(session.map.map((cell) => cell.threads));
}

export function drawCapacity(session: SessionPage, look: Look): Drawn {
  const rows = capacityRows(session);
  const counts = threadCounts(session);
  const colour = (row: CapacityPoint) => series(counts.indexOf(row.threads));
  const measured = rows.filter((row) => row.kind !== "predicted");
  const predicted = rows
    .filter((row) => row.kind === "predicted")
    .sort((a, b) => a.workers - b.workers);
  const workers = distinct(rows.map((row) => row.workers));
  return plot({
    width: look.width,
    height: Math.max(280, Math.min(400, look.width * 0.5)),
    marginRight: session.has_threads ? 50 : 18,
    x: { label: look.words.workers, ticks: workers, tickFormat: short, insetLeft: 24,
      insetRight: 12 },
    y: rateScale(look.words, 6),
    marks: [
      Plot.gridY({ ...GRID, ticks: 6 }),
      ...curves(predicted, colour),
      ...points(measured, colour, counts),
      ...(session.has_threads ? names(rows, colour) : []),
      Plot.tip(rows, Plot.pointer({ x: "workers", y: "rps", title: (row: CapacityPoint) =>
        tipOf(row, session, look.words) })),
    ],
  });
}

function curves(rows: CapacityPoint[], colour: (row: CapacityPoint) => string): Plot.Markish[] {
  const banded = rows.filter((row) => row.low !== null && row.high !== null);
  return [
    Plot.areaY(banded, { x: "workers", y1: "low", y2: "high", z: "threads", fill: colour,
      fillOpacity: 0.09, ...tagged("band", banded, tagsOf) }),
    Plot.line(rows, { x: "workers", y: "rps", z: "threads", stroke: colour, strokeWidth: 1.5,
      strokeDasharray: "5 3", ...tagged("curve", rows, tagsOf) }),
    // One predicted number of workers is no line: a small dot shows it.
    Plot.dot(rows, { x: "workers", y: "rps", r: 1.5, fill: colour,
      ...tagged("predicted", rows, tagsOf) }),
  ];
}

/** A set of marks for each thread count, a little beside each other: equal ones stay apart. */
function points(
  rows: CapacityPoint[],
  colour: (row: CapacityPoint) => string,
  counts: number[],
): Plot.Markish[] {
  const seen = counts.filter((count) => rows.some((row) => row.threads === count));
  return seen.flatMap((count, i) => {
    const own = rows.filter((row) => row.threads === count);
    const known = own.filter((row) => row.low !== null && row.high !== null);
    const bounds = own.filter((row) => row.kind !== "measured");
    const dx = (i - (seen.length - 1) / 2) * 7;
    return [
      Plot.ruleX(known, { x: "workers", y1: "low", y2: "high", dx, stroke: colour, strokeWidth: 6,
        strokeOpacity: 0.38, ...tagged("interval", known, tagsOf) }),
      Plot.dot(own, { x: "workers", y: "rps", dx, r: 4.5, fill: colour,
        symbol: symbol(counts.indexOf(count)), ...tagged("point", own, tagsOf) }),
      Plot.text(bounds, { x: "workers", y: "rps", dx: dx - 11, fill: "var(--ink)", ...HALO,
        text: (row: CapacityPoint) => (row.kind === "at_least" ? "≥" : "<") }),
    ];
  });
}

interface Placed {
  row: CapacityPoint;
  y: number;
}

/** The thread count at the right end of each line; those that would cover each other move down. */
function names(rows: CapacityPoint[], colour: (row: CapacityPoint) => string): Plot.Markish[] {
  const most = Math.max(...rows.map((row) => row.high ?? row.rps));
  const ends = new Map<number, CapacityPoint>();
  for (const row of rows) {
    if ((ends.get(row.threads)?.workers ?? 0) < row.workers) ends.set(row.threads, row);
  }
  const placed: Placed[] = [];
  for (const row of [...ends.values()].sort((a, b) => b.rps - a.rps)) {
    const above = placed.filter((it) => it.row.workers === row.workers).at(-1);
    placed.push({ row, y: Math.min(row.rps, (above?.y ?? Infinity) - most * 0.062) });
  }
  return [
    Plot.text(placed, { x: (it: Placed) => it.row.workers, y: "y", dx: 22, textAnchor: "start",
      fill: (it: Placed) => colour(it.row), fontWeight: 600, ...HALO,
      text: (it: Placed) => `x ${it.row.threads}`,
      ...tagged("name", placed, (it) => ({ threads: it.row.threads })) }),
  ];
}

function tagsOf(row: CapacityPoint) {
  return { workers: row.workers, threads: row.threads, rps: row.rps };
}

function tipOf(row: CapacityPoint, session: SessionPage, words: Words): string {
  const bounds = row.low === null || row.high === null
    ? "" : ` (${interval([row.low, row.high], number, words.between)})`;
  return `${nameOf(row, session)}: ${rate(row.rps)}${bounds}\n${words[row.kind]}`;
}
