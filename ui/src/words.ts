// The words of the page: the program writes them into the document, in each language.

import type { Words } from "./data";
import type { Language } from "./language";

export type { Words };

let known: Record<Language, Words> | undefined;

export function wordsOf(language: Language): Words {
  known ??= JSON.parse(document.getElementById("words")?.textContent ?? "") as typeof known;
  return known![language];
}

/** A sentence with its values, which stand in it as `{name}`. */
export function fill(sentence: string, values: Record<string, string | number>): string {
  return sentence.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}

export function clientsText(count: number, words: Words): string {
  return count === 1 ? words.one_client : fill(words.clients, { count });
}
