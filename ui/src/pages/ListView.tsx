// The sessions of a store, newest first (under `serve`).

import { useEffect, useState } from "preact/hooks";

import * as api from "../api";
import type { ListRow } from "../data";
import { moment } from "../figures";
import { Frame } from "../parts/Header";
import { Outside } from "../parts/Outside";
import { WideTable } from "../parts/WideTable";
import { hashOf } from "../route";
import { useView } from "../view";
import { fill, type Words } from "../words";

/** How often the list is asked for again; a running session's stream is sooner. */
const AGAIN_MS = 10_000;

export function ListView() {
  const { words } = useView();
  const { rows, problem } = useSessions();
  return (
    <Frame>
      <section class="answer"><h1>{words.sessions}</h1></section>
      {problem !== null && (
        <p class="problem" role="alert">
          {words.unreachable}: <Outside text={problem} />
        </p>
      )}
      {rows === null && problem === null && <p>{words.loading}</p>}
      {rows?.length === 0 && <p>{words.no_sessions}</p>}
      {rows !== null && rows.length > 0 && <Rows rows={rows} />}
    </Frame>
  );
}

function useSessions(): { rows: ListRow[] | null; problem: string | null } {
  const [rows, setRows] = useState<ListRow[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const running = rows?.find((row) => row.state === "running" && row.is_alive)?.id ?? null;
  useEffect(() => {
    const load = () =>
      api.ask(api.sessions, (found) => { setRows(found); setProblem(null); }, setProblem);
    let end = load();
    const timer = setInterval(() => { if (!document.hidden) end = load(); }, AGAIN_MS);
    return () => { end(); clearInterval(timer); };
  }, []);
  useEffect(() => {
    if (running === null) return undefined;
    const source = new EventSource(`api/sessions/${running}/live`);
    source.addEventListener("sessions", (event) => {
      setRows(JSON.parse((event as MessageEvent<string>).data) as ListRow[]);
    });
    return () => source.close();
  }, [running]);
  return { rows, problem };
}

function Rows({ rows }: { rows: ListRow[] }) {
  const { words, language } = useView();
  const [ticked, setTicked] = useState<number[]>([]);
  const tick = (id: number) =>
    setTicked(ticked.includes(id) ? ticked.filter((it) => it !== id) : [...ticked, id].slice(-2));
  const heads = [words.session, words.compare, words.state, words.decision, words.started,
    words.app, words.server];
  const [a, b] = [...ticked].sort((x, y) => x - y);
  return (
    <section class="figure list" aria-label={words.sessions}>
      <p class="controls">
        {a !== undefined && b !== undefined
          ? <a class="button" href={hashOf({ page: "compare", a, b }, location.hash)}>
              {words.compare} {a}, {b}
            </a>
          : <span class="note">{words.pick_two}</span>}
      </p>
      <WideTable title={words.sessions} name="sessions">
        <thead>
          <tr>
            {heads.map((head) => <th scope="col" key={head}>{head}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id} data-session={row.id}>
              <th scope="row">
                <a href={hashOf({ page: "session", id: row.id }, location.hash)}>{row.id}</a>
              </th>
              <td>
                <input type="checkbox" checked={ticked.includes(row.id)}
                  aria-label={fill(words.pick, { id: row.id })} onChange={() => tick(row.id)} />
              </td>
              <td><span class={`state ${row.state}`}>{stateText(row, words)}</span></td>
              <td><Outside text={row.decision ?? "–"} /></td>
              <td><Outside text={moment(row.started_at, language)} /></td>
              <td><Outside text={row.app} /></td>
              <td><Outside text={row.server} /></td>
            </tr>
          ))}
        </tbody>
      </WideTable>
    </section>
  );
}

function stateText(row: ListRow, words: Words): string {
  return row.state === "running" && !row.is_alive
    ? words.interrupted : words[row.state];
}
