// How the reader wants the page: language and theme, for every part that asks.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Language } from "./language";
import type { Theme } from "./route";
import type { Words } from "./words";

export interface View {
  language: Language;
  theme: Theme;
  words: Words;
  /** True where a program answers: predictions may be asked for. */
  isServed: boolean;
}

/** Of every part: `App` says what it is. */
export const ViewContext = createContext<View>(undefined as never);

export function useView(): View {
  return useContext(ViewContext);
}

export function useWords(): Words {
  return useContext(ViewContext).words;
}
