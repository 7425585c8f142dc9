// Pages for tests, of every kind that the program makes. Each call gives a fresh value.

import type { ComparePage, Decision, LabResult, MapCell, Predictions, SessionPage,
  TrialPurpose } from "../src/data";
import type { Interval } from "../src/figures";
import { around, round, seeded } from "./random";
import { capacity, limitOf, MEMORY, memory, trial, type Asked } from "./toy";
import { inLanguage } from "../src/language";

const WORKERS = [1, 2, 3, 4];
const THREADS = [1, 2, 3, 5, 8, 16];
const CHOSEN = { workers: 3, threads: 8 };
const TODAY = { workers: 1, threads: 5 };
const MEASURED = new Set(["1x5", "2x5", "2x8", "2x16", "3x5", "3x8", "3x16", "4x8", "4x5"]);
const EQUIVALENT = new Set(["2x16", "3x16", "4x8"]);

function bounds(value: number, share: number): Interval {
  return [round(value * (1 - share)), round(value * (1 + share))];
}

function cell(workers: number, threads: number, random: () => number): MapCell {
  const name = `${workers}x${threads}`;
  const truth = capacity(workers, threads);
  const measured = MEASURED.has(name);
  const predicted = round(truth * around(random, 0.03));
  const isChosen = workers === CHOSEN.workers && threads === CHOSEN.threads;
  const isToday = workers === TODAY.workers && threads === TODAY.threads;
  const common = {
    workers, threads, predicted_rps: predicted, predicted_rps_interval: bounds(predicted, 0.09),
    memory_bytes: memory(workers, threads), is_memory_measured: measured,
    limit: limitOf(workers, threads),
  };
  if (workers === 4 && threads === 16) {
    return { ...common, state: "ruled_out", mark: null, rps: null, rps_interval: null,
      predicted_rps: null, predicted_rps_interval: null, limit: null,
      why: "needs 64 database connections, and the database allows 60" };
  }
  if (!measured) {
    return { ...common, state: "predicted", mark: null, rps: predicted,
      rps_interval: bounds(predicted, 0.09), why: null };
  }
  return {
    ...common,
    state: name === "4x5" ? "at_least" : "measured",
    mark: isChosen ? "chosen" : isToday ? "today" : EQUIVALENT.has(name) ? "equivalent" : null,
    rps: round(truth),
    rps_interval: name === "4x5" ? null : bounds(truth, 0.035),
    why: null,
  };
}

function decision(): Decision {
  const { workers, threads } = CHOSEN;
  const [holds, now] = [capacity(workers, threads), capacity(TODAY.workers, TODAY.threads)];
  return {
    workers, threads,
    capacity_rps: round(holds),
    capacity_rps_interval: bounds(holds, 0.035),
    gain_ratio: round(holds / now),
    gain_ratio_interval: bounds(holds / now, 0.06),
    operating_rps: round(holds * 0.7),
    soak: null,
    precision: null, held: null, goals: [], goals_rps: null,
    latency_at_rps: round(holds * 0.7), latency_s_p95: 0.041,
    limit: {
      kind: "cores", confidence: 0.94,
      evidence: "cores 96 % busy over 40 s, run delay 0.31 of busy time; busiest worker 64 %",
      advice: "More cores hold more; more workers or threads do not.",
    },
    equivalent: [[2, 16], [3, 16], [4, 8]].map(([w, t]) => ({
      workers: w!, threads: t!, ratio: round(capacity(w!, t!) / holds),
      ratio_interval: bounds(capacity(w!, t!) / holds, 0.03), memory_bytes: memory(w!, t!),
      latency_s_p95: w === 4 ? null : 0.04 + 0.001 * t!,
    })),
    settings: {
      start: "bundle exec puma -C config/puma.rb",
      env: { WEB_CONCURRENCY: "3", RAILS_MAX_THREADS: "8", RAILS_ENV: "production" },
      config_snippet: 'workers Integer(ENV.fetch("WEB_CONCURRENCY", 3))\n' +
        'threads_count = Integer(ENV.fetch("RAILS_MAX_THREADS", 8))\n' +
        "threads threads_count, threads_count\npreload_app!",
      place: "config/puma.rb",
      knobs_env: { MALLOC_ARENA_MAX: "2" },
      knobs_lines: [{ place: "config/puma.rb", line: "wait_for_less_busy_worker 0.005" }],
      advice: [
        "Set pool in config/database.yml to 8: each worker opens up to 8 connections, 24 in all.",
        "Health checks: give them 2 s; at the limit a request waits up to 200 ms.",
      ],
    },
    memory_bytes: memory(workers, threads),
    database_connections: 24,
  };
}

