// The program's predictions, looked up in its table; this computes nothing.

import * as Plot from "@observablehq/plot";

import type { Predictions } from "../data";
import { bytes, rate, short } from "../figures";
import type { Table } from "../table";
import type { Words } from "../words";
import { capacityColumns, GRID, HALO, plot, rateScale, series, tagged } from "./common";
import type { Drawn, Look } from "./common";

/** Where the sliders stand: values, not places in the table. */
export interface Where {
  cores: number;
  wait: number;
  workers: number;
  threads: number;
}

export interface Predicted {
  workers: number;
  threads: number;
  capacity_rps: number | null;
  low_rps: number | null;
  high_rps: number | null;
  memory_bytes: number | null;
  /** As people name it. */
  limit: string | null;
}

/** What the table says of a setting; null where it says nothing. */
export function lookUp(table: Predictions, at: Where): Predicted | null {
  const [core, wait, worker, thread] = [
    table.cores.indexOf(at.cores),
    table.waits.indexOf(at.wait),
    table.workers.indexOf(at.workers),
    table.threads.indexOf(at.threads),
  ];
  if (core < 0 || wait < 0 || worker < 0 || thread < 0) return null;
  const i =
    ((core * table.waits.length + wait) * table.workers.length + worker) * table.threads.length +
    thread;
  const limit = table.limit[i] ?? null;
  return {
    workers: at.workers,
    threads: at.threads,
    capacity_rps: table.capacity_rps[i] ?? null,
    low_rps: table.low_rps[i] ?? null,
    high_rps: table.high_rps[i] ?? null,
    memory_bytes: table.memory_bytes[i] ?? null,
    limit: limit && (table.limit_names[limit] ?? limit),
  };
}

export type Along = "workers" | "threads";

/** One line through the table: along workers or along threads, the rest as the sliders say. */
export function curveRows(table: Predictions, at: Where, along: Along): Predicted[] {
  return table[along].flatMap((value) => lookUp(table, { ...at, [along]: value }) ?? []);
}

/** All settings at the sliders' cores and wait. */
export function predictTable(table: Predictions, at: Where, words: Words): Table {
  return {
    name: "prediction",
    columns: [
      { key: "workers", label: words.workers },
      { key: "threads", label: words.threads },
      ...capacityColumns(words, words.predicted),
      { key: "memory_bytes", label: words.memory, format: bytes },
      { key: "limit", label: words.limit },
    ],
    rows: table.workers.flatMap((workers) =>
      table.threads.flatMap((threads) => {
        const row = lookUp(table, { ...at, workers, threads });
        return row === null ? [] : [[
          workers, threads, row.capacity_rps, row.low_rps, row.high_rps, row.memory_bytes,
          row.limit,
        ]];
      }),
    ),
  };
}

/** The highest figure at these cores and this wait: moving workers or threads moves no axis. */
export function highest(table: Predictions, at: Where): number {
  let most = 0;
  for (const workers of table.workers) {
    for (const threads of table.threads) {
      const found = lookUp(table, { ...at, workers, threads });
      most = Math.max(most, found?.high_rps ?? found?.capacity_rps ?? 0);
    }
  }
  return most;
}

export function drawPredicted(
  table: Predictions,
  at: Where,
  along: Along,
  most: number,
  look: Look,
): Drawn {
  const rows = curveRows(table, at, along).filter((row) => row.capacity_rps !== null);
  const current = rows.filter((row) => row[along] === at[along]);
  const colour = series(along === "workers" ? 0 : 2);
  const tags = (row: Predicted) => ({ at: row[along], rps: row.capacity_rps });
  return plot({
    width: look.width,
    height: 260,
    x: { domain: [Math.min(...table[along]), Math.max(...table[along])], label: look.words[along],
      ticks: table[along].length > 10 ? 8 : table[along], tickFormat: short, insetLeft: 10,
      insetRight: 10 },
    y: { ...rateScale(look.words, 5), domain: [0, most] },
    marks: [
      Plot.gridY({ ...GRID, ticks: 5 }),
      Plot.areaY(rows, { x: along, y1: "low_rps", y2: "high_rps", fill: colour, fillOpacity: 0.16,
        ...tagged("band", rows, tags) }),
      Plot.line(rows, { x: along, y: "capacity_rps", stroke: colour, strokeWidth: 2,
        strokeDasharray: "5 3", ...tagged("curve", rows, tags) }),
      Plot.dot(rows, { x: along, y: "capacity_rps", r: 2.5, fill: colour,
        ...tagged("predicted", rows, tags) }),
      Plot.dot(current, { x: along, y: "capacity_rps", r: 7, fill: colour, stroke: "var(--card)",
        strokeWidth: 2, ...tagged("current", current, tags) }),
      Plot.text(current, { x: along, y: "capacity_rps", dy: -16, fill: "var(--ink)",
        fontWeight: 600, ...HALO, text: (row: Predicted) => `~ ${rate(row.capacity_rps ?? 0)}` }),
    ],
  });
}
