// The workers x threads map: what each setting holds. Solid is measured, hatched is predicted,
// crossed can't be run.

import * as Plot from "@observablehq/plot";

import type { MapCell, SessionPage } from "../data";
import { bytes, distinct, number, rate } from "../figures";
import { isSame, nameOf } from "../setting";
import type { Table } from "../table";
import type { Words } from "../words";
import { capacityColumns, HALO, plot, tagged, type Drawn, type Look } from "./common";

export const STEPS = 7;

export interface MapRow {
  cell: MapCell;
  /** 1 to STEPS: the colour; 0 where nothing is known. */
  step: number;
  kind: "measured" | "predicted" | "crossed" | "unknown";
  isToday: boolean;
}

const KINDS: Record<MapCell["state"], MapRow["kind"]> = {
  measured: "measured",
  at_least: "measured",
  below: "measured",
  predicted: "predicted",
  ruled_out: "crossed",
  did_not_start: "crossed",
  unknown: "unknown",
};

/** Where a cell was drawn, in pixels of the drawing: for what lies over it. */
export interface Box {
  row: MapRow;
  left: number;
  top: number;
  width: number;
  height: number;
}

export function mapRows(session: SessionPage): MapRow[] {
  const most = Math.max(0, ...session.map.map((cell) => heldRps(cell) ?? 0));
  return session.map.map((cell) => ({
    cell,
    step: stepOf(heldRps(cell), most),
    kind: KINDS[cell.state],
    isToday: cell.mark === "today" || isSame(session.current, cell),
  }));
}

/** Of a setting of which only a rate is known that it did not hold: nothing. */
function heldRps(cell: MapCell): number | null {
  return cell.state === "below" ? null : cell.rps;
}

function stepOf(rps: number | null, most: number): number {
  if (rps === null || most <= 0) return 0;
  return Math.min(STEPS, 1 + Math.floor((rps / most) * STEPS));
}

export function mapTable(session: SessionPage, words: Words): Table {
  return {
    name: "map",
    columns: [
      { key: "setting", label: words.setting },
      { key: "state", label: words.state },
      ...capacityColumns(words),
      { key: "predicted_rps", label: words.predicted, format: rate },
      { key: "memory_bytes", label: words.memory, format: bytes },
      { key: "limit", label: words.limit },
      { key: "why", label: words.why },
    ],
    rows: session.map.map((cell) => [
      nameOf(cell, session),
      words[cell.state],
      cell.rps,
      cell.rps_interval?.[0] ?? null,
      cell.rps_interval?.[1] ?? null,
      cell.predicted_rps,
      cell.memory_bytes,
      cell.limit,
      cell.why,
    ]),
  };
}

/** Before a figure that is not simply the measured one. */
const SIGNS: Partial<Record<MapCell["state"], string>> = {
  at_least: "≥ ", below: "< ", predicted: "~ ",
};

/** What stands in a cell. */
export function mapLabel(cell: MapCell): string {
  return cell.rps === null ? "" : `${SIGNS[cell.state] ?? ""}${number(cell.rps)}`;
}

export function drawMap(
  session: SessionPage,
  rows: MapRow[],
  look: Look,
): { svg: Drawn; boxes: Box[] } {
  const [workers, threads] = [
    distinct(rows.map((row) => row.cell.workers)),
    distinct(rows.map((row) => row.cell.threads)),
  ];
  const flat = !session.has_threads;
  const columns = flat ? workers.length : threads.length;
  const lines = flat ? 1 : workers.length;
  const width = Math.min(look.width, 64 + columns * 172);
  const height = 46 + lines * (lines > 8 ? 42 : 54) + 8;
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
    },
    y: flat
      ? { axis: null, domain: [""], padding: 0.1 }
      : { domain: workers, label: look.words.workers, tickSize: 0, padding: 0.1 },
    marks: mapMarks(rows, { flat, isWide: width / columns > 80, words: look.words }),
  });
  drawn.prepend(patterns());
  return { svg: drawn, boxes: boxesOf(drawn, rows, flat) };
}

interface MapLook {
  flat: boolean;
  /** Room for a word under the figure. */
  isWide: boolean;
  words: Words;
}

function mapMarks(rows: MapRow[], look: MapLook): Plot.Markish[] {
  const { flat } = look;
  const at = {
    x: (row: MapRow) => (flat ? row.cell.workers : row.cell.threads),
    y: (row: MapRow) => (flat ? "" : row.cell.workers),
  };
  const crossed = rows.filter((row) => row.kind === "crossed");
  return [
    Plot.cell(rows, {
      ...at,
      rx: 4,
      ry: 4,
      inset: 4,
      fill: fillOf,
      stroke: "var(--line)",
      ...tagged("cell", rows, (row) => ({
        workers: row.cell.workers,
        threads: row.cell.threads,
        kind: row.kind,
        rps: row.cell.rps,
      })),
    }),
    Plot.cell(crossed, { ...at, inset: 4, render: crosses }),
    ...rings(rows, at),
    ...labels(rows, at, look),
  ];
}

