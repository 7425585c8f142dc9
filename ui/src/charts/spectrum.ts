// The latency spectrum: latency at each quantile, on an axis that gives each further nine the same
// room (Gil Tene's HDR percentile plot).

import * as Plot from "@observablehq/plot";

import type { SessionPage, TrialRow } from "../data";
import { latency, quantile, rate, tick } from "../figures";
import { isSame, nameOf, type Setting } from "../setting";
import type { Table } from "../table";
import { fill, type Words } from "../words";
import { GRID, HALO, limitLine, logDomain, logTicks, plot, tagged } from "./common";
import type { Drawn, Look } from "./common";
import { sloLines } from "./latency";

export type Side = "today" | "chosen";

export interface SpectrumPoint {
  side: Side;
  trial: number;
  quantile: number;
  /** 1 / (1 - quantile): 10 at 90 %, 100 at 99 %. */
  x: number;
  latency_s: number;
}

/** For each side the trial whose spectrum is shown: the last one that confirmed it. */
export function spectrumTrials(session: SessionPage): Partial<Record<Side, TrialRow>> {
  const { current, decision } = session;
  const sides: Partial<Record<Side, TrialRow>> = {};
  const today = current && !isSame(current, decision) ? lastOf(session, current) : undefined;
  const chosen = decision ? lastOf(session, decision) : undefined;
  if (today) sides.today = today;
  if (chosen) sides.chosen = chosen;
  return sides;
}

/** The last trial of a setting with its seconds; rather one that confirmed it. */
export function lastOf(
  session: SessionPage,
  at: Setting,
): TrialRow | undefined {
  const own = session.trials.filter(
    (trial) =>
      isSame(trial, at) && trial.detail !== null && trial.changes.length === 0,
  );
  const last = new Set(["confirm", "hold"]);
  const valid = own.filter((trial) => trial.valid && last.has(trial.purpose));
  return valid.at(-1) ?? own.filter((trial) => trial.valid).at(-1) ?? own.at(-1);
}

export function spectrumRows(session: SessionPage): SpectrumPoint[] {
  return Object.entries(spectrumTrials(session)).flatMap(([side, trial]) =>
    pointsOf(side as Side, trial),
  );
}

function pointsOf(side: Side, trial: TrialRow): SpectrumPoint[] {
  const spectrum = trial.detail?.spectrum ?? [];
  // The slowest request of n is the quantile 1 - 1/n as far as anyone can know.
  const last = Math.max(1, trial.completed, ...spectrum.map(([share]) => nines(share) ?? 1));
  return spectrum.map(([share, seconds]) => ({
    side,
    trial: trial.id,
    quantile: share,
    x: nines(share) ?? last,
    latency_s: seconds,
  }));
}

function nines(share: number): number | null {
  return share < 1 ? 1 / (1 - share) : null;
}

export function spectrumTable(session: SessionPage, words: Words): Table {
  return {
    name: "spectrum",
    columns: [
      { key: "side", label: words.setting },
      { key: "trial", label: words.trial },
      { key: "quantile", label: words.quantile, format: quantile },
      { key: "latency_s", label: words.latencies, format: latency },
    ],
    rows: spectrumRows(session).map((row) => [
      words[row.side], row.trial, row.quantile, row.latency_s,
    ]),
  };
}

export const SIDE_COLOURS: Record<Side, string> = {
  today: "var(--series-2)",
  chosen: "var(--series-1)",
};

/** `chosen: 3 x 5 at 412/s`. */
export function sideName(session: SessionPage, side: Side, words: Words): string {
  const trial = spectrumTrials(session)[side];
  if (!trial) return words[side];
  const rps = trial.offered_rps;
  const load = rps === null ? "" : fill(words.at_load, { load: rate(rps) });
  return `${words[side]}: ${nameOf(trial, session)} ${load}`;
}

export function drawSpectrum(session: SessionPage, look: Look): Drawn {
  const rows = spectrumRows(session).filter((row) => row.latency_s > 0);
  const limits = sloLines(session);
  const domain = logDomain([...rows.map((row) => row.latency_s), ...limits.map((l) => l.y)]);
  const most = Math.max(100, ...rows.map((row) => row.x));
  const decades = Array.from({ length: Math.floor(Math.log10(most)) + 1 }, (_, n) => 10 ** n);
  const colour = (row: SpectrumPoint) => SIDE_COLOURS[row.side];
  const ends = ["today", "chosen"].flatMap((side) => rows.filter((r) => r.side === side).slice(-1));
  return plot({
    width: look.width,
    height: Math.max(280, Math.min(380, look.width * 0.5)),
    x: { type: "log", domain: [1, most * 1.1], label: look.words.quantile, ticks: decades,
      tickFormat: (x: number) => quantile(1 - 1 / x) },
    y: { type: "log", domain, label: look.words.latencies, ticks: logTicks(...domain),
      tickFormat: tick },
    marks: [
      Plot.gridY(logTicks(...domain), GRID),
      Plot.gridX(decades, GRID),
      ...limitLine(limits),
      Plot.line(rows, { x: "x", y: "latency_s", z: "side", stroke: colour, strokeWidth: 2,
        curve: "step-before",
        ...tagged("curve", rows, (row) => ({ side: row.side, trial: row.trial })) }),
      Plot.dot(ends, { x: "x", y: "latency_s", fill: colour, r: 4,
        ...tagged("slowest", ends, (row) => ({ side: row.side, latency: row.latency_s })) }),
      // One name above its line and one below, as the lines end near each other.
      ...ends.map((end) => Plot.text([end], { x: "x", y: "latency_s", fill: colour,
        text: () => look.words[end.side], textAnchor: "end", dx: -8,
        dy: end.side === "today" ? -10 : 12, fontWeight: 600, ...HALO })),
      Plot.tip(rows, Plot.pointer({ x: "x", y: "latency_s", title: (row: SpectrumPoint) =>
        `${look.words[row.side]}\n${quantile(row.quantile)}: ${latency(row.latency_s)}` })),
    ],
  });
}
