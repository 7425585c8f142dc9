// The map, with a button over each cell: hover or focus says all of it, a press filters trials.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { drawMap, mapRows, mapTable, markText, type Box, type MapRow } from "../charts/map";
import type { SessionPage } from "../data";
import { bytes, interval, number, rate, type Interval } from "../figures";
import { isolated } from "../outside";
import { isSame, nameOf, type Setting } from "../setting";
import { useWords } from "../view";
import { fill, type Words } from "../words";
import { useWidth } from "./Chart";
import { DataTable } from "./DataTable";
import { jump } from "./Header";
import { Outside } from "./Outside";
import { Scroll } from "./Scroll";
import { Section } from "./Section";

/** A cell narrower than this can't be read: the map scrolls in its box instead. */
const CELL_PX = 46;

interface Props {
  session: SessionPage;
  picked: Setting | null;
  pick: (at: Setting | null) => void;
}

export function MapFigure(props: Props) {
  const { session } = props;
  const words = useWords();
  const rows = mapRows(session);
  const title = session.text.map_heading;
  return (
    <Section id="map" title={title} lead={words.map_lead}>
      <MapLegend rows={rows} words={words} />
      <Scroll label={title}><Cells {...props} rows={rows} /></Scroll>
      <PickedLine {...props} />
      <NotRun session={session} rows={rows} />
      <DataTable table={() => mapTable(session, words)} title={title} />
    </Section>
  );
}

function MapLegend({ rows, words }: { rows: MapRow[]; words: Words }) {
  const has = (kind: MapRow["kind"]) => rows.some((row) => row.kind === kind);
  const marked = (mark: string) => rows.some((row) => row.cell.mark === mark);
  return (
    <ul class="legend map-legend">
      {has("measured") && <li><span class="swatch solid" />{words.measured}</li>}
      {has("predicted") && <li><span class="swatch hatched" />{words.predicted}</li>}
      {has("crossed") && <li><span class="swatch crossed" />{words.cannot_run}</li>}
      {marked("chosen") && <li><span class="swatch chosen" />{words.chosen}</li>}
      {marked("equivalent") && <li><span class="swatch equal" />{words.as_good}</li>}
      {rows.some((row) => row.isToday) && <li><span class="swatch today" />{words.today}</li>}
    </ul>
  );
}

function Cells({ session, rows, picked, pick }: Props & { rows: MapRow[] }) {
  const words = useWords();
  const outer = useRef<HTMLDivElement>(null);
  const drawing = useRef<HTMLDivElement>(null);
  const width = useWidth(outer);
  const [boxes, setBoxes] = useState<Box[]>([]);
  const [hovered, setHovered] = useState<number | null>(null);
  useLayoutEffect(() => {
    if (!drawing.current || width === 0) return;
    const columns = new Set(rows.map((row) =>
      session.has_threads ? row.cell.threads : row.cell.workers)).size;
    const look = { width: Math.max(width, 66 + columns * CELL_PX), words };
    const { svg, boxes: drawn } = drawMap(session, rows, look);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", labelOf(rows, words));
    drawing.current.replaceChildren(svg);
    setBoxes(drawn);
  }, [session, width, words]);
  const shown = hovered === null ? undefined : boxes[hovered];
  return (
    <div class="map" ref={outer}>
      <div ref={drawing} class="chart" data-chart="map" />
      <div class="map-cells" onKeyDown={(event) => move(event, boxes)}>
        {boxes.map(({ row, ...at }, i) => (
          <button
            type="button"
            class="map-cell"
            key={`${row.cell.workers}-${row.cell.threads}`}
            style={{ left: `${at.left}px`, top: `${at.top}px`, width: `${at.width}px`,
              height: `${at.height}px` }}
            tabIndex={i === firstStop(boxes) ? 0 : -1}
            aria-label={cellText(row, session, words).map(isolated).join(", ")}
            aria-pressed={isSame(picked, row.cell)}
            onClick={() => pick(isSame(picked, row.cell) ? null : row.cell)}
            onMouseEnter={() => setHovered(i)}
            onMouseLeave={() => setHovered(null)}
            onFocus={() => setHovered(i)}
            onBlur={() => setHovered(null)}
          />
        ))}
        {shown && <Tooltip box={shown} lines={cellText(shown.row, session, words)} />}
      </div>
    </div>
  );
}

