// Two sessions: the ratio of each figure with its interval, around "no change".

import * as Plot from "@observablehq/plot";

import type { ComparedFigure, ComparePage } from "../data";
import { bytes, change, latency, number, percent, rate, ratio } from "../figures";
import { isolated } from "../outside";
import type { Table } from "../table";
import { fill, type Words } from "../words";
import { GRID, plot, tagged, type Drawn, type Look } from "./common";

/** How a figure is printed, by its name as `compare --json` has it. */
export function figureFormat(figure: string): (value: number) => string {
  if (figure.startsWith("latency")) return latency;
  if (figure === "cpu_per_request" || figure === "queue_time") return latency;
  if (figure.endsWith("capacity") || figure === "throughput") return rate;
  if (figure === "memory") return bytes;
  if (figure === "errors") return percent;
  return figure === "gain" ? ratio : number;
}

export function figureName({ figure }: ComparedFigure, page: ComparePage): string {
  return page.figure_names[figure] ?? figure;
}

/** Figures whose ratio is known. */
export function ratioRows(page: ComparePage): ComparedFigure[] {
  return page.figures.filter((figure) => figure.ratio !== null && figure.ratio > 0);
}

export function compareTable(page: ComparePage, words: Words): Table {
  return {
    name: "compare",
    columns: [
      { key: "figure", label: words.figure },
      { key: "a", label: "A" },
      { key: "b", label: "B" },
      { key: "ratio", label: "B / A", format: ratio },
      { key: "ratio_low", label: words.low, format: ratio },
      { key: "ratio_high", label: words.high, format: ratio },
      { key: "change", label: words.compared_change },
      { key: "observations_a", label: fill(words.observations, { side: "A" }) },
      { key: "observations_b", label: fill(words.observations, { side: "B" }) },
    ],
    rows: page.figures.map((it) => [
      figureName(it, page),
      it.a,
      it.b,
      it.ratio,
      it.ratio_interval?.[0] ?? null,
      it.ratio_interval?.[1] ?? null,
      it.change === null ? null : words[`standing_${it.change}` as const],
      ...it.observations,
    ]),
  };
}

export const CHANGE_COLOURS = {
  better: "var(--good)",
  worse: "var(--bad)",
  equivalent: "var(--muted)",
  undecided: "var(--muted)",
} as const;

const STEPS = [1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 30, 100, 1000];

/** Ratios at round changes, as many on both sides of one as there is room for. */
export function ratioTicks(span: number, most: number): number[] {
  const fit = STEPS.filter((step) => step < span);
  const every = Math.max(1, Math.ceil(fit.length / most));
  const above = fit.filter((_, i) => (fit.length - 1 - i) % every === 0);
  const below = above.map((step) => (step < 2 ? 2 - step : 1 / step)).filter((v) => v > 1 / span);
  return [...below, 1, ...above].sort((a, b) => a - b);
}

export function drawCompare(page: ComparePage, look: Look): Drawn {
  const rows = ratioRows(page);
  const ends = rows.flatMap((row) => [row.ratio ?? 1, ...(row.ratio_interval ?? [])]);
  const known = rows.filter((row) => row.ratio_interval !== null);
  const span = Math.max(1.1, ...ends.filter((v) => v > 0).map((v) => Math.max(v, 1 / v))) * 1.06;
  const ticks = ratioTicks(span, Math.max(2, Math.floor(look.width / 220)));
  const colour = (row: ComparedFigure) => CHANGE_COLOURS[row.change ?? "undecided"];
  const name = (row: ComparedFigure) => isolated(figureName(row, page));
  const tags = (row: ComparedFigure) => ({ figure: row.figure, ratio: row.ratio });
  return plot({
    width: look.width,
    height: 60 + rows.length * 34,
    marginTop: 12,
    marginLeft: 150,
    x: { type: "log", domain: [1 / span, span], label: look.words.change_a_to_b, ticks,
      tickFormat: change },
    y: { domain: rows.map(name), label: null, tickSize: 0 },
    marks: [
      Plot.gridX(ticks, GRID),
      Plot.ruleX([1], { stroke: "var(--ink)", strokeWidth: 1.5 }),
      Plot.link(known, { y1: name, y2: name,
        x1: (row: ComparedFigure) => Math.max(1 / span, row.ratio_interval?.[0] ?? 1),
        x2: (row: ComparedFigure) => Math.min(span, row.ratio_interval?.[1] ?? 1),
        stroke: colour, strokeWidth: 4, strokeLinecap: "round",
        ...tagged("interval", known, tags) }),
      Plot.dot(rows, { x: "ratio", y: name, r: 6, fill: colour, stroke: "var(--card)",
        strokeWidth: 2, ...tagged("point", rows, tags) }),
      Plot.tip(rows, Plot.pointerY({ x: "ratio", y: name, title: (row: ComparedFigure) =>
        `${name(row)}: ${change(row.ratio ?? 1)}` })),
    ],
  });
}
