// A part of a page under its own heading.

import type { ComponentChildren } from "preact";

export function Section(props: {
  id: string;
  title: string;
  /** What to look for. */
  lead?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  const { id, title, lead, children } = props;
  return (
    <section class={props.class ?? "figure"} id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} tabIndex={-1}>{title}</h2>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}