/** One stop for the tab key, arrows from there: the chosen cell, or the first. */
function firstStop(boxes: Box[]): number {
  return Math.max(0, boxes.findIndex((box) => box.row.cell.mark === "chosen"));
}

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

function move(event: KeyboardEvent, boxes: Box[]) {
  const step = STEPS[event.key];
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
  const from = boxes[buttons.indexOf(document.activeElement as HTMLButtonElement)];
  if (!step || !from) return;
  event.preventDefault();
  const wanted = boxes
    .map((box, i) => ({ i, x: (box.left - from.left) * step[0], y: (box.top - from.top) * step[1],
      isInLine: step[0] === 0 ? box.left === from.left : box.top === from.top }))
    .filter((it) => it.isInLine && it.x + it.y > 0)
    .sort((a, b) => a.x + a.y - (b.x + b.y))[0];
  if (wanted) buttons[wanted.i]?.focus();
}

function Tooltip({ box, lines }: { box: Box; lines: string[] }) {
  const style = { left: `${box.left + box.width / 2}px`, top: `${box.top + box.height}px` };
  return (
    <div class="tooltip" style={style} aria-hidden="true">
      {lines.map((line, i) => <div key={i}><Outside text={line} /></div>)}
    </div>
  );
}

/** All that is known of a cell, a line a matter. */
function cellText(row: MapRow, session: SessionPage, words: Words): string[] {
  const { cell } = row;
  const name = nameOf(cell, session);
  const marks = [
    ...(cell.mark === null || cell.mark === "today" ? [] : [markText(cell.mark, words)]),
    ...(row.isToday ? [words.today] : []),
  ];
  const lines = [marks.length === 0 ? name : `${name} (${marks.join(", ")})`];
  if (cell.rps === null) lines.push(words[cell.state]);
  else lines.push(`${rate(cell.rps)}${bounds(cell.rps_interval, words)}: ${
    words[cell.state]}`);
  if (cell.predicted_rps !== null && cell.state !== "predicted") {
    lines.push(`${words.predicted} ${rate(cell.predicted_rps)}${
      bounds(cell.predicted_rps_interval, words)}`);
  }
  if (cell.memory_bytes !== null) {
    lines.push(`${words.memory} ${cell.is_memory_measured ? "" : "~ "}${
      bytes(cell.memory_bytes)}`);
  }
  if (cell.limit !== null) lines.push(`${words.limit}: ${cell.limit}`);
  if (cell.why !== null) lines.push(cell.why);
  return lines;
}

function bounds(rps: Interval | null, words: Words): string {
  return rps === null ? "" : ` (${interval(rps, number, words.between)})`;
}

/** Says what a press did, and leads to it: the trials are far below. */
function PickedLine({ session, picked, pick }: Props) {
  const words = useWords();
  if (picked === null) return null;
  const at = nameOf(picked, session);
  const own = session.trials.filter((trial) => isSame(picked, trial)).length;
  return (
    <p class="picked" data-part="picked">
      <a href="#trials" onClick={(event) => jump(event, "trials")}>
        {fill(words.trials_of, { setting: at, count: own })}
      </a>
      <button type="button" onClick={() => pick(null)}>{words.show_all}</button>
    </p>
  );
}

function labelOf(rows: MapRow[], words: Words): string {
  const count = (kind: MapRow["kind"]) => rows.filter((row) => row.kind === kind).length;
  return fill(words.map_label, { measured: count("measured"), predicted: count("predicted"),
    crossed: count("crossed") });
}

/** Why crossed settings can't be run: a line a reason, for print and for fingers. */
function NotRun({ session, rows }: { session: SessionPage; rows: MapRow[] }) {
  const words = useWords();
  const reasons = new Map<string, string[]>();
  for (const { kind, cell } of rows) {
    if (kind !== "crossed") continue;
    const why = cell.why ?? words[cell.state];
    const name = nameOf(cell, session);
    reasons.set(why, [...(reasons.get(why) ?? []), name]);
  }
  if (reasons.size === 0) return null;
  return (
    <div class="note" data-part="not-run">
      <span>{words.cannot_run}:</span>
      <ul>
        {[...reasons].map(([why, names]) => (
          <li key={why}><b>{names.join(", ")}</b>: <Outside text={why} /></li>
        ))}
      </ul>
    </div>
  );
}
