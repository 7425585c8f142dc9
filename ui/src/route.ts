// What the address says after its hash: which page, and how to show it. Nothing else remembers
// (a file opened from a disk has no storage of its own), so a link carries the whole view.
//
// `#/session/3?lang=ja&theme=dark`; a mailed file has no path: `#?lang=ja`.

import type { Language } from "./language";

export type Theme = "light" | "dark" | "system";

export type Place =
  | { page: "list" }
  | { page: "session"; id: number }
  | { page: "predict"; id: number }
  | { page: "compare"; a: number; b: number };

export interface Route {
  place: Place;
  language: Language;
  theme: Theme;
}

export function parse(hash: string, browserLanguages: readonly string[]): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  const asked = new URLSearchParams(query);
  const theme = asked.get("theme");
  return {
    place: placeOf(path),
    language: languageOf(asked.get("lang"), browserLanguages),
    theme: theme === "light" || theme === "dark" ? theme : "system",
  };
}

function placeOf(path: string): Place {
  const [, page, first, second] = path.split("/");
  const [a, b] = [Number(first), Number(second)];
  if (page === "session" && Number.isInteger(a)) return { page, id: a };
  if (page === "predict" && Number.isInteger(a)) return { page, id: a };
  if (page === "compare" && Number.isInteger(a) && Number.isInteger(b)) return { page, a, b };
  return { page: "list" };
}

function languageOf(asked: string | null, browserLanguages: readonly string[]): Language {
  if (asked === "en" || asked === "ja") return asked;
  return browserLanguages[0]?.toLowerCase().startsWith("ja") ? "ja" : "en";
}

/** The hash of a place, keeping what was switched by hand. */
export function hashOf(place: Place, current: string): string {
  const query = current.split("?")[1];
  return `#${pathOf(place)}${query ? `?${query}` : ""}`;
}

function pathOf(place: Place): string {
  switch (place.page) {
    case "list":
      return "/";
    case "compare":
      return `/compare/${place.a}/${place.b}`;
    default:
      return `/${place.page}/${place.id}`;
  }
}

/** The hash with one choice changed. */
export function switched(current: string, name: "lang" | "theme", value: string): string {
  const [path = "", query = ""] = current.replace(/^#/, "").split("?");
  const asked = new URLSearchParams(query);
  if (value === "system") asked.delete(name);
  else asked.set(name, value);
  const text = asked.toString();
  return `#${path}${text ? `?${text}` : ""}`;
}
