// The first screen: what to run, the lines to paste, how sure, and what sets the limit.

import { drawSure, sureRows, sureTable } from "../charts/sure";
import type { Decision, Limit, SessionPage, Settings } from "../data";
import { bytes, change, interval, latency, number, percent, rate, ratio } from "../figures";
import { nameOf } from "../setting";
import { useView, useWords } from "../view";
import { fill } from "../words";
import { Chart } from "./Chart";
import { CopyBlock } from "./CopyBlock";
import { DataTable } from "./DataTable";
import { Outside, Pairs } from "./Outside";

/** `runs`: it is being measured; until it has decided, nothing is to be done but wait. */
export function Answer({ session, runs }: { session: SessionPage; runs: boolean }) {
  const { words } = useView();
  const text = session.text;
  const { decision } = session;
  const waits = runs && decision === null;
  return (
    <section class="answer" id="decision" aria-labelledby="headline">
      <h1 id="headline">
        {waits ? fill(words.so_far, { trials: session.trials.length }) : text.headline}
      </h1>
      {session.error && <p class="problem" role="note"><Outside text={session.error} /></p>}
      {decision && <KeyFigures decision={decision} />}
      {!waits && text.ways_out.length > 0 && (
        <section class="card">
          <h2>{words.what_to_do}</h2>
          <ul>{text.ways_out.map((way) => <li key={way}><Outside text={way} /></li>)}</ul>
        </section>
      )}
      {decision && (
        <div class="columns">
          <Paste settings={decision.settings} />
          <div>
            <Sure session={session} />
            <WhatLimits limit={decision.limit} name={text.limit ?? decision.limit.kind} />
          </div>
        </div>
      )}
      <Facts facts={text.facts} />
    </section>
  );
}

function KeyFigures({ decision }: { decision: Decision }) {
  const words = useWords();
  const gain = decision.gain_ratio;
  return (
    <dl class="key-figures">
      <KeyFigure name={words.capacity} value={rate(decision.capacity_rps)}
        note={interval(decision.capacity_rps_interval, number, words.between)} />
      {gain !== null && (
        <KeyFigure name={words.gain} value={change(gain)}
          note={decision.gain_ratio_interval
            ? `x ${interval(decision.gain_ratio_interval, ratio, words.between)}` : ""} />
      )}
      <KeyFigure name={words.day_to_day} value={rate(decision.operating_rps)} />
      {decision.memory_bytes !== null && (
        <KeyFigure name={words.memory} value={bytes(decision.memory_bytes)} />
      )}
      {decision.database_connections > 0 && (
        <KeyFigure name={words.database_connections}
          value={String(decision.database_connections)} />
      )}
    </dl>
  );
}

function KeyFigure(props: { name: string; value: string; note?: string }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        <span class="value">{props.value}</span>
        {props.note && <span class="note">{props.note}</span>}
      </dd>
    </div>
  );
}

function assignments(env: Record<string, string>): string {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`).join("\n");
}

function Paste({ settings }: { settings: Settings }) {
  const words = useWords();
  const env = assignments(settings.env);
  const knobs = assignments(settings.knobs_env ?? {});
  return (
    <section class="pastes" aria-labelledby="paste-title">
      <h2 id="paste-title">{words.settings}</h2>
      {env && <CopyBlock name="env" title={words.environment} text={env} />}
      {settings.config_snippet && (
        <CopyBlock name="snippet" title={words.snippet} text={settings.config_snippet}
          note={settings.place
            ? fill(words.into_file, { place: settings.place }) : words.into_server_file} />
      )}
      {settings.start && (
        <CopyBlock name="start" title={words.start_it_with} text={settings.start} />
      )}
      {knobs && (
        <CopyBlock name="knobs-env" text={knobs}
          title={`${words.knobs_part}: ${words.environment}`} />
      )}
      {byPlace(settings.knobs_lines ?? []).map(([place, lines]) => (
        <CopyBlock key={place} name="knobs-lines" title={words.knobs_part} text={lines}
          note={fill(words.into_file, { place })} />
      ))}
      {settings.advice.length > 0 && (
        <ul class="advice">
          {settings.advice.map((advice) => <li key={advice}><Outside text={advice} /></li>)}
        </ul>
      )}
    </section>
  );
}

function byPlace(lines: { place: string; line: string }[]): [string, string][] {
  const places = new Map<string, string[]>();
  for (const { place, line } of lines) places.set(place, [...(places.get(place) ?? []), line]);
  return [...places].map(([place, own]) => [place, own.join("\n")]);
}

function Sure({ session }: { session: SessionPage }) {
  const words = useWords();
  const rows = sureRows(session);
  if (rows.length === 0) return null;
  const said = rows.map((row) => `${words[row.side]} ${row.name}: ${rate(row.rps)} ` +
    `(${interval([row.low, row.high], number, words.between)})`);
  const equal = session.decision?.equivalent ?? [];
  return (
    <section class="card" id="sure">
      <h2>{words.how_sure}</h2>
      <p class="lead">{words.how_sure_lead}</p>
      <Chart name="sure" label={fill(words.sure_label, { rows: said.join(", ") })} of={[session]}
        draw={(look) => drawSure(session, look)} />
      <DataTable table={() => sureTable(session, words)} title={words.how_sure} />
      {equal.length > 0 && (
        <p class="note" data-part="equivalent">
          {words.equivalent}:{" "}
          {equal.map((it, i) => (
            <span key={`${it.workers}-${it.threads}`}>
              {i > 0 && ", "}
              <b>{nameOf(it, session)}</b>
              {" "}({ratio(it.ratio)}{it.memory_bytes !== null && `, ${bytes(it.memory_bytes)}`})
            </span>
          ))}
          {compared(session)}
        </p>
      )}
    </section>
  );
}

/** The latencies of settings that hold as much, each at the same rate. */
function compared(session: SessionPage): string {
  const { decision } = session;
  if (!decision || decision.latency_at_rps === null) return "";
  const known = [decision, ...decision.equivalent].flatMap((it) =>
    it.latency_s_p95 === null ? [] : [`${nameOf(it, session)} ${latency(it.latency_s_p95)}`]);
  return `; p95, ${rate(decision.latency_at_rps)}: ${known.join(", ")}`;
}

function WhatLimits({ limit, name }: { limit: Limit; name: string }) {
  const words = useWords();
  return (
    <section class="card" id="limit">
      <h2>{words.limit}</h2>
      <p class="limit-kind">
        <b><Outside text={name} /></b>
        {limit.kind !== "unknown" && (
          <span class="note">{fill(words.confidence, { share: percent(limit.confidence) })}</span>
        )}
      </p>
      <p data-part="evidence"><Outside text={limit.evidence} /></p>
      {limit.advice && <p class="advice-text"><Outside text={limit.advice} /></p>}
    </section>
  );
}

function Facts({ facts }: { facts: [string, string][] }) {
  const words = useWords();
  if (facts.length === 0) return null;
  return (
    <section class="facts" aria-labelledby="facts-title">
      <h2 id="facts-title">{words.in_figures}</h2>
      <Pairs rows={facts} />
    </section>
  );
}
