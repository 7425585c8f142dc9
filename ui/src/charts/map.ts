// The workers x threads map: what each setting holds. Solid is measured, hatched is predicted,
// crossed can't be run.

import * as Plot from "@observablehq/plot";

import type { MapCell, SessionPage } from "../data";
import { bytes, number, rate, setting } from "../figures";
import type { Table } from "../table";
import type { Words } from "../words/words";
import { HALO, plot, tagged, type Drawn, type Look } from "./common";

export const STEPS = 7;

export interface MapRow {
  cell: MapCell;
  /** 1 to STEPS: the colour; 0 where nothing is known. */
  step: number;
  kind: "measured" | "predicted" | "crossed" | "unknown";
  isToday: boolean;
}

/** Where a cell was drawn, in pixels of the drawing: for what lies over it. */
export interface Box {
  row: MapRow;
  left: number;
  top: number;
  width: number;
  height: number;
}

export function mapRows(session: SessionPage): MapRow[] {
  const most = Math.max(0, ...session.map.map((cell) => cell.rps ?? 0));
  return session.map.map((cell) => ({
    cell,
    step: stepOf(cell.rps, most),
    kind: kindOf(cell),
    isToday: cell.mark === "today" || isCurrent(session, cell),
  }));
}

function isCurrent(session: SessionPage, cell: MapCell): boolean {
  const now = session.current;
  return now !== null && now.workers === cell.workers && now.threads === cell.threads;
}

function stepOf(rps: number | null, most: number): number {
  if (rps === null || most <= 0) return 0;
  return Math.min(STEPS, 1 + Math.floor((rps / most) * STEPS));
}

function kindOf(cell: MapCell): MapRow["kind"] {
  switch (cell.state) {
    case "measured":
    case "at_least":
    case "below":
      return "measured";
    case "predicted":
      return "predicted";
    case "ruled_out":
    case "never_ready":
      return "crossed";
    default:
      return "unknown";
  }
}

export function mapTable(session: SessionPage, words: Words): Table {
  const t = words.columns;
  return {
    name: "map",
    columns: [
      { key: "setting", label: t.setting },
      { key: "state", label: t.state },
      { key: "capacity_rps", label: t.capacity, format: rate },
      { key: "capacity_rps_low", label: t.low, format: rate },
      { key: "capacity_rps_high", label: t.high, format: rate },
      { key: "predicted_rps", label: t.predicted, format: rate },
      { key: "memory_bytes", label: t.memory, format: bytes },
      { key: "limit", label: t.limit },
      { key: "why", label: t.why },
    ],
    rows: session.map.map((cell) => [
      setting(cell.workers, cell.threads, session.has_threads),
      words.states[cell.state],
      cell.rps,
      cell.rps_interval?.[0] ?? null,
      cell.rps_interval?.[1] ?? null,
      cell.predicted_rps,
      cell.memory_bytes,
      cell.limit === null ? null : words.limit(cell.limit),
      cell.why,
    ]),
  };
}

/** What stands in a cell. */
export function mapLabel(cell: MapCell): string {
  if (cell.rps === null) return "";
  const figure = number(cell.rps);
  switch (cell.state) {
    case "at_least":
      return `≥ ${figure}`;
    case "below":
      return `< ${figure}`;
    case "predicted":
      return `~ ${figure}`;
    default:
      return figure;
  }
}

export function drawMap(
  session: SessionPage,
  rows: MapRow[],
  look: Look,
  name: string,
): { svg: Drawn; boxes: Box[] } {
  const [workers, threads] = [
    distinct(rows.map((row) => row.cell.workers)),
    distinct(rows.map((row) => row.cell.threads)),
  ];
  const flat = !session.has_threads;
  const columns = flat ? workers.length : threads.length;
  const lines = flat ? 1 : workers.length;
  const width = Math.min(look.width, 64 + columns * 132);
  const height = 46 + lines * (lines > 8 ? 34 : 50) + 8;
  const drawn = plot({
    width,
    height,
    marginTop: 46,
    marginBottom: 8,
    marginLeft: flat ? 14 : 64,
    marginRight: 2,
    x: {
      domain: flat ? workers : threads,
      label: flat ? look.words.workers : look.words.threads,
      axis: "top",
      tickSize: 0,
      padding: 0.06,
      labelAnchor: "left",
      labelArrow: "none",
    },
    y: flat
      ? { axis: null, domain: [""], padding: 0.1 }
      : { domain: workers, label: look.words.workers, tickSize: 0, padding: 0.1,
          labelArrow: "none" },
    marks: mapMarks(rows, flat, name),
  });
  drawn.prepend(patterns(name));
  return { svg: drawn, boxes: boxesOf(drawn, rows, flat) };
}