/** The order in which a session looks: today, bursts, a search, then blocks of finalists. */
function asked(count: number, seconds: number): Asked[] {
  const settings: [number, number][] =
    [[1, 5], [2, 5], [2, 8], [3, 5], [3, 8], [2, 16], [3, 16], [4, 8], [4, 5]];
  const all: Asked[] = [];
  const add = (at: [number, number], purpose: TrialPurpose, share: number | null) => {
    const id = all.length + 1;
    all.push({
      id, workers: at[0], threads: at[1], purpose, start: Math.ceil(id / 2),
      offered_rps: share === null ? null : round(capacity(at[0], at[1]) * share, 3),
      clients: share === null ? at[0] * at[1] * 2 : null,
      duration_s: seconds, warm_up_s: id % 2 === 1 ? 4 : 1.5,
    });
  };
  add([1, 5], "unloaded", 0.02);
  add([1, 5], "saturate", null);
  for (const at of settings.slice(1, 6)) add(at, "saturate", null);
  for (const at of settings.slice(0, 4)) {
    for (const share of [0.8, 1.06]) add(at, "probe", share);
  }
  for (const share of [0.55, 0.8, 0.92, 1.02, 1.15]) add([3, 8], "probe", share);
  while (all.length < count) {
    for (const at of [[3, 8], [1, 5], [2, 16], [4, 8]] as [number, number][]) {
      if (all.length < count) add(at, "confirm", 0.96 + (all.length % 3) * 0.015);
    }
  }
  return all.slice(0, count);
}

function predictTable(): Predictions {
  const axes = { cores: [1, 2, 4, 8, 16], waits: [0.5, 1, 2, 4],
    workers: [1, 2, 3, 4, 6, 8, 12, 16], threads: [1, 2, 3, 5, 8, 16] };
  const table: Predictions = { ...axes, capacity_rps: [], low_rps: [], high_rps: [],
    memory_bytes: [], limit: [], limit_names: {}, measured_cores: 2,
    doubts: ["The database is taken to answer as fast at any rate.",
      "Caches of the processor are not in the model: many more cores hold a little less."] };
  for (const cores of axes.cores) {
    for (const wait of axes.waits) {
      for (const workers of axes.workers) {
        for (const threads of axes.threads) {
          const byThreads = (workers * threads) / (0.003 + 0.025 * wait);
          const rps = Math.min(byThreads, (workers * 0.93) / 0.003, (cores * 0.92) / 0.003);
          table.capacity_rps.push(round(rps));
          table.low_rps.push(round(rps * 0.9));
          table.high_rps.push(round(rps * 1.1));
          table.memory_bytes.push(memory(workers, threads));
          table.limit.push(rps === byThreads ? "threads" : "cores");
        }
      }
    }
  }
  return table;
}

const NOTE = "Memory is what the processes have of their own and their part of what they share.";

