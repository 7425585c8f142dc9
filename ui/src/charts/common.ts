// What all charts share: their frame, their colours, and how a drawn mark says which row it is.

import * as Plot from "@observablehq/plot";

import { count, rate, short } from "../figures";
import type { Column } from "../table";
import type { Words } from "../words";

/** How a chart is to be drawn; not what. */
export interface Look {
  width: number;
  words: Words;
}

export type Drawn = SVGSVGElement | HTMLElement;

const SERIES = 8;

/** The colour of the n-th series; distinguishable without red and green, in both themes. */
export function series(index: number): string {
  return `var(--series-${(index % SERIES) + 1})`;
}

/** Few symbols that stay apart when small; so colour is never the only difference. */
export const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "cross"] as const;

export function symbol(index: number): (typeof SYMBOLS)[number] {
  return SYMBOLS[index % SYMBOLS.length] ?? "circle";
}

/** Narrow pages have fewer ticks. */
export function ticks(width: number): number {
  return Math.max(3, Math.min(10, Math.floor(width / 90)));
}

export function plot(options: Plot.PlotOptions): Drawn {
  const drawn = Plot.plot({
    marginTop: 26,
    marginRight: 18,
    marginBottom: 38,
    marginLeft: 56,
    style: { fontFamily: "inherit", fontSize: "12px", background: "none", color: "inherit" },
    ...options,
    x: { labelArrow: "none", ...options.x },
    y: { labelArrow: "none", ...options.y },
  }) as Drawn;
  // Plot labels each group of marks for itself; the drawing is one image with one label.
  for (const group of drawn.querySelectorAll("g[aria-label]")) {
    group.setAttribute("data-group", group.getAttribute("aria-label") ?? "");
    group.removeAttribute("aria-label");
  }
  return drawn;
}

/** A scale of requests a second, from zero. */
export function rateScale(words: Words, steps: number): Plot.ScaleOptions {
  return { zero: true, nice: true, ticks: steps, label: words.rps,
    tickFormat: (value) => (Number.isInteger(value) ? count(value) : short(value)) };
}

/** A capacity with both ends of its interval. */
export function capacityColumns(words: Words, label = words.capacity): Column[] {
  return [
    { key: "capacity_rps", label, format: rate },
    { key: "capacity_rps_low", label: words.low, format: rate },
    { key: "capacity_rps_high", label: words.high, format: rate },
  ];
}

export type Tags = Record<string, string | number | null>;

/**
 * Options of a mark whose elements carry `data-mark` and what `tags` says of their row, so that
 * what is drawn can be counted and compared with the data. A line carries its first row's.
 */
export function tagged<T>(mark: string, rows: readonly T[], tags: (row: T) => Tags) {
  return {
    render: ((index, scales, values, dimensions, context, next) => {
      const group = next?.(index, scales, values, dimensions, context) ?? null;
      for (const element of group?.children ?? []) {
        const bound = (element as unknown as { __data__?: number | number[] }).__data__;
        const row = rows[Array.isArray(bound) ? (bound[0] ?? -1) : (bound ?? -1)];
        if (row === undefined) continue;
        element.setAttribute("data-mark", mark);
        for (const [name, value] of Object.entries(tags(row))) {
          if (value !== null) element.setAttribute(`data-${name}`, String(value));
        }
      }
      return group;
    }) as Plot.RenderFunction,
  };
}

/** Fades the part of a trial that is left out of its result; drawn over everything else. */
export function warmUp(seconds: number, words: Words): Plot.Markish[] {
  if (seconds <= 0) return [];
  const part = [{ from: 0, to: seconds }];
  return [
    Plot.rect(part, {
      x1: "from",
      x2: "to",
      fill: "var(--warm-up)",
      fillOpacity: 0.72,
      ...tagged("warm-up", part, (row) => ({ to: row.to })),
    }),
    Plot.ruleX([seconds], { stroke: "var(--edge)", strokeDasharray: "2 3" }),
    Plot.text([seconds], {
      x: (x: number) => x,
      frameAnchor: "bottom",
      textAnchor: "start",
      dx: 5,
      dy: -6,
      text: () => `← ${words.warm_up}`,
      fill: "var(--muted)",
      ...HALO,
    }),
  ];
}

/** A line across at a limit, named at its left end: load and rarity grow to the right. */
export function limitLine(rows: { y: number; text: string }[]): Plot.Markish[] {
  return [
    Plot.ruleY(rows, {
      y: "y",
      stroke: "var(--bad)",
      strokeWidth: 1.5,
      strokeDasharray: "6 3",
      ...tagged("limit", rows, (row) => ({ value: row.y })),
    }),
    Plot.text(rows, {
      y: "y",
      text: "text",
      frameAnchor: "left",
      textAnchor: "start",
      dx: 5,
      dy: -8,
      fill: "var(--bad)",
      ...HALO,
    }),
  ];
}

export const GRID = { stroke: "var(--line)", strokeOpacity: 1 };

/** Options of text that must be read over whatever lies behind it. */
export const HALO = { stroke: "var(--card)", strokeWidth: 4, paintOrder: "stroke" } as const;

/** Ticks at 1, 2 and 5 of each power of ten, or at the powers where that would be many. */
export function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  const isWide = high / low > 2000;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of isWide ? [1] : [1, 2, 5]) {
      const value = Number((step * 10 ** power).toPrecision(1));
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}

/** From least to most of what is above zero, with some room: what a logarithmic axis can show. */
export function logDomain(values: readonly number[]): [number, number] {
  const shown = values.filter((value) => value > 0 && Number.isFinite(value));
  if (shown.length === 0) return [0.001, 1];
  let [low, high] = [Infinity, 0];
  for (const value of shown) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low / 1.3, high * 1.4];
}
