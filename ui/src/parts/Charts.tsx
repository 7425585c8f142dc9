// The charts of a whole session, below its map.

import { useState } from "preact/hooks";

import { capacityRows, capacityTable, drawCapacity, threadCounts } from "../charts/capacity";
import { series } from "../charts/common";
import { cpuTable, drawCpu, processColour, processName, processesOf } from "../charts/cpu";
import { drawLatency, latencySettings, latencyTable, QUANTILE_COLOURS, QUANTILES, trialsOf } from
  "../charts/latency";
import { drawMemory, memoryRows, memoryTable, PART_COLOURS, PARTS } from "../charts/memory";
import { drawFlow, FLOW_COLOURS, flowRows, FLOWS, secondsTable } from "../charts/seconds";
import { drawSpectrum, lastOf, SIDE_COLOURS, sideName, spectrumTable, spectrumTrials,
  type Side } from "../charts/spectrum";
import type { SessionPage, TrialDetail, TrialRow } from "../data";
import { bytes } from "../figures";
import { isolated } from "../outside";
import { nameOf } from "../setting";
import { useWords } from "../view";
import { fill, type Words } from "../words";
import { Choice } from "./Choice";
import { Figure, SmallFigure, type LegendEntry } from "./Figure";

interface Props {
  session: SessionPage;
}

export function CapacityFigure({ session }: Props) {
  const words = useWords();
  const points = capacityRows(session).filter((row) => row.kind !== "predicted").length;
  const counts = threadCounts(session);
  if (capacityRows(session).length === 0) return null;
  const symbols = ["●", "▲", "■", "◆", "★", "✚"];
  const legend = counts.map((count, i): LegendEntry => ({
    text: `x ${count}`, colour: series(i), as: "symbol", symbol: symbols[i % symbols.length] ?? "●",
  }));
  return (
    <Figure
      id="capacity"
      title={words.capacity}
      lead={words.capacity_lead}
      label={fill(words.capacity_label, { points, lines: counts.length })}
      {...(session.has_threads ? { legend } : {})}
      draw={(look) => drawCapacity(session, look)}
      of={[session]}
      table={() => capacityTable(session, words)}
    />
  );
}

/** The setting that is looked at unless the reader says otherwise. */
export function LatencyFigure({ session }: Props) {
  const words = useWords();
  const settings = latencySettings(session);
  const [asked, ask] = useState<string | null>(null);
  const at = settings.find((it) => nameOf(it, session) === asked) ?? settings[0];
  if (at === undefined) return null;
  const name = nameOf(at, session);
  return (
    <Figure
      id="latency"
      title={words.latency_and_load}
      lead={words.latency_lead}
      label={fill(words.latency_label, { setting: name, trials: trialsOf(session, at).length })}
      controls={<Choice label={words.setting} value={name} choose={ask}
        options={settings.map((it) => nameOf(it, session)).map((it) => [it, it])} />}
      legend={[
        ...QUANTILES.map((name): LegendEntry =>
          ({ text: name, colour: QUANTILE_COLOURS[name], as: "line" })),
        { text: words.held, colour: "var(--ink)", as: "symbol", symbol: "●" },
        { text: words.did_not_hold, colour: "var(--ink)", as: "symbol", symbol: "✕" },
      ]}
      draw={(look) => drawLatency(session, at, look)}
      of={[session, name]}
      table={() => latencyTable(session, at, words)}
    />
  );
}

export function MemoryFigure({ session }: Props) {
  const words = useWords();
  const rows = memoryRows(session);
  if (rows.length === 0) return null;
  const limit = session.machine?.memory_bytes ?? null;
  const most = Math.max(...rows.map((row) => row.memory_bytes));
  const isFar = limit !== null && limit >= most * 3;
  const legend = session.memory === null ? {} : {
    legend: PARTS.map((part) => ({ text: words[part], colour: PART_COLOURS[part] })),
  };
  return (
    <Figure
      id="memory"
      title={words.memory}
      lead={words.memory_lead}
      label={fill(words.memory_label, { settings: rows.length })}
      {...legend}
      note={isFar && limit !== null ? fill(words.memory_far, { size: bytes(limit) }) : undefined}
      draw={(look) => drawMemory(session, look)}
      of={[session]}
      table={() => memoryTable(session, words)}
    />
  );
}

export function SpectrumFigure({ session }: Props) {
  const words = useWords();
  const sides = Object.keys(spectrumTrials(session)) as Side[];
  if (sides.length === 0) return null;
  const names = sides.map((side) => sideName(session, side, words));
  return (
    <Figure
      id="spectrum"
      title={words.spectrum}
      lead={words.spectrum_lead}
      label={fill(words.spectrum_label, { sides: names.join(", ") })}
      legend={sides.map((side, i): LegendEntry =>
        ({ text: names[i] ?? "", colour: SIDE_COLOURS[side], as: "line" }))}
      draw={(look) => drawSpectrum(session, look)}
      of={[session]}
      table={() => spectrumTable(session, words)}
    />
  );
}

/** A trial in a word, for lists to choose from. */
function trialName(trial: TrialRow, session: SessionPage): string {
  const at = nameOf(trial, session);
  return `${trial.id}: ${at}, ${trial.purpose_name}, ${isolated(trial.outcome)}`;
}

/** What is shown first: the last trial that confirmed the choice. */
function firstTrial(session: SessionPage): TrialRow | undefined {
  const at = session.decision ?? session.current;
  const chosen = at ? lastOf(session, at) : undefined;
  return chosen ?? session.trials.filter((trial) => trial.detail !== null).at(-1);
}

export function CpuFigure({ session, opened }: Props & { opened: number | null }) {
  const words = useWords();
  const [asked, ask] = useState<number | null>(null);
  const shown = session.trials.filter((trial) => trial.detail !== null);
  const wanted = asked ?? opened;
  const trial = shown.find((it) => it.id === wanted) ?? firstTrial(session);
  if (!trial?.detail) return null;
  const detail = trial.detail;
  const processes = processesOf(detail);
  return (
    <Figure
      id="cpu"
      title={words.cpu_by_process}
      lead={words.cpu_lead}
      label={fill(words.cpu_label, { trial: trial.id, processes: processes.length })}
      controls={<Choice label={words.trial} value={String(trial.id)}
        choose={(id) => ask(Number(id))}
        options={shown.map((it) => [String(it.id), trialName(it, session)])} />}
      legend={processes.map((process, place) => ({
        text: `${processName(process, words)} (${process.pid})`,
        colour: processColour(process, place),
      }))}
      draw={(look) => drawCpu(trial, detail, session.machine?.cores ?? null, look)}
      of={[trial]}
      below={<Beside trial={trial} />}
      table={() => cpuTable(trial, detail, words)}
    />
  );
}

export function flowLegend(words: Words, detail: TrialDetail): LegendEntry[] {
  const drawn = new Set(flowRows(detail).map((row) => row.flow));
  return FLOWS.filter((flow) => drawn.has(flow)).map((flow) =>
    ({ text: words[flow], colour: FLOW_COLOURS[flow], as: "line" }));
}

/** Throughput on the same seconds, right under the processes. */
function Beside({ trial }: { trial: TrialRow }) {
  const words = useWords();
  const detail = trial.detail;
  if (!detail) return null;
  return (
    <SmallFigure name="throughput" title={words.requests}
      label={fill(words.flow_label, { trial: trial.id })} of={[trial]}
      draw={(look) => drawFlow(trial, detail, look)} legend={flowLegend(words, detail)}
      table={() => secondsTable(trial, detail, words)} />
  );
}
