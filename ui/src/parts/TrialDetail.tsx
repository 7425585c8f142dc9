// A trial opened: its verdict and why, its figures, and its seconds.

import { cpuTable, drawWorkers, processColour, processName, processesOf } from "../charts/cpu";
import { sloLines } from "../charts/latency";
import { BANDS, drawBands, drawFlow, drawQueue, queueRows, secondsTable } from "../charts/seconds";
import type { SessionPage, TrialDetail as Detail, TrialRow } from "../data";
import { bytes, cores, count, latency, percent, span } from "../figures";
import { useWords } from "../view";
import { fill } from "../words";
import { flowLegend } from "./Charts";
import { SmallFigure, type LegendEntry } from "./Figure";
import { Lines, Outside, Pairs } from "./Outside";

export function TrialDetail({ trial, session }: { trial: TrialRow; session: SessionPage }) {
  const words = useWords();
  return (
    <div class="trial-detail" data-detail={trial.id}>
      <p class="reason">
        <b class={`verdict ${trial.verdict}`}><Outside text={trial.outcome} /></b>
        {" "}<Outside text={trial.reason} />
      </p>
      <Figures trial={trial} />
      <p>
        {words.limit}: <b><Outside text={trial.limit_name} /></b>.{" "}
        <Outside text={trial.limit.evidence} /> <Outside text={trial.limit.advice} />
      </p>
      {trial.failure !== null && <Lines text={trial.failure} label={words.last_lines} />}
      {trial.detail === null
        ? <p class="note">{words.no_detail}</p>
        : <Seconds trial={trial} detail={trial.detail} session={session} />}
    </div>
  );
}

function Figures({ trial }: { trial: TrialRow }) {
  const words = useWords();
  const { latency_s: l } = trial;
  const quantiles = [["min", l.min], ["p50", l.p50], ["p75", l.p75], ["p90", l.p90],
    ["p95", l.p95], ["p99", l.p99], ["p99.9", l.p999], ["max", l.max]] as const;
  const warmUp = fill(words.warm_up_of, { time: span(trial.warm_up_s) });
  const rows: [string, string][] = [
    [words.duration, `${span(trial.duration_s)}, ${warmUp} (${
      words[`warm_up_${trial.warm_up_kind}` as const]})`],
    [words.answered, `${count(trial.completed)} / ${count(trial.due)}, ${
      words.errors} ${count(trial.errors)} (${percent(trial.errors / (trial.due || 1))})`],
    [words.status, entries(trial.status, (value) => count(value))],
    [words.latencies, quantiles.map(([name, s]) => `${name} ${latency(s)}`).join(", ")],
    [words.cpu_time, entries(trial.cpu_s, (value) => `${value.toFixed(1)} s`)],
    [words.workers, trial.workers_use.map((it) =>
      `${it.index} (${it.pid}): ${cores(it.cpu_cores)}`).join(", ")],
    [words.memory, trial.memory_bytes === null ? "–" : bytes(trial.memory_bytes)],
    [words.state, `${fill(words.start_id, { number: trial.start })}; ${
      trial.valid ? words.valid : words.not_valid}`],
    [words.changes, trial.changes.join(", ")],
  ];
  return <Pairs class="figures" rows={rows.filter(([, value]) => value !== "")} />;
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
  const of = { trial: trial.id };
  const processes = processesOf(detail);
  return (
    <div class="small-figures">
      <SmallFigure name="flow" title={words.requests} label={fill(words.flow_label, of)}
        legend={flowLegend(words, detail)}
        draw={(look) => drawFlow(trial, detail, look)} of={[trial]}
        table={() => secondsTable(trial, detail, words)} />
      <SmallFigure name="bands" title={words.latencies} of={[trial]}
        label={fill(words.bands_label, of)}
        legend={[
          { text: "p50", colour: "var(--ink)", as: "line" },
          ...BANDS.map((band): LegendEntry => ({ text: band.name,
            colour: `color-mix(in srgb, var(--series-1) ${band.opacity * 100}%, transparent)` })),
        ]}
        draw={(look) => drawBands(trial, detail, sloLines(session), look)}
        table={() => secondsTable(trial, detail, words)} />
      <SmallFigure name="workers" title={words.process_cpu}
        label={fill(words.cpu_label, { ...of, processes: processes.length })}
        of={[trial]} draw={(look) => drawWorkers(trial, detail, look)}
        legend={processes.map((process, place): LegendEntry => ({
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
        <h3>{words.listen_queue}</h3>
        <p class="note">{words.no_queue}</p>
      </section>
    );
  }
  const most = Math.max(1, ...rows.map((row) => row.queue));
  const isFar = backlog !== null && backlog >= most * 4;
  const note = isFar ? fill(words.backlog_far, { size: backlog }) : undefined;
  return (
    <SmallFigure name="queue" title={words.listen_queue}
      label={fill(words.queue_label, { trial: trial.id })} of={[trial]} note={note}
      draw={(look) => drawQueue(trial, detail, look)}
      table={() => cpuTable(trial, detail, words)} />
  );
}
