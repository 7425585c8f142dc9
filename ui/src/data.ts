// What the program hands to the page: the same values that the other reports are made from. Made by
// `src/report/html/` and `src/serve/`; this file and those change together.
//
// Base units everywhere: seconds, bytes, requests/s, cores. Names ending in `_interval` are 95 %
// intervals. A list of seconds has one entry a second, oldest first, warm-up included. What is to be
// read comes in each language, as `{en, ja}`; it stands here as it is shown, in one (`language.ts`).

export type Interval = [number, number];
export type Language = "en" | "ja";

/** Everything that one page shows; which part is there says which page it is. */
export interface Page {
  /** Of this description; a page refuses others. */
  format: 1;
  /** Of the program. */
  version: string;
  session?: SessionPage;
  compare?: ComparePage;
  lab?: LabPage;
}

/** Sentences are the program's, in both languages; what they are about is not said twice here. */
export interface SessionText {
  headline: string;
  /** What, sentence. */
  facts: [string, string][];
  ways_out: string[];
  method: string;
}

export type State = "running" | "done" | "stopped" | "failed";
export type Verdict = "yes" | "no" | "undecided";

export interface SessionPage {
  /** Its number in the store. */
  session: number | null;
  started_at: string | null;
  state: State;
  error: string | null;
  app: string;
  server: string;
  /** False: workers have one thread each, and nothing is said of threads. */
  has_threads: boolean;
  /** As in `p95<200ms,errors<0.1%`; empty while it is not settled. */
  slo: string;
  /** The SLO's latency limits, as in [0.95, 0.2]. */
  limits: [number, number][];
  machine: { text: string; cores: number; memory_bytes: number } | null;
  text: SessionText;
  current: Current | null;
  decision: Decision | null;
  map: MapCell[];
  /** What memory is made of: shared + workers x (worker + threads x thread). */
  memory: { shared_bytes: number; worker_bytes: number; thread_bytes: number } | null;
  /** Settings that no other beats in capacity and memory: what `objective` of the JSON says. */
  front: FrontRow[];
  knobs: KnobRow[];
  plan: { what: string; value: string; source: string }[];
  warnings: { text: string; advice: string }[];
  notes: string[];
  /** A server that did not start, or ended: who and what, and its own last lines. */
  failures: { what: string; last_lines: string[] }[];
  trials: Trial[];
  elapsed_s: number;
  load_s: number;
  predict: PredictTable | null;
}

export interface Current {
  workers: number;
  threads: number;
  capacity_rps: number | null;
  capacity_rps_interval: Interval | null;
}

export interface Decision {
  workers: number;
  threads: number;
  capacity_rps: number;
  capacity_rps_interval: Interval;
  gain_ratio: number | null;
  gain_ratio_interval: Interval | null;
  operating_rps: number;
  limit: Limit;
  equivalent: {
    workers: number;
    threads: number;
    ratio: number;
    ratio_interval: Interval;
    memory_bytes: number | null;
  }[];
  settings: Settings;
  memory_bytes: number | null;
  database_connections: number;
}

/** The setting as the server spells it. */
export interface Settings {
  /** Empty: as it is started today. */
  start: string;
  env: Record<string, string>;
  config_snippet: string;
  /** Where the snippet goes when that is not the server's configuration file. */
  place?: string;
  knobs_env?: Record<string, string>;
  knobs_lines?: { place: string; line: string }[];
  advice: string[];
}

export interface Limit {
  kind: string;
  confidence: number;
  evidence: string;
  advice: string;
}

export type CellState =
  | "measured"
  /** This rate held, and none higher was tried. */
  | "at_least"
  /** Not even this rate, the lowest tried, held. */
  | "below"
  | "predicted"
  | "ruled_out"
  | "did_not_start"
  | "unknown";

export interface MapCell {
  workers: number;
  threads: number;
  state: CellState;
  mark: "chosen" | "today" | "equivalent" | null;
  /** What the cell shows; null where nothing is known. */
  rps: number | null;
  /** Of `rps`, where it is known. */
  rps_interval: Interval | null;
  /** The model's, also where it was measured. */
  predicted_rps: number | null;
  predicted_rps_interval: Interval | null;
  memory_bytes: number | null;
  is_memory_measured: boolean;
  /** Why it can't be run. */
  why: string | null;
  /** The limit that is predicted or was seen. */
  limit: string | null;
}

export interface FrontRow {
  workers: number;
  threads: number;
  is_chosen: boolean;
  capacity_rps: number;
  capacity_rps_interval: Interval;
  memory_bytes: number | null;
}

/** A change of a knob, beside the choice without it, in words. */
export interface KnobRow {
  change: string;
  capacity: string;
  memory: string;
  verdict: string;
}

export interface Trial {
  id: number;
  workers: number;
  threads: number;
  changes: string[];
  purpose: "unloaded" | "saturate" | "probe" | "confirm" | "screen";
  start: number;
  /** Null when closed. */
  offered_rps: number | null;
  /** Null when open. */
  clients: number | null;
  /** In words: `held`, `did not hold`, `measured`, `undecided`, `not valid`, `server ended`, … */
  outcome: string;
  verdict: Verdict;
  reason: string;
  valid: boolean;
  warm_up_kind: "flat" | "warmed" | "slowing" | "not_steady";
  warm_up_s: number;
  duration_s: number;
  throughput_rps: number;
  due: number;
  completed: number;
  errors: number;
  /** Replies by status code. */
  status: Record<string, number>;
  latency_s: {
    min: number;
    mean: number;
    p50: number;
    p75: number;
    p90: number;
    p95: number;
    p99: number;
    p999: number;
    max: number;
  };
  memory_bytes: number | null;
  limit: Limit;
  cpu_s: Record<string, number>;
  workers_use: { index: number; pid: number; cpu_cores: number }[];
  failure: string | null;
  load_s: number;
  ended_s: number;
  /** Null where the raw records are not at hand. */
  detail: TrialDetail | null;
}

