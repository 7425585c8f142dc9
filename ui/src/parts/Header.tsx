// The top of every page: whose it is, and how to show it.

import type { ComponentChildren } from "preact";

import type { Language } from "../language";
import { switched, type Theme } from "../route";
import { useView } from "../view";
import { fill } from "../words";

/** A whole page: its head, its parts, and what made it. */
export function Frame({ about, version, children }: {
  about?: ComponentChildren;
  version?: string;
  children: ComponentChildren;
}) {
  const { words } = useView();
  return (
    <>
      <Header>{about}</Header>
      <main id="main" tabIndex={-1}>{children}</main>
      {version && <footer>{fill(words.made_by, { version })}</footer>}
    </>
  );
}

function Header({ children }: { children?: ComponentChildren }) {
  const { words, language, theme, isServed } = useView();
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={toMain}>{words.skip}</a>
      <div class="brand">
        <Mark />
        <span>sweetspot</span>
        {isServed && <a href={switched("#/", "lang", language)}>{words.sessions}</a>}
      </div>
      <div class="about">{children}</div>
      <div class="switches">
        <select
          aria-label={words.language}
          value={language}
          onChange={(event) => change("lang", event.currentTarget.value as Language)}
        >
          <option value="en" lang="en">English</option>
          <option value="ja" lang="ja">日本語</option>
        </select>
        <select
          aria-label={words.theme}
          value={theme}
          onChange={(event) => change("theme", event.currentTarget.value as Theme)}
        >
          {(["system", "light", "dark"] as const).map((name) => (
            <option value={name} key={name}>{words[`theme_${name}` as const]}</option>
          ))}
        </select>
      </div>
    </header>
  );
}

function toMain(event: Event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function change(name: "lang" | "theme", value: string) {
  // `replace`: a switch is no step to go back from.
  location.replace(switched(location.hash, name, value));
}

function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path d="M2 19 C 8 19, 9 5, 13 5 S 18 12, 22 17" fill="none" stroke="currentColor"
        stroke-width="2" stroke-linecap="round" />
      <circle cx="13" cy="5" r="3.2" fill="var(--accent)" />
    </svg>
  );
}

/** Links to the parts of a long page. */
export function Contents({ entries }: { entries: [string, string][] }) {
  const { words } = useView();
  return (
    <nav class="contents" aria-label={words.sections}>
      <ul>
        {entries.map(([id, title]) => (
          <li key={id}>
            <a href={`#${id}`} onClick={(event) => jump(event, id)}>{title}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The hash says which page it is, so links within the page are followed by hand. */
export function jump(event: Event, id: string) {
  event.preventDefault();
  const part = document.getElementById(id);
  part?.scrollIntoView();
  part?.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
}
