// Every trial as a row that opens into its seconds.

import { useCallback, useMemo, useState } from "preact/hooks";

import type { Outcome, SessionPage, TrialPurpose, TrialRow } from "../data";
import { bytes, latency, percent, rate } from "../figures";
import { isolated, visible } from "../outside";
import { nameOf, type Setting } from "../setting";
import { matching, NO_FILTER, sorted, type Filter, type Order, type SortKey } from "../trials";
import { useWords } from "../view";
import { clientsText, fill, type Words } from "../words";
import { Choice } from "./Choice";
import { Outside } from "./Outside";
import { Section } from "./Section";
import { TrialDetail } from "./TrialDetail";
import { WideTable } from "./WideTable";

interface Props {
  session: SessionPage;
  picked: Setting | null;
  pick: (at: Setting | null) => void;
  opened: (id: number) => void;
}

export function Trials({ session, picked, pick, opened }: Props) {
  const words = useWords();
  const [asked, ask] = useState<Omit<Filter, "setting">>(NO_FILTER);
  const [order, setOrder] = useState<Order>({ key: "id", isDown: false });
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const shown = useMemo(
    () => sorted(matching(session.trials, { ...asked, setting: picked }), order),
    [session.trials, asked, picked, order],
  );
  const toggle = useCallback((id: number) => {
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
    opened(id);
  }, [opened]);
  const sortBy = (key: SortKey) =>
    setOrder({ key, isDown: order.key === key ? !order.isDown : false });
  return (
    <Section id="trials" title={words.trials} lead={words.trials_lead}>
      <Filters session={session} asked={asked} ask={ask} picked={picked} pick={pick} />
      <p class="note" role="status">
        {session.trials.length === 0
          ? words.none_yet
          : shown.length === 0
            ? words.no_match
            : fill(words.shown, { shown: shown.length, all: session.trials.length })}
      </p>
      {shown.length > 0 && (
        <WideTable title={words.trials} name="trials" class="trials">
          <Head order={order} sortBy={sortBy} words={words} />
          {shown.map((trial) => (
            <Row key={trial.id} trial={trial} session={session} words={words}
              isOpen={open.has(trial.id)} toggle={toggle} />
          ))}
        </WideTable>
      )}
    </Section>
  );
}

function Filters({ session, asked, ask, picked, pick }: Omit<Props, "opened"> & {
  asked: Omit<Filter, "setting">;
  ask: (filter: Omit<Filter, "setting">) => void;
}) {
  const words = useWords();
  const purposes = distinct(session.trials.map((trial) => trial.purpose));
  const outcomes = distinct(session.trials.map((trial) => trial.outcome_code));
  const purposeName = (it: string) =>
    session.trials.find((trial) => trial.purpose === it)?.purpose_name ?? it;
  const outcomeName = (it: string) =>
    session.trials.find((trial) => trial.outcome_code === it)?.outcome ?? it;
  const settings = distinct(session.trials.map((trial) => `${trial.workers}x${trial.threads}`));
  const setting = picked ? `${picked.workers}x${picked.threads}` : "";
  /** Any, those there are, and the one that is asked for. */
  const among = (there: string[], asked: string, text: (it: string) => string) => {
    const all = distinct(asked === "" ? there : [...there, asked]);
    return [["", words.any], ...all.map((it) => [it, isolated(text(it))])] as [string, string][];
  };
  return (
    <div class="controls filters">
      <label>
        {words.filter}{" "}
        <input type="search" value={asked.text} data-filter="text"
          onInput={(event) => ask({ ...asked, text: event.currentTarget.value })} />
      </label>
      <Choice name="setting" label={words.setting} value={setting}
        options={among(settings, setting, (it) => nameOf(settingOf(it), session))}
        choose={(it) => pick(it === "" ? null : settingOf(it))} />
      <Choice name="purpose" label={words.purpose} value={asked.purpose ?? ""}
        options={among(purposes, asked.purpose ?? "", purposeName)}
        choose={(it) => ask({ ...asked, purpose: it === "" ? null : it as TrialPurpose })} />
      <Choice name="outcome" label={words.outcome} value={asked.outcome ?? ""}
        options={among(outcomes, asked.outcome ?? "", outcomeName)}
        choose={(it) => ask({ ...asked, outcome: it === "" ? null : it as Outcome })} />
      {(picked !== null || asked !== NO_FILTER) && (
        <button type="button" onClick={() => { ask(NO_FILTER); pick(null); }}>
          {words.show_all}
        </button>
      )}
    </div>
  );
}

