// What the page is given in each language, in the reader's.

export type Language = "en" | "ja";

/** What is shown: each `{en, ja}` is that of this language. Pure. */
export function inLanguage<Content>(content: Content, language: Language): Content {
  return walk(content, language) as Content;
}

function walk(value: unknown, language: Language): unknown {
  if (Array.isArray(value)) {
    // Most of what a page carries, and nothing to read in it.
    return typeof value[0] === "number" ? value : value.map((one) => walk(one, language));
  }
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value);
  if (fields.length === 2 && Object.hasOwn(value, "en") && Object.hasOwn(value, "ja")) {
    return walk((value as Record<Language, unknown>)[language], language);
  }
  return Object.fromEntries(fields.map(([key, one]) => [key, walk(one, language)]));
}