/** The seconds of a trial, a list a figure. */
export interface TrialDetail {
  /** Of the requests due in each second. */
  due: number[];
  sent: number[];
  answered: number[];
  errors: number[];
  p50_s: number[];
  p95_s: number[];
  p99_s: number[];
  max_s: number[];
  in_flight: number[];
  monitor: {
    /** Start of each, from the start of the load. */
    at_s: number[];
    /** Connections that wait to be accepted; null where that could not be seen. */
    queue: (number | null)[];
    backlog: number | null;
    /** Busy cores of the machine, generator included. */
    busy_cores: number[];
    steal_cores: number[];
    throttled_cores: number[];
    /** Each process of the server: busy cores. */
    processes: {
      pid: number;
      role: "master" | "worker" | "other";
      index: number | null;
      name: string;
      cores: number[];
    }[];
  };
  /** The latency spectrum of the measured part: [quantile, seconds], ascending, ends at 1. */
  spectrum: [number, number][];
}

/** The program's predictions over the page's sliders: index ((core * waits + wait) * workers +
 * worker) * threads + thread. */
export interface PredictTable {
  cores: number[];
  /** What a request waits, in relation to what was measured. */
  waits: number[];
  workers: number[];
  threads: number[];
  capacity_rps: (number | null)[];
  low_rps: (number | null)[];
  high_rps: (number | null)[];
  memory_bytes: (number | null)[];
  limit: (string | null)[];
  measured_cores: number;
  /** What the prediction can't know, a sentence each. */
  doubts: string[];
}

/** As `compare --json` prints it. */
export interface ComparePage {
  a: ComparedSide;
  b: ComparedSide;
  change: "better" | "worse" | "equivalent" | "undecided" | null;
  reason: string;
  refused: string[];
  figures: {
    figure: string;
    a: number;
    b: number;
    ratio: number | null;
    ratio_interval: Interval | null;
    change: "better" | "worse" | "equivalent" | "undecided" | null;
    observations: [number, number];
    within_blocks: boolean;
  }[];
  left_out: string[];
  differences: string[];
  notes: string[];
}

export interface ComparedSide {
  name: string;
  session: number | null;
  started_at: string | null;
  app: string | null;
  server: string | null;
  runtime: string | null;
  workers: number | null;
  threads: number | null;
  slo: string | null;
  machine: { cores: number; memory_bytes: number; cpu_model: string; kernel: string } | null;
}

/** As `lab run --json` prints it (src/terms/lab.rs). */
export interface LabPage {
  lab: string;
  title: string;
  source: string;
  is_quick: boolean;
  machine: ComparedSide["machine"];
  published_machine: string;
  scale: number | null;
  rule: string;
  runs: LabRun[];
  conclusions: {
    says: string;
    holds: "yes" | "no" | "undecided";
    evidence: {
      what: string;
      value: number | null;
      interval: Interval | null;
      published: number | null;
      at_least: number | null;
      at_most: number | null;
      holds: "yes" | "no" | "undecided";
    }[];
  }[];
  warnings: { message: string; advice: string }[];
}

export interface LabRun {
  setting: {
    target: string;
    series: string;
    workers: number;
    threads: number;
    rate_rps: number | null;
    clients: number | null;
    repeat: number;
  };
  offered_rps: number | null;
  measured: LabFigures | null;
  published: LabFigures | null;
  relative_measured: number | null;
  relative_published: number | null;
  failure: string | null;
}

export interface LabFigures {
  requests: number | null;
  throughput_rps: number | null;
  success: number | null;
  latency_s: Partial<Record<"mean" | "p50" | "p90" | "p95" | "p99" | "max", number | null>>;
  cpu_cores: number | null;
  memory_bytes: number | null;
}

// ---- under `serve`: all addresses are relative to the page's own --------------------------------

/** GET api/sessions: newest first. */
export interface SessionRow {
  id: number;
  started_at: string;
  app: string;
  server: string;
  state: State;
  /** True while the program that writes it lives. */
  is_alive: boolean;
  /** `3 x 5, 412/s`; null without a decision. */
  decision: string | null;
}

// GET api/sessions/ID                -> Page
// GET api/compare?a=ID&b=ID          -> Page
// GET api/predict?session=ID&cores=4&wait=1.5&workers=1,2,3&threads=1,5 -> PredictTable
// An error has a status of 4xx or 5xx and this body:
export interface Failure {
  error: string;
}

/** GET api/sessions/ID/live: server-sent events while it runs, each with one of these as data.
 * `session`: all but the trials, whenever anything but a trial changed; `trial`: a finished one;
 * `running`: a trial began (null: none runs); `second`: one second of the running one;
 * `sessions`: the list changed. */
export interface LiveMessages {
  session: Omit<SessionPage, "trials">;
  trial: Trial;
  running: Running | null;
  second: LiveSecond;
  sessions: SessionRow[];
}

export interface Running {
  id: number;
  workers: number;
  threads: number;
  purpose: Trial["purpose"];
  offered_rps: number | null;
  clients: number | null;
  duration_s: number;
  /** What the session expects still to need. */
  left_s: number | null;
}

export interface LiveSecond {
  at_s: number;
  phase: "warm_up" | "measure" | "drain";
  due: number;
  sent: number;
  replies: number;
  errors: number;
  in_flight: number;
  p95_s: number | null;
}
