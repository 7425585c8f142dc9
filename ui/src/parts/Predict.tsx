// What if: sliders that move the program's predictions.

import { useMemo, useState } from "preact/hooks";

import { drawPredicted, highest, lookUp, predictTable, type Along, type Where } from
  "../charts/predict";
import type { Predictions, SessionPage } from "../data";
import { bytes, interval, number, rate, short } from "../figures";
import { inLanguage } from "../language";
import { nameOf } from "../setting";
import { stops, usePrediction } from "../predicting";
import { useView, useWords } from "../view";
import { fill } from "../words";
import { Chart } from "./Chart";
import { DataTable } from "./DataTable";
import { Outside } from "./Outside";
import { Section } from "./Section";

const WAIT_STEP = 0.1;

interface Props {
  session: SessionPage;
  known: Predictions;
}

export function Predict({ session, known }: Props) {
  const { words, language, isServed } = useView();
  const [where, setWhere] = useState<Where>(() => startOf(session, known));
  const asks = isServed ? session.session : null;
  const answer = usePrediction(known, where, asks);
  const step = asks === null ? null : 1;
  const sliders = {
    cores: stops(known.cores, step),
    wait: stops(known.waits, asks === null ? null : WAIT_STEP),
    workers: stops(known.workers, step),
    threads: stops(known.threads, step),
  };
  const most = highest(answer.table, answer.at);
  const move = (name: keyof Where) => (value: number) => setWhere({ ...where, [name]: value });
  const waitText = where.wait === 1
    ? words.as_measured : fill(words.wait_of, { factor: short(where.wait) });
  const lines: Along[] = session.has_threads ? ["workers", "threads"] : ["workers"];
  const table = useMemo(() => inLanguage(answer.table, language), [answer.table, language]);
  const measuredOn = fill(words.measured_on_cores, { cores: short(known.measured_cores) });
  return (
    <Section id="predict" title={words.predict} class="figure predict"
      lead={`${words.predict_lead} ${measuredOn}`}>
      <div class="sliders">
        <Slider name="cores" label={words.cores} stops={sliders.cores}
          value={where.cores} text={short(where.cores)} move={move("cores")} />
        <Slider name="wait" label={words.wait} stops={sliders.wait}
          value={where.wait} text={waitText} move={move("wait")} />
        <Slider name="workers" label={words.workers} stops={sliders.workers}
          value={where.workers} text={String(where.workers)} move={move("workers")} />
        {session.has_threads && (
          <Slider name="threads" label={words.threads} stops={sliders.threads}
            value={where.threads} text={String(where.threads)} move={move("threads")} />
        )}
      </div>
      <Result session={session} {...answer} table={table} />
      <div class="small-figures">
        {lines.map((along) => (
          <section class="small-figure" key={along}>
            <h3>{words[`against_${along}` as const]}</h3>
            <Chart name={`predict-${along}`}
              label={fill(words.predict_label, { along: words[along] })}
              draw={(look) => drawPredicted(table, answer.at, along, most, look)}
              of={[table, ...Object.values(answer.at)]} />
          </section>
        ))}
      </div>
      <Doubts doubts={table.doubts} />
      <DataTable table={() => predictTable(table, answer.at, words)}
        title={words.predict} />
    </Section>
  );
}

/** The chosen setting on the machine as it is, or what comes nearest in the table. */
function startOf(session: SessionPage, known: Predictions): Where {
  const at = session.decision ?? session.current;
  return {
    cores: nearest(known.cores, known.measured_cores),
    wait: nearest(known.waits, 1),
    workers: nearest(known.workers, at?.workers ?? 1),
    threads: nearest(known.threads, at?.threads ?? 1),
  };
}

function nearest(values: readonly number[], wanted: number): number {
  return values.reduce(
    (best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best),
    values[0] ?? wanted,
  );
}

function Slider(props: {
  name: string;
  label: string;
  stops: number[];
  value: number;
  text: string;
  move: (value: number) => void;
}) {
  const at = Math.max(0, props.stops.indexOf(props.value));
  return (
    <label class="slider">
      <span>{props.label}</span>
      <output>{props.text}</output>
      <input
        type="range"
        data-slider={props.name}
        min={0}
        max={props.stops.length - 1}
        step={1}
        value={at}
        aria-label={props.label}
        aria-valuetext={props.text}
        disabled={props.stops.length < 2}
        onInput={(event) => {
          const value = props.stops[Number(event.currentTarget.value)];
          if (value !== undefined) props.move(value);
        }}
      />
    </label>
  );
}

function Result({ session, table, at, isAsking, problem }: {
  session: SessionPage;
  table: Predictions;
  at: Where;
  isAsking: boolean;
  problem: string | null;
}) {
  const words = useWords();
  const found = lookUp(table, at);
  const name = nameOf(at, session);
  const capacity = found?.capacity_rps ?? null;
  const memory = found?.memory_bytes ?? null;
  return (
    <div class={isAsking ? "predicted asking" : "predicted"} data-part="predicted" role="status">
      <b>{name}</b> {words.would_hold}{" "}
      {capacity === null ? words.no_prediction : <b>~ {rate(capacity)}</b>}
      {found?.low_rps != null && found.high_rps != null && (
        <> ({interval([found.low_rps, found.high_rps], number, words.between)})</>
      )}
      {memory !== null && <>; {words.memory} ~ {bytes(memory)}</>}
      {found?.limit != null && (
        <>; {words.limit}: <Outside text={found.limit} /></>
      )}
      {isAsking && <span class="note"> {words.asking}</span>}
      {problem !== null && <p class="problem"><Outside text={problem} /></p>}
    </div>
  );
}

function Doubts({ doubts }: { doubts: string[] }) {
  const words = useWords();
  if (doubts.length === 0) return null;
  return (
    <div class="doubts">
      <h3>{words.doubts}</h3>
      <ul>{doubts.map((doubt) => <li key={doubt}><Outside text={doubt} /></li>)}</ul>
    </div>
  );
}
