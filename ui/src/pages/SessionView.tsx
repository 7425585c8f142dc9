// Everything that a session knows.

import { useMemo, useState } from "preact/hooks";

import { capacityRows } from "../charts/capacity";
import type { Page, SessionPage } from "../data";
import { moment } from "../figures";
import type { Live } from "../live";
import { CapacityFigure, CpuFigure, LatencyFigure, MemoryFigure, SpectrumFigure } from
  "../parts/Charts";
import { Answer } from "../parts/Decision";
import { Contents, Frame } from "../parts/Header";
import { LivePanel, LiveRegion } from "../parts/LivePanel";
import { MapFigure } from "../parts/MapFigure";
import { Outside } from "../parts/Outside";
import { Predict } from "../parts/Predict";
import { Failures, Front, Knobs, Method, PlanTable, Sentences, Warnings } from "../parts/Rest";
import { Trials } from "../parts/Trials";
import { inLanguage } from "../language";
import { nameOf, type Setting } from "../setting";
import { useView } from "../view";
import { fill, type Words } from "../words";

export function SessionView({ page, session: stored, live }: {
  page: Page;
  session: SessionPage;
  live?: Live | undefined;
}) {
  const { words, language } = useView();
  const session = useMemo(() => inLanguage(stored, language), [stored, language]);
  const [picked, pick] = useState<Setting | null>(null);
  const [opened, setOpened] = useState<number | null>(null);
  const runs = live?.isAlive === true && session.state === "running";
  return (
    <Frame about={<About session={session} />} version={page.version}>
      {runs && <LivePanel live={live} />}
      {live && <LiveRegion session={session} />}
      <Answer session={session} runs={runs} />
      <Contents entries={contents(session, words)} />
      <Warnings warnings={session.warnings} />
      {session.map.length > 0 && (
        <MapFigure session={session} picked={picked} pick={pick} />
      )}
      {session.map.length > 0 && <CapacityFigure session={session} />}
      <LatencyFigure session={session} />
      <SpectrumFigure session={session} />
      <CpuFigure session={session} opened={opened} />
      <MemoryFigure session={session} />
      {session.predict && <Predict session={session} known={session.predict} />}
      <Trials session={session} picked={picked} pick={pick} opened={setOpened} />
      <Knobs session={session} />
      <Front session={session} />
      <Failures session={session} />
      <Sentences id="notes" title={words.notes} texts={session.notes} />
      <PlanTable session={session} />
      <Method session={session} />
    </Frame>
  );
}

export function About({ session }: { session: SessionPage }) {
  const { words, language } = useView();
  const parts = [
    session.app,
    session.server,
    session.slo,
    session.current && `${words.today} ${
      nameOf(session.current, session)}`,
    session.machine?.text,
    session.started_at && moment(session.started_at, language),
    session.session !== null && fill(words.session_id, { id: session.session }),
  ].filter((part): part is string => typeof part === "string" && part !== "");
  return (
    <p data-part="about">
      <span class={`state ${session.state}`}>{words[session.state]}</span>
      {parts.map((part) => <span class="about-part" key={part}><Outside text={part} /></span>)}
    </p>
  );
}

function contents(session: SessionPage, words: Words): [string, string][] {
  const has = session.map.length > 0;
  const entries: [string, string, boolean][] = [
    ["warnings", words.warnings, session.warnings.length > 0],
    ["map", words.map_part, has],
    ["capacity", words.capacity, capacityRows(session).length > 0],
    ["latency", words.latency_and_load, session.trials.some((trial) => trial.offered_rps !== null)],
    ["spectrum", words.spectrum, session.trials.some((trial) => trial.detail !== null)],
    ["cpu", words.cpu_by_process, session.trials.some((trial) => trial.detail !== null)],
    ["memory", words.memory, session.map.some((cell) => cell.memory_bytes !== null)],
    ["predict", words.predict, session.predict !== null],
    ["trials", words.trials, true],
    ["knobs", words.knobs_part, session.knobs.length > 0],
    ["front", words.front, session.front.length > 0],
    ["failures", words.failures, session.failures.length > 0],
    ["notes", words.notes, session.notes.length > 0],
    ["plan", words.plan, session.plan.length > 0],
    ["method", words.how, true],
  ];
  return entries.filter(([, , isThere]) => isThere).map(([id, title]) => [id, title]);
}
