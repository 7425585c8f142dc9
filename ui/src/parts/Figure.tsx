// A chart with its heading, what to look for, its legend, and the table behind it.

import type { ComponentChildren } from "preact";

import { visible } from "../outside";
import type { Table } from "../table";
import { Chart, type ChartProps } from "./Chart";
import { DataTable } from "./DataTable";
import { Section } from "./Section";

export interface LegendEntry {
  text: string;
  colour: string;
  /** How it is drawn; a patch when nothing is said. */
  as?: "patch" | "line" | "dashed" | "pale" | "symbol";
  symbol?: string;
}

interface FigureProps extends Omit<ChartProps, "name"> {
  id: string;
  /** Of the chart and its table; the part's own when nothing is said. */
  name?: string;
  title: string;
  lead?: ComponentChildren;
  legend?: LegendEntry[];
  controls?: ComponentChildren;
  /** Drawn right under the chart, on the same axis. */
  below?: ComponentChildren;
  note?: ComponentChildren;
  table: () => Table;
}

export function Figure(props: FigureProps) {
  const { id, title, lead, legend, controls, below, note, table, ...chart } = props;
  return (
    <Section id={id} title={title} lead={lead}>
      {controls && <div class="controls">{controls}</div>}
      {legend && <Legend entries={legend} />}
      <Chart name={id} {...chart} />
      {note && <p class="note">{note}</p>}
      <DataTable table={table} title={title} />
      {below}
    </Section>
  );
}

/** A smaller one inside another part, such as a trial's. */
export function SmallFigure(
  props: ChartProps & Pick<FigureProps, "title" | "legend" | "note" | "table">,
) {
  return (
    <section class="small-figure">
      <h3>{props.title}</h3>
      {props.legend && <Legend entries={props.legend} />}
      <Chart name={props.name} label={props.label} draw={props.draw} of={props.of} />
      {props.note && <p class="note">{props.note}</p>}
      <DataTable table={props.table} title={props.title} />
    </section>
  );
}

function Legend({ entries }: { entries: LegendEntry[] }) {
  return (
    <ul class="legend">
      {entries.map((entry) => (
        <li key={entry.text}>
          <span
            class={`swatch ${entry.as ?? "patch"}`}
            style={{ "--swatch": entry.colour } as Record<string, string>}
            aria-hidden="true"
          >
            {entry.symbol}
          </span>
          <bdi>{visible(entry.text)}</bdi>
        </li>
      ))}
    </ul>
  );
}
