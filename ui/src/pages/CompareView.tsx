// Two sessions beside each other.

import { useMemo } from "preact/hooks";

import { compareTable, drawCompare, figureFormat, figureName, ratioRows } from "../charts/compare";
import type { ComparedSide, ComparePage, Machine, Page } from "../data";
import { bytes, change, interval, moment, ratio } from "../figures";
import { DataTable } from "../parts/DataTable";
import { Figure } from "../parts/Figure";
import { Frame } from "../parts/Header";
import { Outside } from "../parts/Outside";
import { Sentences } from "../parts/Rest";
import { Section } from "../parts/Section";
import { WideTable } from "../parts/WideTable";
import { inLanguage } from "../language";
import { useView } from "../view";
import { fill, type Words } from "../words";

export function CompareView({ page, compared: stored }: {
  page: Page;
  compared: ComparePage;
}) {
  const { words, language } = useView();
  const compared = useMemo(() => inLanguage(stored, language), [stored, language]);
  const standing = compared.change;
  const verdict = standing === null ? words.comparison : words[`compared_${standing}` as const];
  const count = ratioRows(compared).length;
  return (
    <Frame about={<p>{words.comparison}</p>} version={page.version}>
      <section class="answer">
        <h1 class={standing ?? ""}>{verdict}</h1>
        <p class="lead" data-part="reason"><Outside text={compared.reason} /></p>
      </section>
      <Sentences id="refused" title={words.refused} texts={compared.refused} />
      <Sides compared={compared} />
      {count > 0 && (
        <Figure id="ratios" name="compare" title={words.ratios}
          label={fill(words.compare_label, { figures: count })}
          draw={(look) => drawCompare(compared, look)} of={[compared]}
          table={() => compareTable(compared, words)} />
      )}
      <Figures compared={compared} />
      <Sentences id="differences" title={words.differences} texts={compared.differences} />
      <Sentences id="left-out" title={words.left_out} texts={compared.left_out} />
      <Sentences id="notes" title={words.notes} texts={compared.notes} />
    </Frame>
  );
}

function Sides({ compared }: { compared: ComparePage }) {
  const { words, language } = useView();
  const { a, b } = compared;
  const rows: [string, (side: ComparedSide) => string | null][] = [
    [words.name, (side) => side.name],
    [words.started, (side) => side.started_at && moment(side.started_at, language)],
    [words.app, (side) => side.app],
    [words.server, (side) => side.server],
    [words.runtime, (side) => side.runtime],
    [words.setting, (side) =>
      side.workers === null ? null : `${side.workers} x ${side.threads ?? 1}`],
    [words.goal, (side) => side.slo],
    [words.machine, (side) => machineText(side.machine, words)],
  ];
  return (
    <Section id="sides" title={words.sides}>
      <WideTable title={words.sides} name="sides">
        <thead>
          <tr><td /><th scope="col">A</th><th scope="col">B</th></tr>
        </thead>
        <tbody>
          {rows.map(([name, of]) => (
            <tr key={name} class={of(a) === of(b) ? undefined : "differs"}>
              <th scope="row">{name}</th>
              <td><Outside text={of(a) ?? "–"} /></td>
              <td><Outside text={of(b) ?? "–"} /></td>
            </tr>
          ))}
        </tbody>
      </WideTable>
    </Section>
  );
}

export function machineText(machine: Machine | null, words: Words): string | null {
  if (machine === null) return null;
  const { cores, memory_bytes, cpu_model, kernel } = machine;
  return `${cores} ${words.cores}, ${bytes(memory_bytes)}, ${cpu_model}, ${kernel}`;
}

function Figures({ compared }: { compared: ComparePage }) {
  const { words } = useView();
  if (compared.figures.length === 0) return null;
  return (
    <Section id="figures" title={words.figures}>
      <WideTable title={words.figures} name="figures">
        <thead>
          <tr>
            <th scope="col">{words.figure}</th>
            {["A", "B", words.compared_change, "B / A"].map((head) => (
              <th scope="col" key={head} class="figure">{head}</th>
            ))}
            <th scope="col">{words.verdict}</th>
          </tr>
        </thead>
        <tbody>
          {compared.figures.map((it) => {
            const format = figureFormat(it.figure);
            return (
              <tr key={it.figure}>
                <th scope="row"><Outside text={figureName(it, compared)} /></th>
                <td class="figure">{format(it.a)}</td>
                <td class="figure">{format(it.b)}</td>
                <td class="figure">{it.ratio === null ? "–" : change(it.ratio)}</td>
                <td class="figure">{it.ratio === null ? "–" : ratio(it.ratio)}
                  {it.ratio_interval &&
                    ` (${interval(it.ratio_interval, ratio, words.between)})`}</td>
                <td>{it.change === null ? "–" : (
                  <span class={`outcome ${it.change}`}>
                    {words[`standing_${it.change}` as const]}
                  </span>)}
                  {it.within_blocks && <span class="note"> {words.within_blocks}</span>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </WideTable>
      <DataTable table={() => compareTable(compared, words)} title={words.figures} />
    </Section>
  );
}
