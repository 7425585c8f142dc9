// A trial opened: its verdict and why, its figures, and its seconds.

import { cpuTable, drawWorkers, processColour, processName, processesOf } from "../charts/cpu";
import { sloLines } from "../charts/latency";
import { BANDS, drawBands, drawFlow, drawQueue, queueRows, secondsTable } from "../charts/seconds";
import type { SessionPage, TrialDetail as Detail, TrialRow } from "../data";
import { bytes, cores, count, latency, percent, span } from "../figures";
import { useWords } from "../view";
import { flowLegend } from "./Charts";
import { SmallFigure, type LegendEntry } from "./Figure";
import { Lines, Outside } from "./Outside";

export function TrialDetail({ trial, session }: { trial: TrialRow; session: SessionPage }) {
  const words = useWords();
  return (
    <div class="trial-detail" data-detail={trial.id}>
      <p class="reason">
        <b class={`verdict ${trial.verdict}`}><Outside text={words.outcome(trial.outcome)} /></b>
        {" "}<Outside text={trial.reason} />
      </p>
      <Figures trial={trial} />
      <p>
        {words.columns.limit}: <b><Outside text={words.limit(trial.limit.kind)} /></b>.{" "}
        <Outside text={trial.limit.evidence} /> <Outside text={trial.limit.advice} />
      </p>
      {trial.failure !== null && <Lines text={trial.failure} label={words.trials.lastLines} />}
      {trial.detail === null
        ? <p class="note">{words.charts.noDetail}</p>
        : <Seconds trial={trial} detail={trial.detail} session={session} />}
    </div>
  );
}

function Figures({ trial }: { trial: TrialRow }) {
  const words = useWords();
  const t = words.trials;
  const { latency_s: l } = trial;
  const quantiles = [["min", l.min], ["p50", l.p50], ["p75", l.p75], ["p90", l.p90],
    ["p95", l.p95], ["p99", l.p99], ["p99.9", l.p999], ["max", l.max]] as const;
  const rows: [string, string][] = [
    [words.columns.duration, `${span(trial.duration_s)}, ${t.warmUp(span(trial.warm_up_s))} (${
      words.warmUps[trial.warm_up_kind]})`],
    [words.columns.replies, `${count(trial.completed)} / ${count(trial.due)}, ${
      words.columns.errors} ${count(trial.errors)} (${percent(trial.errors / (trial.due || 1))})`],
    [words.columns.status, entries(trial.status, (value) => count(value))],
    [words.columns.latency, quantiles.map(([name, s]) => `${name} ${latency(s)}`).join(", ")],
    [t.cpu, entries(trial.cpu_s, (value) => `${value.toFixed(1)} s`)],
    [words.workers, trial.workers_use.map((it) =>
      `${it.index} (${it.pid}): ${cores(it.cpu_cores)}`).join(", ")],
    [words.columns.memory, trial.memory_bytes === null ? "–" : bytes(trial.memory_bytes)],
    [words.columns.state, `${t.start(trial.start)}; ${trial.valid ? t.valid : t.notValid}`],
    [words.columns.changes, trial.changes.join(", ")],
  ];
  return (
    <dl class="figures">
      {rows.filter(([, value]) => value !== "").map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd><Outside text={value} /></dd></div>
      ))}
    </dl>
  );
}

function entries(record: Record<string, number>, format: (value: number) => string): string {
  return Object.entries(record).map(([name, value]) => `${name}: ${format(value)}`).join(", ");
}

function Seconds({ trial, detail, session }: {
  trial: TrialRow;
  detail: Detail;
  session: SessionPage;
}) {
  const words = useWords();
  const t = words.trials;
  return (
    <div class="small-figures">
      <SmallFigure name="flow" title={t.flow} label={words.labels.flow(trial.id)}
        legend={flowLegend(words, detail)}
        draw={(look) => drawFlow(trial, detail, look)} of={[trial]}
        table={() => secondsTable(trial, detail, words)} />
      <SmallFigure name="bands" title={t.bands} label={words.labels.bands(trial.id)} of={[trial]}
        legend={[
          { text: "p50", colour: "var(--ink)", as: "line" },
          ...BANDS.map((band): LegendEntry => ({ text: band.name,
            colour: `color-mix(in srgb, var(--series-1) ${band.opacity * 100}%, transparent)` })),
        ]}
        draw={(look) => drawBands(trial, detail, sloLines(session), look)}
        table={() => secondsTable(trial, detail, words)} />
      <SmallFigure name="workers" title={t.workers} label={words.labels.workers(trial.id)}
        of={[trial]} draw={(look) => drawWorkers(trial, detail, look)}
        legend={processesOf(detail).map((process, place): LegendEntry => ({
          text: `${processName(process, words)} (${process.pid})`,
          colour: processColour(process, place), as: "line",
        }))}
        table={() => cpuTable(trial, detail, words)} />
      <Queue trial={trial} detail={detail} />
    </div>
  );
}

function Queue({ trial, detail }: { trial: TrialRow; detail: Detail }) {
  const words = useWords();
  const rows = queueRows(detail);
  const { backlog } = detail.monitor;
  if (rows.length === 0) {
    return (
      <section class="small-figure">
        <h3>{words.trials.queue}</h3>
        <p class="note">{words.charts.noQueue}</p>
      </section>
    );
  }
  const most = Math.max(1, ...rows.map((row) => row.queue));
  const isFar = backlog !== null && backlog >= most * 4;
  const note = isFar ? words.charts.backlogFar(backlog) : undefined;
  return (
    <SmallFigure name="queue" title={words.trials.queue} label={words.labels.queue(trial.id)}
      of={[trial]} note={note} draw={(look) => drawQueue(trial, detail, look)}
      table={() => cpuTable(trial, detail, words)} />
  );
}