/** A finished session: Puma on two cores, a grid of 4 x 6, with its seconds. */
export function session(count = 30, seconds = 30): SessionPage {
  const random = seeded(8);
  const now = capacity(TODAY.workers, TODAY.threads);
  const chosen = decision();
  const gain = chosen.gain_ratio ?? 1;
  return {
    session: 3,
    started_at: "2026-03-14T09:26:53Z",
    state: "done",
    error: null,
    app: "shop",
    server: "Puma 6.4.2, Ruby 3.3.0",
    has_threads: true,
    slo: "p95<200ms,errors<0.1%",
    limits: [[0.95, 0.2]],
    machine: { text: "2 cores, 4.0 GiB", cores: 2, memory_bytes: 4 * 1024 ** 3 },
    text: inEach(textEn(chosen, now, gain), textJa(chosen, now, gain)),
    current: { ...TODAY, capacity_rps: round(now), capacity_rps_interval: bounds(now, 0.04) },
    decision: chosen,
    map: WORKERS.flatMap((workers) => THREADS.map((threads) => cell(workers, threads, random))),
    memory: MEMORY,
    front: [[1, 5], [2, 16], [3, 8]].map(([w, t]) => ({
      workers: w!, threads: t!, chosen: w === 3, capacity_rps: round(capacity(w!, t!)),
      capacity_rps_interval: bounds(capacity(w!, t!), 0.035), memory_bytes: memory(w!, t!),
      confirmed: true, latency_s_p95: null, cost_per_hour: null, cost_per_million_requests: null,
    })),
    knobs: [
      ["MALLOC_ARENA_MAX=2", "-1 % (-3 % to +2 %)", "-18 % (-21 % to -15 %)", "helps"],
      ["preload_app=false", "0 % (-2 % to +3 %)", "+31 % (+27 % to +35 %)", "hurts"],
    ],
    plan: [
      { what: "app", value: "shop", source: "this folder" },
      { what: "server", value: "puma", source: "Gemfile.lock" },
      { what: "workers", value: "1..4", source: "default" },
      { what: "threads", value: "1,2,3,5,8,16", source: "default" },
      { what: "slo", value: "p95<200ms,errors<0.1%", source: "default" },
      { what: "targets", value: "GET /products, GET /", source: "--target" },
    ],
    warnings: [{ code: "generator_shares_cores", message: "The load generator used 12 % of a core that the app could have used.",
      advice: "Measure with --cpus 1 on this machine, or on a larger one." }],
    notes: [inEach(NOTE, "メモリは、各プロセスだけのものと、共有しているものの分け前です")],
    failures: [],
    trials: asked(count, seconds).map((it) => trial(it, random)),
    predict: predictTable(),
  };
}

function textEn(chosen: Decision, now: number, gain: number) {
  return {
    headline: `Run 3 workers x 8 threads: it holds ${chosen.capacity_rps.toFixed(0)} requests/s ` +
      `within p95<200ms,errors<0.1%, ${gain.toFixed(2)} times what today's 1 x 5 holds.`,
    limit: "cores",
    map_heading: "Map: requests/s within the goal, workers x threads",
    facts: [
      ["today", `1 x 5 holds ${now.toFixed(0)}/s (${(now * 0.96).toFixed(0)} to ${
        (now * 1.04).toFixed(0)})`],
      ["gain", `+${((gain - 1) * 100).toFixed(0)} %: ${gain.toFixed(2)} times as much`],
      ["day to day", `${chosen.operating_rps.toFixed(0)}/s, 70 % of what it holds: the rest is ` +
        "for bursts and bad days"],
      ["memory", "236 MiB of 4.0 GiB"],
      ["database", "up to 24 connections"],
      ["measured", "30 trials in 8 min 18 s, 9 settings"],
    ] as [string, string][],
    ways_out: [],
    method: "Every setting got a fresh start of the server. Requests arrived at random moments, " +
      "and latency counts from when a request was due.\n\nCapacity is the highest rate at which " +
      "the goal is met and the work in flight does not grow, searched by bisection.",
  };
}

