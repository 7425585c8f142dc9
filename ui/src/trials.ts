// Which trials are shown, and in which order.

import type { Outcome, TrialPurpose, TrialRow } from "./data";
import { isSame, type Setting } from "./setting";

export interface Filter {
  text: string;
  purpose: TrialPurpose | null;
  outcome: Outcome | null;
  setting: Setting | null;
}

export const NO_FILTER: Filter = { text: "", purpose: null, outcome: null, setting: null };

/** What trials are sorted by; null where it is not known. */
const KEYS = {
  id: (it) => it.id,
  setting: (it) => it.workers * 100_000 + it.threads,
  purpose: (it) => it.purpose_name,
  outcome: (it) => it.outcome,
  offered: (it) => it.offered_rps ?? it.clients,
  throughput: (it) => it.throughput_rps,
  p50: (it) => it.latency_s.p50,
  p95: (it) => it.latency_s.p95,
  p99: (it) => it.latency_s.p99,
  errors: (it) => (it.due === 0 ? 0 : it.errors / it.due),
  memory: (it) => it.memory_bytes,
  limit: (it) => it.limit_name,
} satisfies Record<string, (it: TrialRow) => number | string | null>;

export type SortKey = keyof typeof KEYS;

export interface Order {
  key: SortKey;
  isDown: boolean;
}

export function matching(trials: readonly TrialRow[], filter: Filter): TrialRow[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return trials.filter(
    (trial) =>
      (filter.purpose === null || trial.purpose === filter.purpose) &&
      (filter.outcome === null || trial.outcome_code === filter.outcome) &&
      (filter.setting === null || isSame(trial, filter.setting)) &&
      words.every((word) => textOf(trial).includes(word)),
  );
}

/** What a reader may look for in a trial. */
function textOf(trial: TrialRow): string {
  return [
    `${trial.id}`, `${trial.workers} x ${trial.threads}`, `${trial.workers}x${trial.threads}`,
    trial.purpose_name, trial.outcome, trial.reason, trial.limit_name, ...trial.changes,
  ].join("\n").toLowerCase();
}

export function sorted(trials: readonly TrialRow[], order: Order): TrialRow[] {
  const sign = order.isDown ? -1 : 1;
  const keyOf: (it: TrialRow) => number | string | null = KEYS[order.key];
  return [...trials].sort((a, b) => {
    const [x, y] = [keyOf(a), keyOf(b)];
    // What is not known comes last, either way.
    if (x === null || y === null) return x === y ? a.id - b.id : x === null ? 1 : -1;
    const by = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
    return by === 0 ? a.id - b.id : sign * by;
  });
}
