// A table in a box of its own, in which it scrolls where the page is narrower than it.

import type { ComponentChildren } from "preact";

import { Outside } from "./Outside";
import { Scroll } from "./Scroll";

export function WideTable(props: {
  /** For people who do not see it. */
  title: string;
  /** For those who look for it in the page: its `data-table`. */
  name?: string;
  class?: string;
  tall?: boolean;
  /** Its `thead`, and the bodies. */
  children: ComponentChildren;
}) {
  return (
    <Scroll label={props.title} tall={props.tall ?? false}>
      <table class={props.class} data-table={props.name}>
        <caption class="unseen"><Outside text={props.title} /></caption>
        {props.children}
      </table>
    </Scroll>
  );
}
