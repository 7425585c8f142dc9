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

export type SortKey =
  | "id" | "setting" | "purpose" | "offered" | "outcome" | "throughput" | "p50" | "p95" | "p99"
  | "errors" | "memory" | "limit";

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
  return [...trials].sort((a, b) => {
    const [x, y] = [keyOf(a, order.key), keyOf(b, order.key)];
    // What is not known comes last, either way.
    if (x === null || y === null) return x === y ? a.id - b.id : x === null ? 1 : -1;
    const by = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
    return by === 0 ? a.id - b.id : sign * by;
  });
}

function keyOf(trial: TrialRow, key: SortKey): number | string | null {
  switch (key) {
    case "id":
      return trial.id;
    case "setting":
      return trial.workers * 100_000 + trial.threads;
    case "purpose":
      return trial.purpose_name;
    case "offered":
      return trial.offered_rps ?? trial.clients;
    case "outcome":
      return trial.outcome;
    case "throughput":
      return trial.throughput_rps;
    case "errors":
      return trial.due === 0 ? 0 : trial.errors / trial.due;
    case "memory":
      return trial.memory_bytes;
    case "limit":
      return trial.limit_name;
    default:
      return trial.latency_s[key];
  }
}
