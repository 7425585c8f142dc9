// A running session: its page, and what server-sent events change in it.

import { useEffect, useRef, useState } from "preact/hooks";

import * as api from "./api";
import type { ListRow, Running, Second, SessionHead, TrialRow } from "./data";
import type { PageOf } from "./decode";

export interface Live {
  page: PageOf<"session">;
  running: Running | null;
  /** Of the running trial, oldest first. */
  seconds: Second[];
  /** False while the stream is down; the browser tries again by itself. */
  isConnected: boolean;
  /** False when the program that measured died before it could say how the session ended. */
  isAlive: boolean;
}

/** What `api/sessions/ID/live` sends while the session runs. */
export interface LiveMessages {
  /** All but the trials, whenever anything but a trial changed. */
  session: SessionHead;
  /** A finished one. */
  trial: TrialRow;
  /** A trial began; null: none runs. */
  running: Running | null;
  /** One second of the running one. */
  second: Second;
  /** The list changed. */
  sessions: ListRow[];
}

export type Message = {
  [Kind in keyof LiveMessages]: { kind: Kind; value: LiveMessages[Kind] };
}[keyof LiveMessages];

const KINDS = ["session", "trial", "running", "second", "sessions"] as const;

/** Longest trial whose seconds are kept; older ones leave. */
const SECONDS_MAX = 900;

/** The next state; the same object where nothing changed. Pure. */
export function apply(live: Live, message: Message): Live {
  const session = live.page.session;
  switch (message.kind) {
    case "session": {
      const next = { ...message.value, trials: session.trials };
      return { ...live, page: { ...live.page, session: next } };
    }
    case "trial": {
      const others = session.trials.filter((trial) => trial.id !== message.value.id);
      const trials = [...others, message.value].sort((a, b) => a.id - b.id);
      return { ...live, page: { ...live.page, session: { ...session, trials } } };
    }
    case "running":
      return { ...live, running: message.value, seconds: [] };
    case "second":
      return { ...live, seconds: [...live.seconds, message.value].slice(-SECONDS_MAX) };
    case "sessions": {
      const row = message.value.find((it) => it.id === session.session);
      return row ? { ...live, isAlive: row.is_alive } : live;
    }
  }
}

/** Follows a session for as long as it runs. */
export function useLive(id: number): { live: Live | null; problem: string | null } {
  const [live, setLive] = useState<Live | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isRunning = live?.page.session.state === "running";
  const waiting = useRef<Message[]>([]);
  const load = useLoad(id, setLive, setProblem);
  useEffect(() => {
    if (!isRunning) return undefined;
    const source = new EventSource(`api/sessions/${id}/live`);
    let wasLost = false;
    let frame = 0;
    // Several messages of one moment are drawn once.
    const flush = () => {
      frame = 0;
      const messages = waiting.current.splice(0);
      setLive((before) => before && messages.reduce(apply, before));
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        const value: unknown = JSON.parse((event as MessageEvent<string>).data);
        waiting.current.push({ kind, value } as Message);
        frame ||= requestAnimationFrame(flush);
      });
    }
    source.onopen = () => {
      setLive((before) => before && { ...before, isConnected: true });
      // What happened in between was not sent.
      if (wasLost) load();
      wasLost = false;
    };
    source.onerror = () => {
      wasLost = true;
      setLive((before) => before && { ...before, isConnected: false });
    };
    return () => {
      source.close();
      cancelAnimationFrame(frame);
      waiting.current = [];
    };
  }, [id, isRunning]);
  const wasRunning = useRef(false);
  useEffect(() => {
    const hasEnded = wasRunning.current && !isRunning;
    wasRunning.current = isRunning;
    // What is made of a session once it has ended, such as predictions, is in no message.
    return hasEnded ? load() : undefined;
  }, [id, isRunning]);
  return { live, problem };
}

function useLoad(
  id: number,
  setLive: (change: (before: Live | null) => Live | null) => void,
  setProblem: (text: string | null) => void,
): () => void {
  const load = () => api.ask((signal) => api.session(id, signal), (page) => {
    setProblem(null);
    setLive((before) => ({ running: null, seconds: [], isConnected: true, isAlive: true, ...before,
      page }));
  }, setProblem);
  useEffect(() => {
    setLive(() => null);
    return load();
  }, [id]);
  return load;
}
