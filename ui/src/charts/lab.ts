// A published experiment: each run as it was measured here, beside what was published.

import * as Plot from "@observablehq/plot";

import type { LabFigures, LabResult, LabRun } from "../data";
import { bytes, cores, latency, percent, rate, ratio, short } from "../figures";
import { isolated } from "../outside";
import type { Table } from "../table";
import { clientsText, type Words } from "../words";
import { GRID, plot, tagged, ticks, type Drawn, type Look } from "./common";

interface Kind {
  format: (value: number) => string;
  /** What it is called; null: by its own name. */
  word: keyof Words | null;
  of: (figures: LabFigures) => number | null;
}

const KINDS = {
  throughput: { format: rate, word: "throughput", of: (it) => it.throughput_rps },
  // It stands beside a run's figures: see `valueOf`.
  relative: { format: ratio, word: "relative_throughput", of: () => null },
  p50: { format: latency, word: null, of: (it) => it.latency_s.p50 },
  p95: { format: latency, word: null, of: (it) => it.latency_s.p95 },
  p99: { format: latency, word: null, of: (it) => it.latency_s.p99 },
  mean: { format: latency, word: "mean_latency", of: (it) => it.latency_s.mean },
  max: { format: latency, word: "longest_latency", of: (it) => it.latency_s.max },
  success: { format: percent, word: "good_replies", of: (it) => it.success },
  cpu: { format: cores, word: "busy_cores", of: (it) => it.cpu_cores },
  memory: { format: bytes, word: "memory", of: (it) => it.memory_bytes },
} satisfies Record<string, Kind>;
export type LabFigure = keyof typeof KINDS;

export interface LabPoint {
  run: number;
  name: string;
  measured: number | null;
  published: number | null;
}

export function labFigureName(figure: LabFigure, words: Words): string {
  const { word } = KINDS[figure];
  return word === null ? figure : words[word];
}

function valueOf(figures: LabFigures | null, relative: number | null, figure: LabFigure) {
  return figure === "relative" ? relative : figures && KINDS[figure].of(figures);
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
  const all = Object.keys(KINDS) as LabFigure[];
  return all.filter((figure) => labRows(page, figure, words).length > 0);
}

export function labTable(page: LabResult, figure: LabFigure, words: Words): Table {
  const { format } = KINDS[figure];
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
  const { format } = KINDS[figure];
  const text = (value: number | null) => (value === null ? "–" : format(value));
  return `${isolated(row.name)}\n${words.measured_here}: ${text(row.measured)}\n` +
    `${words.published}: ${text(row.published)}`;
}

function axisFormat(figure: LabFigure): (value: number) => string {
  if (figure === "throughput" || figure === "cpu" || figure === "relative") return short;
  return (value) => (value === 0 ? "0" : KINDS[figure].format(value));
}

function clipped(text: string, letters: number): string {
  const shown = Array.from(text);
  return isolated(shown.length <= letters ? text : `${shown.slice(0, letters - 1).join("")}…`);
}
