// What runs now. It keeps its height whether or not a trial runs, so that nothing below moves.

import { useEffect, useRef, useState } from "preact/hooks";

import { drawRunning, runningTable } from "../charts/running";
import type { SessionPage } from "../data";
import { latency, rate, span } from "../figures";
import { inLanguage } from "../language";
import type { Live } from "../live";
import { isolated } from "../outside";
import { nameOf } from "../setting";
import { useView, useWords } from "../view";
import { fill, type Words } from "../words";
import { Chart } from "./Chart";
import { DataTable } from "./DataTable";
import { Outside } from "./Outside";

export function LivePanel({ live }: { live: Live }) {
  const { words, language } = useView();
  const { running, seconds } = live;
  return (
    <section class="live" id="live" aria-labelledby="live-title">
      <h2 id="live-title" tabIndex={-1}><span class="pulse" aria-hidden="true" />
        {words.running}</h2>
      <p class="now" data-part="running">
        {running === null
          ? words.between_trials : <Outside text={inLanguage(running, language).text} />}
      </p>
      <Chart name="running" label={words.live_label} of={[running, seconds]}
        draw={(look) => drawRunning(running, seconds, look)} />
      <p class="note">{live.isConnected ? lastSecond(live, words) : words.lost}</p>
      <DataTable table={() => runningTable(seconds, words)} title={words.live_label} />
    </section>
  );
}

function lastSecond({ running, seconds }: Live, words: Words): string {
  const last = seconds.at(-1);
  if (!last || !running) return "\u00a0";
  const p95 = last.p95_s === null ? "" : ` · p95 ${latency(last.p95_s)}`;
  const done = fill(words.done_of, { done: span(last.at_s + 1), all: span(running.duration_s) });
  return `${words[last.phase]} · ${done} · ${rate(last.replies)}${p95}`;
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
      say(fill(words.state_now, { state: words[session.state] }));
    } else if (before.decision === null && session.decision !== null) say(words.decided);
    else if (trial && session.trials.length > before.trials.length) {
      const at = nameOf(trial, session);
      say(fill(words.ended, { id: trial.id, setting: at, outcome: isolated(trial.outcome) }));
    }
  }, [session, words]);
  return <div class="unseen" aria-live="polite" data-part="said">{said}</div>;
}
