// A box in which something wide scrolls, so that the page doesn't; reachable by keyboard.

import type { ComponentChildren } from "preact";

import { useWords } from "../view";
import { fill } from "../words";

export function Scroll(props: { label: string; children: ComponentChildren; tall?: boolean }) {
  const words = useWords();
  return (
    <div
      class={props.tall ? "scroll tall" : "scroll"}
      tabIndex={0}
      role="group"
      aria-label={fill(words.scroll_label, { what: props.label })}
    >
      {props.children}
    </div>
  );
}
