// The page's words as the program writes them; `words.json` is its own (tests/it/page.rs).

import type { Language } from "../src/language";
import type { Words } from "../src/words";
import json from "./words.json";

export const words: Record<Language, Words> = json;
export const { en, ja } = words;
