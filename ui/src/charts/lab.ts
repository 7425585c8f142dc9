// A published experiment: each run as it was measured here, beside what was published.

import * as Plot from "@observablehq/plot";

import type { LabFigures, LabResult, LabRun } from "../data";
import { bytes, cores, latency, percent, rate, ratio, short } from "../figures";
import { isolated } from "../outside";
import type { Table } from "../table";
import { clientsText, type Words } from "../words";
import { GRID, plot, tagged, ticks, type Drawn, type Look } from "./common";

export const LAB_FIGURES = [
  "throughput", "relative", "p50", "p95", "p99", "mean", "max", "success", "cpu", "memory",
] as const;
export type LabFigure = (typeof LAB_FIGURES)[number];

export interface LabPoint {
  run: number;
  name: string;
  measured: number | null;
  published: number | null;
}

export function labFormat(figure: LabFigure): (value: number) => string {
  switch (figure) {
    case "throughput":
      return rate;
    case "relative":
      return ratio;
    case "success":
      return percent;
    case "cpu":
      return cores;
    case "memory":
      return bytes;
    default:
      return latency;
  }
}

export function labFigureName(figure: LabFigure, words: Words): string {
  switch (figure) {
    case "relative":
      return words.relative_throughput;
    case "mean":
      return words.mean_latency;
    case "max":
      return words.longest_latency;
    case "success":
      return words.good_replies;
    case "cpu":
      return words.busy_cores;
    case "throughput":
    case "memory":
      return words[figure];
    default:
      return figure;
  }
}

function valueOf(figures: LabFigures | null, relative: number | null, figure: LabFigure) {
  switch (figure) {
    case "throughput":
      return figures?.throughput_rps ?? null;
    case "relative":
      return relative;
    case "success":
      return figures?.success ?? null;
    case "cpu":
      return figures?.cpu_cores ?? null;
    case "memory":
      return figures?.memory_bytes ?? null;
    default:
      return figures?.latency_s[figure] ?? null;
  }
}

/** `GET / 3 x 5, 400/s`; with its repeat where there are several. */
export function runName(run: LabRun, words: Words): string {
  const { target, series, workers, threads, rate_rps, clients, repeat } = run.setting;
  const alone = clients !== null ? clientsText(clients, words) : "";
  const load = rate_rps !== null ? rate(rate_rps) : alone;
  const again = repeat > 1 ? ` #${repeat}` : "";
  const of = series && series !== target ? `${target} ${series}` : target;
  return `${of} · ${workers} x ${threads}${load ? ` · ${load}` : ""}${again}`;
}

/** Runs of which the figure is known on at least one side. */
export function labRows(page: LabResult, figure: LabFigure, words: Words): LabPoint[] {
  return page.runs.flatMap((run, i) => {
    const measured = valueOf(run.measured, run.relative_measured, figure);
    const published = valueOf(run.published, run.relative_published, figure);
    return measured === null && published === null
      ? [] : [{ run: i, name: runName(run, words), measured, published }];
  });
}

/** Figures that any run has. */
export function labFigures(page: LabResult, words: Words): LabFigure[] {
  return LAB_FIGURES.filter((figure) => labRows(page, figure, words).length > 0);
}

export function labTable(page: LabResult, figure: LabFigure, words: Words): Table {
  const format = labFormat(figure);
  return {
    name: `lab-${figure}`,
    columns: [
      { key: "run", label: words.run },
      { key: `${figure}_measured`, label: words.measured_here, format },
      { key: `${figure}_published`, label: words.published, format },
    ],
    rows: labRows(page, figure, words).map((row) => [row.name, row.measured, row.published]),
  };
}

export function drawLab(page: LabResult, figure: LabFigure, look: Look): Drawn {
  const rows = labRows(page, figure, look.words);
  const both = rows.filter((row) => row.measured !== null && row.published !== null);
  const measured = rows.filter((row) => row.measured !== null);
  const published = rows.filter((row) => row.published !== null);
  const names = new Map(rows.map((row) => [row.run, row.name]));
  const isNarrow = look.width < 560;
  const y = (row: LabPoint) => row.run;
  const letters = isNarrow ? 24 : 40;
  const nameOf = (run: number) => clipped(names.get(run) ?? "", letters);
  return plot({
    width: look.width,
    height: 50 + rows.length * 26,
    marginTop: 12,
    marginLeft: Math.min(look.width * 0.45, 12 + letters * 6.1),
    x: { zero: true, nice: true, ticks: Math.min(5, ticks(look.width)), label: null,
      tickFormat: axisFormat(figure) },
    y: { type: "band", domain: rows.map(y), label: null, tickSize: 0, tickFormat: nameOf },
    marks: [
      Plot.gridX({ ...GRID, ticks: Math.min(5, ticks(look.width)) }),
      Plot.link(both, { x1: "published", x2: "measured", y1: y, y2: y, stroke: "var(--muted)",
        ...tagged("pair", both, tags) }),
      Plot.dot(published, { x: "published", y, r: 5.5, symbol: "diamond2",
        stroke: "var(--series-2)", strokeWidth: 2, fill: "var(--card)",
        ...tagged("published", published, tags) }),
      Plot.dot(measured, { x: "measured", y, r: 5, fill: "var(--series-1)",
        stroke: "var(--card)", ...tagged("measured", measured, tags) }),
      Plot.tip(rows, Plot.pointerY({ x: (row: LabPoint) => row.measured ?? row.published ?? 0, y,
        title: (row: LabPoint) => tipOf(row, figure, look.words) })),
    ],
  });
}

function tags(row: LabPoint) {
  return { run: row.run, measured: row.measured, published: row.published };
}

function tipOf(row: LabPoint, figure: LabFigure, words: Words): string {
  const format = labFormat(figure);
  const text = (value: number | null) => (value === null ? "–" : format(value));
  return `${isolated(row.name)}\n${words.measured_here}: ${text(row.measured)}\n` +
    `${words.published}: ${text(row.published)}`;
}

function axisFormat(figure: LabFigure): (value: number) => string {
  if (figure === "throughput" || figure === "cpu" || figure === "relative") return short;
  return (value) => (value === 0 ? "0" : labFormat(figure)(value));
}

function clipped(text: string, letters: number): string {
  const shown = Array.from(text);
  return isolated(shown.length <= letters ? text : `${shown.slice(0, letters - 1).join("")}…`);
}
