// How sure the decision is: today's capacity, the chosen setting's and its equals', each with its
// interval, on one axis.

import * as Plot from "@observablehq/plot";

import type { SessionPage } from "../data";
import { interval, number, rate, type Interval } from "../figures";
import { isSame, nameOf, type Setting } from "../setting";
import type { Table } from "../table";
import type { Words } from "../words";
import { capacityColumns, GRID, HALO, plot, tagged, ticks, type Drawn, type Look } from
  "./common";

export interface SureRow {
  name: string;
  side: "today" | "chosen";
  rps: number;
  low: number;
  high: number;
}

export function sureRows(session: SessionPage): SureRow[] {
  const { current, decision } = session;
  const row = (side: SureRow["side"], at: Setting, rps: number, [low, high]: Interval): SureRow =>
    ({ name: nameOf(at, session), side, rps, low, high });
  const rows: SureRow[] = [];
  if (current?.capacity_rps != null && current.capacity_rps_interval) {
    rows.push(row("today", current, current.capacity_rps, current.capacity_rps_interval));
  }
  if (decision && !(isSame(decision, current) && rows.length > 0)) {
    rows.push(row("chosen", decision, decision.capacity_rps, decision.capacity_rps_interval));
  }
  return rows;
}

export function sureTable(session: SessionPage, words: Words): Table {
  return {
    name: "decision",
    columns: [
      { key: "setting", label: words.setting },
      { key: "side", label: words.state },
      ...capacityColumns(words),
    ],
    rows: sureRows(session).map((row) => [row.name, words[row.side], row.rps, row.low, row.high]),
  };
}

export function drawSure(session: SessionPage, look: Look): Drawn {
  const rows = sureRows(session);
  const most = Math.max(...rows.map((row) => row.high));
  const colour = (row: SureRow) => (row.side === "today" ? "var(--series-2)" : "var(--accent)");
  const y = (row: SureRow) => row.side;
  return plot({
    width: look.width,
    height: 56 + rows.length * 44,
    marginTop: 10,
    marginLeft: 8,
    x: { domain: [0, most * 1.12], label: look.words.rps, ticks: Math.min(6, ticks(look.width)) },
    y: { domain: rows.map((row) => row.side), axis: null, padding: 0.1 },
    marks: [
      Plot.gridX({ ...GRID, ticks: Math.min(6, ticks(look.width)) }),
      Plot.ruleX([0], { stroke: "var(--muted)" }),
      Plot.barX(rows, { x1: 0, x2: "rps", y, fill: colour, fillOpacity: 0.16, insetTop: 20,
        ...tagged("bar", rows, (row) => ({ side: row.side, rps: row.rps })) }),
      Plot.link(rows, { x1: "low", x2: "high", y1: y, y2: y, stroke: colour, strokeWidth: 4,
        strokeLinecap: "round", dy: 10,
        ...tagged("interval", rows, (row) => ({ side: row.side, low: row.low, high: row.high })) }),
      Plot.dot(rows, { x: "rps", y, r: 6, fill: colour, stroke: "var(--card)", strokeWidth: 2,
        dy: 10, ...tagged("point", rows, (row) => ({ side: row.side, rps: row.rps })) }),
      Plot.text(rows, { x: 0, y, frameAnchor: "left", textAnchor: "start", dx: 6, dy: -10,
        fill: "var(--ink)", ...HALO, text: (row: SureRow) =>
          `${look.words[row.side]} ${row.name}: ${rate(row.rps)} (${
            interval([row.low, row.high], number, look.words.between)})` }),
    ],
  });
}