function textJa(chosen: Decision, now: number, gain: number) {
  return {
    headline: `ワーカー3 x スレッド8にしてください。p95<200ms,errors<0.1% を満たしたまま ` +
      `${chosen.capacity_rps.toFixed(0)} リクエスト/秒を処理でき、現在の 1 x 5 の ${
        gain.toFixed(2)} 倍です。`,
    limit: "CPU コア",
    map_heading: "マップ: 目標内のリクエスト/秒、ワーカー x スレッド",
    facts: [
      ["現在", `1 x 5 は ${now.toFixed(0)}/s`],
      ["日常の目安", `${chosen.operating_rps.toFixed(0)}/s(容量の70 %)`],
      ["メモリ", "4.0 GiB のうち 236 MiB"],
    ] as [string, string][],
    ways_out: [],
    method: "設定ごとにサーバーを起動し直しました。",
  };
}

type Content = { session: SessionPage } | { compare: ComparePage } | { lab: LabResult };

export function pageOf<Of extends Content>(content: Of) {
  return { format: 2, version: "0.9.0", ...content };
}

/** As large as a session may get: 500 trials of 120 seconds. */
export function big(): SessionPage {
  return session(500, 120);
}

/** What is to be read, as the program hands it over: in each language. */
export function inEach<Text>(en: Text, ja: Text): Text {
  return { en, ja } as unknown as Text;
}

/** Interrupted before it could decide. */
export function unfinished(): SessionPage {
  const whole = session(9, 12);
  return {
    ...whole,
    state: "stopped",
    error: "interrupted after 2 min 12 s",
    decision: null,
    front: [],
    knobs: [],
    predict: null,
    text: inEach(
      { ...inLanguage(whole, "en").text, headline: "Stopped before it could decide.", facts: [],
        ways_out: ["`sweetspot tune` goes on where it stopped."] },
      { ...inLanguage(whole, "ja").text, headline: "結論の前に停止しました。", facts: [],
        ways_out: ["`sweetspot tune` で続きから再開できます。"] },
    ),
    map: whole.map.map((it) => (it.mark === "today" ? it : { ...it, mark: null })),
  };
}

/** No server came up, so nothing was measured. */
export function nothingValid(): SessionPage {
  const whole = session(2, 8);
  return {
    ...whole,
    state: "failed",
    error: "the app did not start with any setting",
    decision: null,
    current: { ...TODAY, capacity_rps: null, capacity_rps_interval: null },
    memory: null, front: [], knobs: [], predict: null, machine: null,
    map: whole.map.slice(0, 6).map((it) => ({ ...it, state: "did_not_start", mark: null, rps: null,
      rps_interval: null, predicted_rps: null, predicted_rps_interval: null, memory_bytes: null,
      is_memory_measured: false, limit: null, why: "never became ready within 60 s" })),
    failures: [["1 x 5: ended with exit code 1", [
      "! Unable to load application: LoadError: cannot load such file -- pg_ext",
      "bundler: failed to load command: puma"]]],
    text: inEach(
      { ...inLanguage(whole, "en").text, headline: "The app did not start.", facts: [],
        ways_out: [] },
      { ...inLanguage(whole, "ja").text, headline: "アプリが起動しませんでした。", facts: [],
        ways_out: [] },
    ),
    trials: whole.trials.map((it) => ({ ...it, valid: false, verdict: "undecided", completed: 0,
      outcome: "did not start", outcome_code: "did_not_start",
      failure: "boot: exit code 1\nLoadError: pg_ext", detail: null, memory_bytes: null })),
  };
}

/** A server whose workers have one thread each: Unicorn, PHP-FPM. */
export function withoutThreads(): SessionPage {
  const whole = session();
  return {
    ...whole,
    has_threads: false,
    server: "Unicorn 6.1.0",
    map: whole.map.filter((it) => it.threads === 5),
    current: { ...TODAY, capacity_rps: 160, capacity_rps_interval: [152, 168] },
    trials: whole.trials.filter((it) => it.threads === 5),
    decision: whole.decision && { ...whole.decision, threads: 5, equivalent: [] },
  };
}
