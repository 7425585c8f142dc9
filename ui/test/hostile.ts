// Values from outside as bad as they come, one for each place on the pages where any is shown.

import type { ComparePage, FigureKind, LabResult, LimitKind, ListRow, SessionPage } from "../src/data";
import { session } from "./fixture";
import { compare, lab, rows } from "./others";
import { inLanguage } from "../src/language";

/** Ends a script, makes an image, quotes, turns text around and doesn't turn it back. */
export function hostile(sink: string): string {
  return `${sink}!</script><img src=x onerror="window.pwned='${sink}'">"'\`&lt;\u202edlrow😀`;
}

export const SESSION_SINKS = [
  "app", "server", "slo", "machine", "error", "fact", "fact-sentence", "way-out", "limit-kind",
  "limit-evidence", "limit-advice", "env-name", "env-value", "snippet", "place", "start",
  "knob-env-name", "knob-env-value", "knob-line-place", "knob-line", "settings-advice",
  "cell-why", "cell-limit", "knob-change", "knob-capacity", "knob-memory", "knob-verdict",
  "plan-what", "plan-value", "plan-source", "warning", "warning-advice", "note",
  "failure-what", "failure-line", "trial-reason", "trial-outcome", "trial-change",
  "trial-limit-kind", "trial-limit-evidence", "trial-limit-advice", "trial-failure",
  "trial-status", "trial-cpu-role", "process-name", "predict-limit", "predict-doubt",
] as const;

export function hostileSession(): SessionPage {
  const whole = session(4, 4);
  const decision = whole.decision!;
  const predict = whole.predict!;
  const limit = (of: string) => ({
    kind: "cores" as const, confidence: 0.9, evidence: hostile(`${of}-evidence`),
    advice: hostile(`${of}-advice`),
  });
  const text = { ...inLanguage(whole, "en").text, limit: hostile("limit-kind"),
    map_heading: "Map", facts: [[hostile("fact"), hostile("fact-sentence")]] as
    [string, string][], ways_out: [hostile("way-out")] };
  return {
    ...whole,
    app: hostile("app"), server: hostile("server"), slo: hostile("slo"), error: hostile("error"),
    machine: { ...whole.machine!, text: hostile("machine") },
    text,
    decision: { ...decision, limit: limit("limit"), settings: {
      start: hostile("start"), env: { [hostile("env-name")]: hostile("env-value") },
      config_snippet: hostile("snippet"), place: hostile("place"),
      knobs_env: { [hostile("knob-env-name")]: hostile("knob-env-value") },
      knobs_lines: [{ place: hostile("knob-line-place"), line: hostile("knob-line") }],
      advice: [hostile("settings-advice")],
    } },
    map: whole.map.map((cell) => ({ ...cell, limit: hostile("cell-limit"),
      why: cell.state === "ruled_out" ? hostile("cell-why") : null })),
    knobs: [[hostile("knob-change"), hostile("knob-capacity"), hostile("knob-memory"),
      hostile("knob-verdict")]],
    plan: [{ what: hostile("plan-what"), value: hostile("plan-value"),
      source: hostile("plan-source") }],
    warnings: [{ code: "noise", message: hostile("warning"), advice: hostile("warning-advice") }],
    notes: [hostile("note")],
    failures: [[hostile("failure-what"), [hostile("failure-line")]]],
    trials: whole.trials.map((trial) => ({
      ...trial,
      reason: hostile("trial-reason"), outcome: hostile("trial-outcome"),
      changes: trial.id === 4 ? [hostile("trial-change")] : [], limit: limit("trial-limit"),
      limit_name: hostile("trial-limit-kind"),
      failure: hostile("trial-failure"), status: { [hostile("trial-status")]: 5 },
      cpu_s: { [hostile("trial-cpu-role")]: 5 },
      detail: trial.detail && { ...trial.detail, monitor: { ...trial.detail.monitor,
        processes: trial.detail.monitor.processes.map((it) => ({ ...it, role: "other" as const,
          name: hostile("process-name") })) } },
    })),
    predict: { ...predict, limit: predict.limit.map(() => hostile("predict-limit") as LimitKind),
      doubts: [hostile("predict-doubt")] },
  };
}

export const COMPARE_SINKS = ["name-a", "name-b", "started", "app", "server", "runtime", "slo",
  "cpu-model", "kernel", "reason", "refused", "figure", "left-out", "difference", "note"] as const;

export function hostileCompare(): ComparePage {
  const whole = compare();
  const side = (name: string) => ({
    ...whole.a, name: hostile(name), started_at: hostile("started"), app: hostile("app"),
    server: hostile("server"), runtime: hostile("runtime"), slo: hostile("slo"),
    machine: { ...whole.a.machine!, cpu_model: hostile("cpu-model"), kernel: hostile("kernel") },
  });
  return {
    ...whole, a: side("name-a"), b: side("name-b"), reason: hostile("reason"),
    refused: [hostile("refused")], left_out: [hostile("left-out")],
    differences: [hostile("difference")], notes: [hostile("note")],
    figures: [{ ...whole.figures[0]!, figure: hostile("figure") as FigureKind }],
  };
}

export const LAB_SINKS = ["lab", "title", "source", "published-machine", "rule", "target",
  "series", "failure", "says", "what", "warning", "warning-advice"] as const;

export function hostileLab(): LabResult {
  const whole = lab();
  return {
    ...whole, lab: hostile("lab"), title: hostile("title"), source: hostile("source"),
    published_machine: hostile("published-machine"), rule: hostile("rule"),
    runs: whole.runs.map((run) => ({ ...run, failure: hostile("failure"),
      setting: { ...run.setting, target: hostile("target"), series: hostile("series") } })),
    conclusions: whole.conclusions.map((it) => ({ ...it, says: hostile("says"),
      evidence: it.evidence.map((row) => ({ ...row, what: hostile("what") })) })),
    warnings: [{ code: "noise", message: hostile("warning"), advice: hostile("warning-advice") }],
  };
}

export const LIST_SINKS = ["list-app", "list-server", "list-decision", "list-started"] as const;

export function hostileRows(): ListRow[] {
  return rows().map((row) => ({ ...row, app: hostile("list-app"), server: hostile("list-server"),
    decision: hostile("list-decision"), started_at: hostile("list-started") }));
}
