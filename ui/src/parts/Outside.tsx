// A value from outside, as text that can't act on its surroundings.

import { visible } from "../outside";

export function Outside({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

/** What something is, and the value from outside. */
export function Pairs(props: { rows: [string, string][]; class?: string }) {
  return (
    <dl class={props.class}>
      {props.rows.map(([what, value]) => (
        <div key={what}><dt><Outside text={what} /></dt><dd><Outside text={value} /></dd></div>
      ))}
    </dl>
  );
}

/** Lines from outside, such as a server's last ones. */
export function Lines({ text, label }: { text: string; label: string }) {
  return (
    <pre class="lines" tabIndex={0} role="group" aria-label={label}>
      <bdi>{visible(text)}</bdi>
    </pre>
  );
}
