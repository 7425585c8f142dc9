// Which prediction to show: from the program's table, or asked of the program where one answers.

import { useEffect, useState } from "preact/hooks";

import * as api from "./api";
import { lookUp, type Where } from "./charts/predict";
import type { Predictions } from "./data";
import { distinct } from "./figures";

export interface Answer {
  table: Predictions;
  /** The values that the table was asked for; the sliders may be ahead of them. */
  at: Where;
  isAsking: boolean;
  problem: string | null;
}

/** The stops of a slider: the table's own, or all between them where the program can be asked. */
export function stops(values: readonly number[], step: number | null): number[] {
  if (step === null || values.length === 0) return [...values];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const between = Array.from({ length: Math.round((high - low) / step) + 1 },
    (_, i) => Number((low + i * step).toFixed(6)));
  return distinct([...between, ...values]);
}

/** The table that has `where`: `known`, or one that is asked for, if `session` names one that a
 * program answers for. */
export function usePrediction(known: Predictions, where: Where, session: number | null): Answer {
  const [asked, setAsked] = useState<Answer>({ table: known, at: where, isAsking: false,
    problem: null });
  const isKnown = lookUp(known, where) !== null;
  useEffect(() => {
    if (isKnown || session === null) return undefined;
    // A slider that moves on makes the last question pointless.
    const wanted = {
      cores: where.cores,
      wait: where.wait,
      workers: distinct([...known.workers, where.workers]),
      threads: distinct([...known.threads, where.threads]),
    };
    setAsked((before) => ({ ...before, isAsking: true, problem: null }));
    return api.ask((signal) => api.predict(session, wanted, signal),
      (table) => setAsked({ table, at: where, isAsking: false, problem: null }),
      (problem) => setAsked((before) => ({ ...before, isAsking: false, problem })));
  }, [isKnown, session, known, where.cores, where.wait, where.workers, where.threads]);
  return isKnown ? { table: known, at: where, isAsking: false, problem: null } : asked;
}
