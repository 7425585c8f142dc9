// A toy server for fixtures: Puma on two cores, requests of 3 ms CPU and 25 ms of waiting. Only as
// true as a picture needs.

import type { LatencySummary, LimitKind, TrialDetail, TrialPurpose, TrialRow } from "../src/data";
import { around, round, type Random } from "./random";

const CPU_S = 0.003;
const WAIT_S = 0.025;
const CORES = 2;

export const MEMORY = { shared_bytes: 61e6, worker_bytes: 48e6, thread_bytes: 1.9e6,
  shared_bytes_interval: null, worker_bytes_interval: null, thread_bytes_interval: null };

export function capacity(workers: number, threads: number): number {
  const byThreads = (workers * threads) / (CPU_S + WAIT_S);
  const byGvl = (workers * 0.93) / CPU_S;
  const byCores = (CORES * 0.92) / CPU_S / (1 + 0.02 * workers);
  // Smooth, so that the curve bends as measured ones do.
  return [byThreads, byGvl, byCores].reduce((sum, it) => sum + it ** -6, 0) ** (-1 / 6);
}

export function memory(workers: number, threads: number): number {
  const { shared_bytes, worker_bytes, thread_bytes } = MEMORY;
  return Math.round(shared_bytes + workers * (worker_bytes + threads * thread_bytes));
}

export function limitOf(workers: number, threads: number): LimitKind {
  const perThread = (workers * threads) / (CPU_S + WAIT_S);
  if (perThread < 0.93 * Math.min((workers * 0.93) / CPU_S, (CORES * 0.92) / CPU_S)) {
    return "threads";
  }
  return workers < CORES ? "gvl" : "cores";
}

export interface Asked {
  id: number;
  workers: number;
  threads: number;
  purpose: TrialPurpose;
  start: number;
  offered_rps: number | null;
  clients: number | null;
  duration_s: number;
  warm_up_s: number;
}

/** Latency quantiles at a load: long tails that grow as the load nears what is held. */
function quantiles(load: number, holds: number) {
  const busy = Math.min(load / holds, 1.25);
  const service = CPU_S + WAIT_S;
  const wait = busy < 1 ? 0.004 / (1.04 - busy) : 0.15 + (busy - 1) * 4;
  const at = (share: number) => round(service + wait * -Math.log(1 - share), 4);
  return {
    min: round(service * 0.8), mean: round(service + wait), p50: at(0.5), p75: at(0.75),
    p90: at(0.9), p95: at(0.95), p99: at(0.99), p999: at(0.999), max: at(0.9999),
  };
}

export function trial(asked: Asked, random: Random, hasDetail = true): TrialRow {
  const { workers, threads, duration_s } = asked;
  const holds = capacity(workers, threads);
  const load = asked.offered_rps ?? holds * 1.02;
  const through = Math.min(load, holds * 1.02);
  const due = Math.round(load * duration_s);
  const isOver = asked.offered_rps !== null && load > holds;
  const errors = isOver && load > holds * 1.1 ? Math.round(due * 0.012) : 0;
  const latency_s = quantiles(load, holds);
  const isAsked = asked.purpose === "probe" || asked.purpose === "confirm";
  const cpu = through * CPU_S;
  return {
    ...asked,
    changes: [],
    purpose_name: asked.purpose,
    outcome: !isAsked ? "measured" : isOver ? "did not hold" : "held",
    outcome_code: !isAsked ? "measured" : isOver ? "did_not_hold" : "held",
    verdict: isOver ? "no" : "yes",
    reason: isOver
      ? `${(latency_s.p95 * 1e3).toFixed(0)} ms at p95: more than 200 ms, beyond chance`
      : "the goal is met, and the work in flight does not grow",
    valid: true,
    warm_up_kind: asked.warm_up_s > 0 ? "warmed" : "flat",
    throughput_rps: round(through),
    due,
    completed: due - errors,
    errors,
    status: errors > 0 ? { "200": due - errors, "503": errors } : { "200": due },
    latency_s,
    memory_bytes: memory(workers, threads),
    limit: {
      kind: limitOf(workers, threads), confidence: 0.86,
      evidence: `cores ${Math.round((cpu / CORES) * 100)} % busy, busiest worker ${
        Math.round((cpu / workers) * 100)} %`,
      advice: "",
    },
    limit_name: limitOf(workers, threads),
    cpu_s: { master: round(0.01 * duration_s), worker: round(cpu * duration_s),
      generator: round(0.12 * duration_s) },
    workers_use: Array.from({ length: workers }, (_, index) => ({
      index, pid: 4000 + asked.start * 20 + index, cpu_cores: round(cpu / workers),
      run_delay_cores: 0, memory_bytes: null,
    })),
    failure: null,
    detail: hasDetail ? detail(asked, load, through, latency_s, random) : null,
  };
}

function detail(
  asked: Asked,
  load: number,
  through: number,
  latency_s: LatencySummary,
  random: Random,
): TrialDetail {
  const n = asked.duration_s;
  const list = (of: (second: number) => number) => Array.from({ length: n }, (_, i) => of(i));
  const cold = (second: number) => (second < asked.warm_up_s ? 1.7 - second * 0.1 : 1);
  const noisy = (value: number) => list((i) => round(value * cold(i) * around(random, 0.12)));
  const due = list(() => Math.max(1, Math.round(load * around(random, 0.15))));
  const isOver = load > through * 1.005;
  return {
    due,
    sent: due.map((value) => value),
    answered: due.map((value) => Math.round(Math.min(value, through * around(random, 0.05)))),
    errors: list((i) => (isOver && i > 4 ? Math.round(load * 0.012) : 0)),
    p50_s: noisy(latency_s.p50),
    p95_s: noisy(latency_s.p95),
    p99_s: noisy(latency_s.p99),
    max_s: noisy(latency_s.p99).map((value) => round(value * (1.2 + random()))),
    in_flight: list((i) => Math.round(load * latency_s.mean + (isOver ? i * 3 : 0))),
    monitor: monitor(asked, through, isOver, random),
    spectrum: [0, 0.25, 0.5, 0.75, 0.875, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1]
      .map((share) => [share, round(latency_s.min -
        Math.log(Math.max(1e-5, 1 - share)) * (latency_s.p95 - latency_s.min) / 3)]),
  };
}

function monitor(asked: Asked, through: number, isOver: boolean, random: Random) {
  const n = asked.duration_s;
  const at_s = Array.from({ length: n }, (_, i) => i);
  const each = (through * CPU_S) / asked.workers;
  const processes: TrialDetail["monitor"]["processes"] = [
    { pid: 3900 + asked.start, role: "master", index: null, name: "puma: master",
      cores: at_s.map(() => round(0.01 * around(random, 0.3), 3)) },
  ];
  for (let index = 0; index < asked.workers; index += 1) {
    processes.push({ pid: 4000 + asked.start * 20 + index, role: "worker", index,
      name: `puma: cluster worker ${index}`,
      cores: at_s.map(() => round(Math.min(1, each * around(random, 0.15)), 3)) });
  }
  return {
    at_s,
    queue: at_s.map((i) =>
      Math.round(isOver ? i * 2.5 * around(random, 0.3) : random() * 2)),
    backlog: 1024,
    busy_cores: at_s.map(() =>
      round(Math.min(CORES, through * CPU_S + 0.15) * around(random, 0.04), 3)),
    steal_cores: at_s.map(() => round(random() * 0.02, 2)),
    throttled_cores: at_s.map(() => 0),
    processes,
  };
}
