// The pages that ask the program for what they show.

import { useEffect, useMemo, useState } from "preact/hooks";

import * as api from "../api";
import type { PageOf } from "../decode";
import { useLive } from "../live";
import { Frame } from "../parts/Header";
import { Outside } from "../parts/Outside";
import { Predict } from "../parts/Predict";
import { hashOf, type Place } from "../route";
import { inLanguage } from "../language";
import { useView } from "../view";
import { fill, type Words } from "../words";
import { CompareView } from "./CompareView";
import { ListView } from "./ListView";
import { About, SessionView } from "./SessionView";

export function Served({ place }: { place: Place }) {
  useTitle(place);
  switch (place.page) {
    case "list":
      return <ListView />;
    case "compare":
      return <ServedCompare key={`${place.a}-${place.b}`} a={place.a} b={place.b} />;
    case "predict":
      return <ServedPredict key={place.id} id={place.id} />;
    default:
      return <ServedSession key={place.id} id={place.id} />;
  }
}

/** One document shows several pages; its title says which. */
function useTitle(place: Place) {
  const { words } = useView();
  useEffect(() => {
    document.title = `${titleOf(place, words)} · sweetspot`;
  }, [place, words]);
}

function titleOf(place: Place, words: Words): string {
  switch (place.page) {
    case "list":
      return words.sessions;
    case "compare":
      return `${words.comparison}: ${place.a}, ${place.b}`;
    case "predict":
      return `${words.predict}: ${fill(words.session_id, { id: place.id })}`;
    default:
      return fill(words.session_id, { id: place.id });
  }
}

function ServedSession({ id }: { id: number }) {
  const { live, problem } = useLive(id);
  if (!live) return <Waiting problem={problem} />;
  return <SessionView page={live.page} session={live.page.session} live={live} />;
}

function ServedPredict({ id }: { id: number }) {
  const { words, language } = useView();
  const { live, problem } = useLive(id);
  const stored = live?.page.session;
  const session = useMemo(() => stored && inLanguage(stored, language), [stored, language]);
  if (!session) return <Waiting problem={problem} />;
  return (
    <Frame about={<About session={session} />}>
      <section class="answer"><h1>{words.predict}</h1></section>
      {session.predict
        ? <Predict session={session} known={session.predict} />
        : <p>{words.nothing}</p>}
      <p>
        <a href={hashOf({ page: "session", id }, location.hash)}>
          {fill(words.session_id, { id })}
        </a>
      </p>
    </Frame>
  );
}

function ServedCompare({ a, b }: { a: number; b: number }) {
  const [page, setPage] = useState<PageOf<"compare"> | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => api.ask((signal) => api.compare(a, b, signal), setPage, setProblem), [a, b]);
  if (!page) return <Waiting problem={problem} />;
  return <CompareView page={page} compared={page.compare} />;
}

function Waiting({ problem }: { problem: string | null }) {
  const { words } = useView();
  return (
    <Frame>
      {problem === null
        ? <p>{words.loading}</p>
        : <p class="problem" role="alert"><Outside text={problem} /></p>}
    </Frame>
  );
}