function mapMarks(rows: MapRow[], flat: boolean, name: string): Plot.Markish[] {
  const at = {
    x: (row: MapRow) => (flat ? row.cell.workers : row.cell.threads),
    y: (row: MapRow) => (flat ? "" : row.cell.workers),
  };
  const round = { rx: 5, ry: 5 };
  const chosen = rows.filter((row) => row.cell.mark === "chosen");
  const equivalent = rows.filter((row) => row.cell.mark === "equivalent");
  const today = rows.filter((row) => row.isToday);
  const ring = { ...at, ...round, fill: "none", inset: 1.5 };
  return [
    Plot.cell(rows, {
      ...at,
      ...round,
      fill: (row: MapRow) => fillOf(row, name),
      stroke: "var(--line)",
      ...tagged("cell", rows, (row) => ({
        workers: row.cell.workers,
        threads: row.cell.threads,
        kind: row.kind,
        rps: row.cell.rps,
      })),
    }),
    Plot.cell(today, { ...ring, inset: 4.5, stroke: "var(--ink)", strokeDasharray: "3 3",
      ...tagged("today", today, settingTags) }),
    Plot.cell(equivalent, { ...ring, stroke: "var(--accent)", strokeWidth: 2,
      ...tagged("equivalent", equivalent, settingTags) }),
    Plot.cell(chosen, { ...ring, stroke: "var(--accent)", strokeWidth: 4,
      ...tagged("chosen", chosen, settingTags) }),
    ...labels(rows, at),
  ];
}

function labels(rows: MapRow[], at: object): Plot.Markish[] {
  const solid = rows.filter((row) => row.kind === "measured");
  const hatched = rows.filter((row) => row.kind !== "measured");
  return [
    Plot.text(solid, {
      ...at,
      text: (row: MapRow) => mapLabel(row.cell),
      fill: (row: MapRow) => `var(--step-ink-${row.step})`,
      fontWeight: 600,
      fontSize: 13,
    }),
    Plot.text(hatched, {
      ...at,
      ...HALO,
      text: (row: MapRow) => (row.kind === "crossed" ? "" : mapLabel(row.cell)),
      fill: "var(--ink)",
      fontSize: 13,
    }),
  ];
}

function settingTags(row: MapRow) {
  return { workers: row.cell.workers, threads: row.cell.threads };
}

function fillOf(row: MapRow, name: string): string {
  switch (row.kind) {
    case "measured":
      return row.step === 0 ? "var(--card)" : `var(--step-${row.step})`;
    case "predicted":
      return row.step === 0 ? "var(--card)" : `url(#${name}-hatch-${row.step})`;
    case "crossed":
      return `url(#${name}-cross)`;
    default:
      return "var(--card)";
  }
}

/** Hatches, one a colour step, and the cross of what can't be run. */
function patterns(name: string): SVGDefsElement {
  const defs = svgElement("defs", {});
  for (let step = 1; step <= STEPS; step += 1) {
    const pattern = svgElement("pattern", { id: `${name}-hatch-${step}`, width: "7", height: "7",
      patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    pattern.append(
      svgElement("rect", { width: "7", height: "7", fill: "var(--card)" }),
      svgElement("rect", { width: "7", height: "7", fill: `var(--step-${step})`,
        "fill-opacity": "0.35" }),
      svgElement("line", { x1: "0", y1: "0", x2: "0", y2: "7", stroke: "var(--hatch)",
        "stroke-width": "1.6" }),
    );
    defs.append(pattern);
  }
  const cross = svgElement("pattern", { id: `${name}-cross`, width: "1", height: "1",
    patternContentUnits: "objectBoundingBox", viewBox: "0 0 1 1", preserveAspectRatio: "none" });
  const line = { stroke: "var(--muted)", "stroke-width": "1", "vector-effect": "non-scaling-stroke" };
  cross.append(
    svgElement("rect", { width: "1", height: "1", fill: "var(--paper)" }),
    svgElement("line", { ...line, x1: "0", y1: "0", x2: "1", y2: "1" }),
    svgElement("line", { ...line, x1: "1", y1: "0", x2: "0", y2: "1" }),
  );
  defs.append(cross);
  return defs;
}

function svgElement<K extends keyof SVGElementTagNameMap>(tag: K, set: Record<string, string>) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(set)) element.setAttribute(name, value);
  return element;
}

function boxesOf(drawn: Drawn, rows: MapRow[], flat: boolean): Box[] {
  const scales = drawn as unknown as Plot.Plot;
  const [x, y] = [scales.scale("x"), scales.scale("y")];
  if (!x || !y) return [];
  return rows.map((row) => ({
    row,
    left: x.apply(flat ? row.cell.workers : row.cell.threads),
    top: y.apply(flat ? "" : row.cell.workers),
    width: x.bandwidth ?? 0,
    height: y.bandwidth ?? 0,
  }));
}

function distinct(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
