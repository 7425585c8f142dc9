// Pages beside the session's: a comparison, a published experiment, a list.

import type { ComparedFigure, ComparedSide, ComparePage, FigureKind, LabResult, LabRun, ListRow,
  Machine, Standing } from "../src/data";

const MACHINE: Machine = { cores: 2, memory_bytes: 4 * 1024 ** 3,
  cpu_model: "AMD EPYC 7763", kernel: "6.1.0" };

function side(name: string, session: number, runtime: string): ComparedSide {
  return { name, session, started_at: "2026-03-14T09:26:53Z", ended_at: null, app: "shop",
    server: "puma", runtime, workers: 3, threads: 8, slo: "p95<200ms,errors<0.1%", machine: MACHINE };
}

export function compare(): ComparePage {
  const figure = (name: FigureKind, a: number, ratio: number | null, width: number,
    change: Standing | null): ComparedFigure => ({
    figure: name, a, b: ratio === null ? 0 : a * ratio, ratio,
    ratio_interval: ratio === null ? null
      : [ratio * (1 - width), ratio * (1 + width)],
    change, observations: [6, 6], within_blocks: name === "gain",
  });
  return {
    a: side("3", 3, "ruby 3.3.0"),
    b: side("5", 5, "ruby 3.4.1 +YJIT"),
    change: "better",
    reason: "capacity is 1.14 times as high (1.09 to 1.19)",
    refused: [],
    figures: [
      figure("capacity", 565, 1.14, 0.045, "better"),
      figure("current_capacity", 168, 1.11, 0.05, "better"),
      figure("gain", 3.36, 1.03, 0.06, "equivalent"),
      figure("memory", 2.5e8, 1.21, 0.02, "worse"),
      figure("cpu_per_request", 0.0031, 0.88, 0.03, "better"),
      figure("latency_p95", 0.121, 0.97, 0.08, "undecided"),
      figure("errors", 0, null, 0, null),
    ],
    left_out: ["latency_p99: there is no rate that both were offered"],
    differences: ["runtime: ruby 3.3.0, ruby 3.4.1 +YJIT"],
    figure_names: { current_capacity: "current setting's", cpu_per_request: "CPU per request",
      latency_p95: "p95" },
    notes: ["The starts of A and B were not in turn: a busy hour would look like a change."],
  };
}

export function lab(): LabResult {
  const runs: LabRun[] = [[1, 5, 1], [2, 5, 1], [3, 5, 1], [4, 5, 1], [3, 1, 2], [3, 16, 3]]
    .map(([workers, threads, of]) => {
      const rps = Math.min(610, 170 * workers! * (threads! > 1 ? 1 : 0.3));
      const figures = (factor: number) => ({
        requests: Math.round(rps * 60 * factor), throughput_rps: rps * factor,
        success: factor > 1 ? 1 : 0.998,
        latency_s: { mean: 0.03 / factor, p50: 0.021 / factor, p90: null, p95: 0.11 / factor,
          p99: of === 3 ? null : 0.21 / factor, max: 0.5 / factor },
        cpu_cores: Math.min(1.9, rps * 0.003), memory_bytes: factor > 1 ? 2.2e8 : null,
        status: {}, services_cpu_cores: {}, cpu_share: null, memory_share: null, by_target: [],
      });
      return {
        setting: { target: "GET /products", series: `series ${of}`, workers: workers!,
          threads: threads!, rate_rps: of === 2 ? null : 700, clients: of === 2 ? 64 : null,
          repeat: 1, think_s: 0, env: {} },
        offered_rps: 770,
        measured: of === 3 ? null : figures(1.1),
        published: figures(0.92),
        relative_measured: of === 3 ? null : rps / 170,
        relative_published: rps / 170,
        failure: of === 3 ? "ended with exit code 137: out of memory" : null,
        blocks: {}, warnings: [],
      };
    });
  return {
    lab: "rails-puma", title: "Puma's workers and threads on a Rails app",
    source: "https://example.org/puma-tuning", is_quick: true, machine: MACHINE,
    published_machine: "t3.medium: 2 vCPUs, 4 GiB", scale: 1.1,
    rule: "As many workers as cores, five threads each.", runs,
    conclusions: [
      { says: "More workers than cores hold no more.", holds: "yes", evidence: [
        { what: "4 x 5 to 3 x 5", value: 1.01, interval: [0.97, 1.05], published: 1.0,
          at_least: null, at_most: 1.1, holds: "yes" }] },
      { says: "Sixteen threads make it worse.", holds: "undecided", evidence: [
        { what: "3 x 16 to 3 x 5", value: null, interval: null, published: 0.91,
          at_least: null, at_most: 0.97, holds: "undecided" }] },
    ],
    warnings: [],
  };
}

export function rows(): ListRow[] {
  return [
    { id: 5, started_at: "2026-03-15T10:00:00Z", app: "shop", server: "puma", state: "running",
      is_alive: true, decision: null },
    { id: 4, started_at: "2026-03-14T20:00:00Z", app: "shop", server: "puma", state: "running",
      is_alive: false, decision: null },
    { id: 3, started_at: "2026-03-14T09:26:53Z", app: "shop", server: "puma", state: "done",
      is_alive: false, decision: "3 x 8, 565/s" },
  ];
}
