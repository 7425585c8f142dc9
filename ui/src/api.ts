// What `serve` is asked. All addresses are relative to the page's own.

import type { Failure, ListRow, Predictions } from "./data";
import { CannotShow, checked, type PageOf } from "./decode";

async function get<T>(address: string, signal?: AbortSignal): Promise<T> {
  const reply = await fetch(address, { signal: signal ?? null, cache: "no-store" });
  if (!reply.ok) throw new CannotShow(await saidBy(reply));
  return (await reply.json()) as T;
}

async function saidBy(reply: Response): Promise<string> {
  try {
    return ((await reply.json()) as Failure).error;
  } catch {
    return `${reply.status} ${reply.statusText}`;
  }
}

/** Asks, and hands on the answer or what went wrong. Returns what ends the asking. */
export function ask<T>(
  question: (signal: AbortSignal) => Promise<T>,
  answered: (answer: T) => void,
  failed: (problem: string) => void,
): () => void {
  const control = new AbortController();
  question(control.signal).then(answered, (error: unknown) => {
    if (!control.signal.aborted) failed(error instanceof Error ? error.message : String(error));
  });
  return () => control.abort();
}

export function sessions(signal?: AbortSignal): Promise<ListRow[]> {
  return get("api/sessions", signal);
}

export async function session(id: number, signal?: AbortSignal): Promise<PageOf<"session">> {
  return checked(await get(`api/sessions/${id}`, signal)) as PageOf<"session">;
}

export async function compare(
  a: number,
  b: number,
  signal?: AbortSignal,
): Promise<PageOf<"compare">> {
  return checked(await get(`api/compare?a=${a}&b=${b}`, signal)) as PageOf<"compare">;
}

export interface Wanted {
  cores: number;
  wait: number;
  workers: number[];
  threads: number[];
}

export function predict(id: number, wanted: Wanted, signal?: AbortSignal): Promise<Predictions> {
  const { cores, wait, workers, threads } = wanted;
  const settings = `workers=${workers.join(",")}&threads=${threads.join(",")}`;
  return get(`api/predict?session=${id}&cores=${cores}&wait=${wait}&${settings}`, signal);
}
