// Both languages have the same keys: `ja.ts` is checked against the type of `en.ts`.

import type { Language } from "../language";
import { en } from "./en";
import { ja } from "./ja";

export type Words = typeof en;

export function wordsOf(language: Language): Words {
  return language === "ja" ? ja : en;
}
