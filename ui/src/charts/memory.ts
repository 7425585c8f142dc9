// Memory against settings, with what the machine has. Where the program knows what memory is made
// of, bars show the parts.

import * as Plot from "@observablehq/plot";

import type { MapCell, SessionPage } from "../data";
import { bytes } from "../figures";
import { nameOf } from "../setting";
import type { Table } from "../table";
import { fill, type Words } from "../words";
import { GRID, HALO, plot, tagged, type Drawn, type Look } from "./common";

export const PARTS = ["shared", "workers", "threads"] as const;
export type Part = (typeof PARTS)[number];

export interface MemoryRow {
  cell: MapCell;
  name: string;
  memory_bytes: number;
  isMeasured: boolean;
  /** What it is made of, where that is known. */
  parts: Record<Part, number> | null;
}

export function memoryRows(session: SessionPage): MemoryRow[] {
  return session.map
    .filter((cell) => cell.memory_bytes !== null)
    .map((cell) => ({
      cell,
      name: nameOf(cell, session),
      memory_bytes: cell.memory_bytes ?? 0,
      isMeasured: cell.is_memory_measured,
      parts: partsOf(session.memory, cell),
    }));
}

function partsOf(memory: SessionPage["memory"], cell: MapCell): MemoryRow["parts"] {
  if (memory === null) return null;
  return {
    shared: memory.shared_bytes,
    workers: cell.workers * memory.worker_bytes,
    threads: cell.workers * cell.threads * memory.thread_bytes,
  };
}

export function memoryTable(session: SessionPage, words: Words): Table {
  const parts = session.memory === null ? [] : PARTS;
  return {
    name: "memory",
    columns: [
      { key: "setting", label: words.setting },
      { key: "memory_bytes", label: words.memory, format: bytes },
      { key: "is_measured", label: words.measured },
      ...parts.map((part) => ({
        key: `${part}_bytes`, label: words[part], format: bytes,
      })),
    ],
    rows: memoryRows(session).map((row) => [
      row.name,
      row.memory_bytes,
      row.isMeasured,
      ...parts.map((part) => row.parts?.[part] ?? null),
    ]),
  };
}

export const PART_COLOURS: Record<Part, string> = {
  shared: "var(--series-5)",
  workers: "var(--series-1)",
  threads: "var(--series-7)",
};

interface Stacked {
  row: MemoryRow;
  part: Part | null;
  from: number;
  to: number;
}

function stacked(rows: MemoryRow[]): Stacked[] {
  return rows.flatMap((row): Stacked[] => {
    if (row.parts === null) return [{ row, part: null, from: 0, to: row.memory_bytes }];
    let from = 0;
    return PARTS.map((part) => {
      const to = from + (row.parts?.[part] ?? 0);
      const piece = { row, part, from, to };
      from = to;
      return piece;
    });
  });
}

export function drawMemory(session: SessionPage, look: Look): Drawn {
  const rows = memoryRows(session);
  const pieces = stacked(rows);
  const limit = session.machine?.memory_bytes ?? null;
  const most = Math.max(...pieces.map((it) => it.to), ...rows.map((row) => row.memory_bytes));
  // A limit that is far away would leave the bars too short to be read; it stands in the note then.
  const isNear = limit !== null && limit < most * 3;
  const unit = most >= 1024 ** 3 ? 1024 ** 3 : 1024 ** 2;
  return plot({
    width: look.width,
    height: 60 + rows.length * 20,
    marginTop: 18,
    marginLeft: 72,
    marginRight: 70,
    x: { domain: [0, (isNear ? Math.max(limit, most) : most) / unit * 1.02], label:
      unit === 1024 ** 3 ? "GiB" : "MiB", ticks: 5 },
    y: { domain: rows.map((row) => row.name), label: null, tickSize: 0, padding: 0.25 },
    marks: [
      Plot.gridX({ ...GRID, ticks: 5 }),
      Plot.barX(pieces, {
        x1: (it: Stacked) => it.from / unit,
        x2: (it: Stacked) => it.to / unit,
        y: (it: Stacked) => it.row.name,
        fill: (it: Stacked) => (it.part === null ? "var(--series-1)" : PART_COLOURS[it.part]),
        fillOpacity: (it: Stacked) => (it.row.isMeasured ? 0.95 : 0.42),
        ...tagged("part", pieces, (it) => ({ setting: it.row.name, part: it.part, to: it.to })),
      }),
      ...totals(rows, unit),
      ...limitMarks(isNear ? limit : null, unit, look.words),
    ],
  });
}

function totals(rows: MemoryRow[], unit: number): Plot.Markish[] {
  const measured = rows.filter((row) => row.isMeasured);
  return [
    Plot.tickX(measured, { x: (row: MemoryRow) => row.memory_bytes / unit, y: "name",
      stroke: "var(--ink)", strokeWidth: 2, insetTop: -2, insetBottom: -2,
      ...tagged("measured", measured, tagsOf) }),
    Plot.text(rows, { x: (row: MemoryRow) => row.memory_bytes / unit, y: "name", dx: 7,
      textAnchor: "start", fill: "var(--ink)", ...HALO,
      text: (row: MemoryRow) => bytes(row.memory_bytes) }),
  ];
}

function tagsOf(row: MemoryRow) {
  return { setting: row.name, memory: row.memory_bytes };
}

function limitMarks(limit: number | null, unit: number, words: Words): Plot.Markish[] {
  if (limit === null) return [];
  return [
    Plot.ruleX([limit / unit], { stroke: "var(--bad)", strokeWidth: 1.5, strokeDasharray: "6 3",
      ...tagged("limit", [limit], (value) => ({ value })) }),
    Plot.text([limit / unit], { x: (x: number) => x, frameAnchor: "top", dy: -8,
      text: () => fill(words.memory_limit, { size: bytes(limit) }), fill: "var(--bad)" }),
  ];
}
