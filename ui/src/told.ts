// Sentences that the program stored in English, in the reader's language.

import type { Language, Sentences } from "./data";

/** What is shown, with every sentence that is told otherwise in this language. Pure. */
export function told<Content extends { sentences: Sentences }>(
  content: Content,
  language: Language,
): Content {
  if (language === "en") return content;
  const { sentences, ...shown } = content;
  return { ...(walk(shown, sentences[language]) as Content), sentences };
}

function walk(value: unknown, known: Record<string, string>): unknown {
  if (typeof value === "string") return Object.hasOwn(known, value) ? known[value] : value;
  if (Array.isArray(value)) {
    // Most of what a page carries, and nothing to read in it.
    return typeof value[0] === "number" ? value : value.map((one) => walk(one, known));
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, known)]));
}