/** Around the cells, with a gap: so they are seen beside every colour of the scale. */
function rings(rows: MapRow[], at: object): Plot.Markish[] {
  const of = (mark: MapCell["mark"]) => rows.filter((row) => row.cell.mark === mark);
  const [chosen, equivalent] = [of("chosen"), of("equivalent")];
  const today = rows.filter((row) => row.isToday);
  const ring = { ...at, rx: 7, ry: 7, fill: "none", inset: 0.5 };
  return [
    Plot.cell(today, { ...ring, stroke: "var(--ink)", strokeWidth: 1.5, strokeDasharray: "4 3",
      ...tagged("today", today, settingTags) }),
    Plot.cell(equivalent, { ...ring, stroke: "var(--accent)", strokeWidth: 1.5,
      ...tagged("equivalent", equivalent, settingTags) }),
    Plot.cell(chosen, { ...ring, stroke: "var(--accent)", strokeWidth: 3.5,
      ...tagged("chosen", chosen, settingTags) }),
  ];
}

/** A cross over each cell instead of the cell itself. */
const crosses: Plot.RenderFunction = (index, scales, values, dimensions, context, next) => {
  const group = next?.(index, scales, values, dimensions, context) ?? null;
  for (const cell of [...(group?.children ?? [])]) {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) =>
      Number(cell.getAttribute(name)));
    const d = `M${x},${y}l${width},${height}m0,${-(height ?? 0)}l${-(width ?? 0)},${height}`;
    cell.replaceWith(svgElement("path", { d, stroke: "var(--muted)", "stroke-width": "1.25",
      fill: "none", "data-mark": "cross" }));
  }
  return group;
};

function labels(rows: MapRow[], at: object, look: MapLook): Plot.Markish[] {
  const text = (row: MapRow) => mapLabel(row.cell);
  const solid = rows.filter((row) => row.kind === "measured");
  const hatched = rows.filter((row) => row.kind === "predicted");
  const isMarked = (row: MapRow) => look.isWide && markName(row, look.words) !== "";
  const marked = solid.filter(isMarked);
  const plain = solid.filter((row) => !isMarked(row));
  const ink = (row: MapRow) => `var(--step-ink-${row.step})`;
  return [
    Plot.text(plain, { ...at, text, fill: ink, fontWeight: 600, fontSize: 13 }),
    Plot.text(marked, { ...at, text, fill: ink, fontWeight: 600, fontSize: 13, dy: -6 }),
    Plot.text(marked, { ...at, text: (row: MapRow) => markName(row, look.words), fill: ink,
      fontSize: 10, dy: 9 }),
    Plot.text(hatched, { ...at, ...HALO, text, fill: "var(--ink)", fontSize: 13 }),
  ];
}

function markName(row: MapRow, words: Words): string {
  const { mark } = row.cell;
  return mark !== null ? markText(mark, words) : row.isToday ? words.today : "";
}

export function markText(mark: NonNullable<MapCell["mark"]>, words: Words): string {
  return mark === "equivalent" ? words.as_good : words[mark];
}

function settingTags(row: MapRow) {
  return { workers: row.cell.workers, threads: row.cell.threads };
}

function fillOf(row: MapRow): string {
  switch (row.kind) {
    case "measured":
      return row.step === 0 ? "var(--card)" : `var(--step-${row.step})`;
    case "predicted":
      return row.step === 0 ? "var(--card)" : `url(#map-hatch-${row.step})`;
    default:
      return "var(--paper)";
  }
}

/** Hatches, one a colour step. */
function patterns(): SVGDefsElement {
  const defs = svgElement("defs", {});
  for (let step = 1; step <= STEPS; step += 1) {
    const pattern = svgElement("pattern", { id: `map-hatch-${step}`, width: "7", height: "7",
      patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    pattern.append(
      svgElement("rect", { width: "7", height: "7", fill: "var(--card)" }),
      svgElement("rect", { width: "7", height: "7", fill: `var(--step-${step})`,
        "fill-opacity": "0.5" }),
      svgElement("line", { x1: "0", y1: "0", x2: "0", y2: "7", stroke: "var(--hatch)",
        "stroke-width": "1.3" }),
    );
    defs.append(pattern);
  }
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
