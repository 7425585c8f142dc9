// What runs now. It keeps its height whether or not a trial runs, so that nothing below moves.

import { useEffect, useRef, useState } from "preact/hooks";

import { drawRunning, runningTable } from "../charts/running";
import type { SessionPage } from "../data";
import { latency, rate, setting, span } from "../figures";
import type { Live } from "../live";
import { isolated } from "../outside";
import { useWords } from "../view";
import type { Words } from "../words/words";
import { Chart } from "./Chart";
import { DataTable } from "./DataTable";

export function LivePanel({ live, session }: { live: Live; session: SessionPage }) {
  const words = useWords();
  const { running, seconds } = live;
  return (
    <section class="live" id="live" aria-labelledby="live-title">
      <h2 id="live-title" tabIndex={-1}><span class="pulse" aria-hidden="true" />
        {words.live.title}</h2>
      <p class="now" data-part="running">{sentence(live, session, words)}</p>
      <Chart name="running" label={words.live.label} of={[running, seconds]}
        draw={(look) => drawRunning(running, seconds, look)} />
      <p class="note">{live.isConnected ? lastSecond(live, words) : words.live.lost}</p>
      <DataTable table={() => runningTable(seconds, words)} title={words.live.label} />
    </section>
  );
}

function sentence({ running }: Live, session: SessionPage, words: Words): string {
  if (running === null) return words.live.between;
  const at = setting(running.workers, running.threads, session.has_threads);
  const load = running.offered_rps !== null
    ? rate(running.offered_rps) : words.trials.clients(running.clients ?? 0);
  const left = running.left_s === null ? "" : ` · ${words.live.left(span(running.left_s))}`;
  const purpose = words.purposes[running.purpose];
  return `${words.live.trial(running.id)}: ${at}, ${purpose}, ${load}${left}`;
}

function lastSecond({ running, seconds }: Live, words: Words): string {
  const last = seconds.at(-1);
  if (!last || !running) return "\u00a0";
  const p95 = last.p95_s === null ? "" : ` · p95 ${latency(last.p95_s)}`;
  const done = words.live.of(span(last.at_s + 1), span(running.duration_s));
  return `${words.live.phases[last.phase]} · ${done} · ${rate(last.replies)}${p95}`;
}

/** For those who don't see it: trials that ended, a new state, the decision. Nothing else. */
export function LiveRegion({ session }: { session: SessionPage }) {
  const words = useWords();
  const [said, say] = useState("");
  const last = useRef(session);
  useEffect(() => {
    const before = last.current;
    last.current = session;
    if (before === session) return;
    const trial = session.trials.at(-1);
    if (before.state !== session.state) {
      say(words.live.stateNow(words.head.state[session.state]));
    } else if (before.decision === null && session.decision !== null) say(words.live.decided);
    else if (trial && session.trials.length > before.trials.length) {
      const at = setting(trial.workers, trial.threads, session.has_threads);
      say(words.live.ended(trial.id, at, isolated(words.outcome(trial.outcome))));
    }
  }, [session, words]);
  return <div class="unseen" aria-live="polite" data-part="said">{said}</div>;
}
