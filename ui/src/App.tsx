// Which page is shown, and how: by what the data has, or by what the address says.

import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";

import type { Page } from "./data";
import { CompareView } from "./pages/CompareView";
import { LabView } from "./pages/LabView";
import { Served } from "./pages/Served";
import { SessionView } from "./pages/SessionView";
import { preferred } from "./preferred";
import { parse, type Route } from "./route";
import { ViewContext, type View } from "./view";
import { wordsOf } from "./words";

/** `page` null: under `serve`, where the address says what to ask for. */
export function App({ page }: { page: Page | null }) {
  const route = useRoute();
  const view = useMemo((): View => ({
    language: route.language,
    theme: route.theme,
    words: wordsOf(route.language),
    isServed: page === null,
  }), [route.language, route.theme, page]);
  useLayoutEffect(() => {
    document.documentElement.lang = route.language;
    document.documentElement.dataset["theme"] = route.theme;
  }, [route.language, route.theme]);
  return (
    <ViewContext.Provider value={view}>
      {page === null ? <Served place={route.place} /> : <Shown page={page} />}
    </ViewContext.Provider>
  );
}

function Shown({ page }: { page: Page }) {
  if ("session" in page) return <SessionView page={page} session={page.session} />;
  if ("compare" in page) return <CompareView page={page} compared={page.compare} />;
  return <LabView page={page} lab={page.lab} />;
}

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return useMemo(() => parse(hash, preferred()), [hash]);
}
