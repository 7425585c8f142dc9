// The running trial: replies each second and their p95, as far as it has come.

import * as Plot from "@observablehq/plot";

import type { Running, Second } from "../data";
import { count, latency, rate, short } from "../figures";
import type { Table } from "../table";
import type { Words } from "../words";
import { GRID, plot, rateScale, tagged, type Drawn, type Look } from "./common";

export function runningTable(seconds: Second[], words: Words): Table {
  return {
    name: "running",
    columns: [
      { key: "at_s", label: words.second, format: short },
      { key: "phase", label: words.state },
      { key: "due", label: words.due, format: count },
      { key: "sent", label: words.sent, format: count },
      { key: "replies_rps", label: words.answered, format: rate },
      { key: "errors", label: words.errors, format: count },
      { key: "in_flight", label: words.in_flight, format: count },
      { key: "p95_s", label: "p95", format: latency },
    ],
    rows: seconds.map((it) => [
      it.at_s, words[it.phase], it.due, it.sent, it.replies, it.errors, it.in_flight,
      it.p95_s,
    ]),
  };
}

export function drawRunning(running: Running | null, seconds: Second[], look: Look): Drawn {
  // As wide as the trial is long, so that seconds arrive and nothing moves.
  const length = Math.max(5, running?.duration_s ?? 0, (seconds.at(-1)?.at_s ?? 0) + 1);
  return plot({
    width: look.width,
    height: 150,
    marginTop: 16,
    x: { domain: [0, length], label: null, ticks: 6, tickFormat: short },
    y: rateScale(look.words, 3),
    marks: [
      Plot.gridY({ ...GRID, ticks: 3 }),
      Plot.ruleX(seconds, { x: (it: Second) => it.at_s + 0.5, y1: 0, y2: "replies",
        strokeWidth: Math.max(1.5, Math.min(9, (look.width / length) * 0.6)),
        stroke: (it: Second) => (it.phase === "measure" ? "var(--series-1)" : "var(--hatch)"),
        ...tagged("second", seconds, (it) => ({ at: it.at_s, replies: it.replies })) }),
      Plot.line(seconds, { x: (it: Second) => it.at_s + 0.5, y: "due", stroke: "var(--ink)",
        strokeWidth: 1 }),
    ],
  });
}