/** Of `3x5`. */
function settingOf(text: string): Setting {
  const [workers = 0, threads = 0] = text.split("x").map(Number);
  return { workers, threads };
}

function distinct(values: string[]): string[] {
  return [...new Set(values)];
}

function columnsOf(words: Words): [SortKey, string, boolean][] {
  return [
    ["id", words.trial, false],
    ["setting", words.setting, false],
    ["purpose", words.purpose, false],
    ["outcome", words.outcome, false],
    ["offered", words.load, true],
    ["throughput", words.throughput, true],
    ["p50", "p50", true],
    ["p95", "p95", true],
    ["p99", "p99", true],
    ["errors", words.errors, true],
    ["memory", words.memory, true],
    ["limit", words.limit, false],
  ];
}

const COLUMNS = 12;

function Head({ order, sortBy, words }: {
  order: Order;
  sortBy: (key: SortKey) => void;
  words: Words;
}) {
  return (
    <thead>
      <tr>
        {columnsOf(words).map(([key, label, isFigure]) => (
          <th
            scope="col"
            key={key}
            class={isFigure ? "figure" : undefined}
            aria-sort={order.key !== key ? "none" : order.isDown ? "descending" : "ascending"}
          >
            <button type="button" data-sort={key} onClick={() => sortBy(key)}>
              {label}
              <span aria-hidden="true" class="arrow">
                {order.key !== key ? "" : order.isDown ? " ↓" : " ↑"}
              </span>
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  trial: TrialRow;
  session: SessionPage;
  words: Words;
  isOpen: boolean;
  toggle: (id: number) => void;
}

function Row({ trial, session, words, isOpen, toggle }: RowProps) {
  // Rows that did not change are handed back as they are: 500 of them stand on a page.
  return useMemo(() => (
    <tbody class={isOpen ? "open" : undefined} data-trial={trial.id}>
      <tr onClick={(event) => pressed(event, () => toggle(trial.id))}>
        <th scope="row">
          <button type="button" class="opener" aria-expanded={isOpen}
            aria-label={fill(words.trial_id, { id: trial.id })} onClick={() => toggle(trial.id)}>
            <span aria-hidden="true" class="turn">▸</span> {trial.id}
          </button>
        </th>
        <Cells trial={trial} session={session} words={words} />
      </tr>
      {isOpen && (
        <tr class="detail-row">
          <td colSpan={COLUMNS}><TrialDetail trial={trial} session={session} /></td>
        </tr>
      )}
    </tbody>
  ), [trial, words, isOpen, session.limits, session.has_threads, toggle]);
}

/** A press anywhere on the row opens it, but not one that selects text or meets a control. */
function pressed(event: MouseEvent, toggle: () => void) {
  const target = event.target as Element;
  if (target.closest("button") || (getSelection()?.toString() ?? "") !== "") return;
  toggle();
}

/** How an outcome is coloured: bursts ask nothing, so they are neither good nor bad. */
function manner(trial: TrialRow): string {
  if (trial.failure !== null) return "no";
  if (!trial.valid) return "undecided";
  const isAsked = trial.purpose !== "unloaded" && trial.purpose !== "saturate";
  return isAsked ? trial.verdict : "";
}

function Cells({ trial, session, words }: Omit<RowProps, "isOpen" | "toggle">) {
  const load = trial.offered_rps !== null
    ? rate(trial.offered_rps) : clientsText(trial.clients ?? 0, words);
  const { latency_s } = trial;
  const timed = (seconds: number) => (trial.completed === 0 ? "–" : latency(seconds));
  return (
    <>
      <td>
        {nameOf(trial, session)}
        {trial.changes.length > 0 && (
          <span class="note"> <bdi>{visible(trial.changes.join(", "))}</bdi></span>
        )}
      </td>
      <td>{trial.purpose_name}</td>
      <td>
        <span class={`outcome ${manner(trial)}`}>
          <Outside text={trial.outcome} />
        </span>
      </td>
      <td class="figure">{load}</td>
      <td class="figure">{rate(trial.throughput_rps)}</td>
      <td class="figure">{timed(latency_s.p50)}</td>
      <td class="figure">{timed(latency_s.p95)}</td>
      <td class="figure">{timed(latency_s.p99)}</td>
      <td class="figure">{percent(trial.due === 0 ? 0 : trial.errors / trial.due)}</td>
      <td class="figure">{trial.memory_bytes === null ? "–" : bytes(trial.memory_bytes)}</td>
      <td><Outside text={trial.limit_name} /></td>
    </>
  );
}
