// Lines to paste, and the button that copies exactly these.

import { useEffect, useRef, useState } from "preact/hooks";

import { copy } from "../clipboard";
import { visible } from "../outside";
import { useWords } from "../view";

const SHOWN_MS = 2500;

export function CopyButton(props: { text: () => string; label?: string; what: string }) {
  const words = useWords();
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  const press = async () => {
    setState((await copy(props.text())) ? "copied" : "failed");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState("idle"), SHOWN_MS);
  };
  const idle = props.label ?? words.copy;
  const texts = { idle, copied: words.copied, failed: words.not_copied };
  return (
    <button
      type="button"
      class={`copy ${state}`}
      aria-label={state === "idle" ? `${idle}: ${props.what}` : texts[state]}
      onClick={press}
    >
      <span aria-live="polite">{texts[state]}</span>
    </button>
  );
}

export function CopyBlock(props: { title: string; note?: string; text: string; name: string }) {
  return (
    <section class="paste" data-paste={props.name}>
      <header>
        <h3>{props.title}</h3>
        {props.note && <span class="note"><bdi>{visible(props.note)}</bdi></span>}
        <CopyButton text={() => props.text} what={props.title} />
      </header>
      <pre tabIndex={0} role="group" aria-label={props.title}>
        <bdi>{visible(props.text)}</bdi>
      </pre>
    </section>
  );
}
