// What else a session says, in words and small tables.

import type { SessionPage, Warning } from "../data";
import { bytes, interval, number, rate } from "../figures";
import { nameOf } from "../setting";
import type { Table } from "../table";
import { useView, useWords } from "../view";
import { PlainTable } from "./DataTable";
import { Lines, Outside } from "./Outside";
import { Section } from "./Section";

export function Knobs({ session }: { session: SessionPage }) {
  const words = useWords();
  return (
    <Titled id="knobs" title={words.knobs_part} lead={words.knobs_lead}
      columns={[
        { key: "change", label: words.change },
        { key: "capacity", label: words.capacity },
        { key: "memory", label: words.memory },
        { key: "verdict", label: words.verdict },
      ]}
      rows={session.knobs} />
  );
}

export function Front({ session }: { session: SessionPage }) {
  const words = useWords();
  return (
    <Titled id="front" title={words.front} lead={words.front_lead}
      columns={[
        { key: "setting", label: words.setting },
        { key: "capacity_rps", label: words.capacity, format: rate },
        { key: "interval", label: "95 %" },
        { key: "memory_bytes", label: words.memory, format: bytes },
        { key: "chosen", label: words.chosen },
      ]}
      rows={session.front.map((row) => [
        nameOf(row, session),
        row.capacity_rps,
        interval(row.capacity_rps_interval, number, words.between),
        row.memory_bytes,
        row.chosen,
      ])} />
  );
}

export function PlanTable({ session }: { session: SessionPage }) {
  const words = useWords();
  return (
    <Titled id="plan" title={words.plan}
      columns={[
        { key: "what", label: words.what },
        { key: "value", label: words.value },
        { key: "source", label: words.from },
      ]}
      rows={session.plan.map((row) => [row.what, row.value, row.source])} />
  );
}

/** A table under a heading; nothing where it has no row. */
export function Titled({ id, title, lead, columns, rows }: Omit<Table, "name"> & {
  id: string;
  title: string;
  lead?: string;
}) {
  if (rows.length === 0) return null;
  return (
    <Section id={id} title={title} lead={lead}>
      <PlainTable table={{ name: id, columns, rows }} title={title} />
    </Section>
  );
}

export function Warnings({ warnings }: { warnings: Warning[] }) {
  const words = useWords();
  if (warnings.length === 0) return null;
  return (
    <Section id="warnings" title={words.warnings}>
      <ul class="warnings">
        {warnings.map((warning) => (
          <li key={warning.message}>
            <Outside text={warning.message} />
            {warning.advice && <p class="note"><Outside text={warning.advice} /></p>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Sentences under a heading; nothing where there are none. */
export function Sentences({ id, title, texts }: { id: string; title: string; texts: string[] }) {
  if (texts.length === 0) return null;
  return (
    <Section id={id} title={title}>
      <ul class="sentences">
        {texts.map((text) => <li key={text}><Outside text={text} /></li>)}
      </ul>
    </Section>
  );
}

export function Failures({ session }: { session: SessionPage }) {
  const words = useWords();
  if (session.failures.length === 0) return null;
  return (
    <Section id="failures" title={words.failures}>
      {session.failures.map(([what, lastLines], i) => (
        <article key={i} class="failure">
          <h3><Outside text={what} /></h3>
          {lastLines.length > 0 && (
            <Lines text={lastLines.join("\n")} label={words.last_lines} />
          )}
        </article>
      ))}
    </Section>
  );
}

export function Method({ session }: { session: SessionPage }) {
  const { words } = useView();
  const { method } = session.text;
  if (!method) return null;
  return (
    <Section id="method" title={words.how}>
      {method.split(/\n\n+/).map((paragraph) => <p key={paragraph}>{paragraph}</p>)}
    </Section>
  );
}
