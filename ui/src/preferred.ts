// The languages that the reader is likely to want, best first: a file that was written in Japanese
// begins in Japanese, whatever the browser speaks.

import type { Language } from "./language";

const written: Language | null =
  typeof document !== "undefined" && document.documentElement.lang === "ja" ? "ja" : null;

export function preferred(): readonly string[] {
  return written === null ? navigator.languages : [written, ...navigator.languages];
}
