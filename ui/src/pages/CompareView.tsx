// Two sessions beside each other.

import { useMemo } from "preact/hooks";

import { compareTable, drawCompare, figureFormat, ratioRows } from "../charts/compare";
import type { ComparedSide, CompareReport, Machine, Page } from "../data";
import { bytes, change, interval, moment, ratio } from "../figures";
import { DataTable } from "../parts/DataTable";
import { Figure } from "../parts/Figure";
import { Header } from "../parts/Header";
import { Outside } from "../parts/Outside";
import { Sentences } from "../parts/Rest";
import { Section } from "../parts/Section";
import { WideTable } from "../parts/WideTable";
import { inLanguage } from "../language";
import { useView } from "../view";
import type { Words } from "../words/words";

export function CompareView({ page, compared: stored }: { page: Page; compared: CompareReport }) {
  const { words, language } = useView();
  const compared = useMemo(() => inLanguage(stored, language), [stored, language]);
  const t = words.compare;
  const verdict = compared.change === null ? t.title : t.verdict[compared.change];
  const count = ratioRows(compared).length;
  return (
    <>
      <Header><p>{t.title}</p></Header>
      <main id="main" tabIndex={-1}>
        <section class="answer">
          <h1 class={compared.change ?? ""}>{verdict}</h1>
          <p class="lead" data-part="reason"><Outside text={compared.reason} /></p>
        </section>
        <Sentences id="refused" title={t.refused} texts={compared.refused} />
        <Sides compared={compared} />
        {count > 0 && (
          <Figure id="ratios" name="compare" title={t.ratios} label={words.labels.compare(count)}
            draw={(look) => drawCompare(compared, look)} of={[compared]}
            table={() => compareTable(compared, words)} />
        )}
        <Figures compared={compared} />
        <Sentences id="differences" title={t.differences} texts={compared.differences} />
        <Sentences id="left-out" title={t.leftOut} texts={compared.left_out} />
        <Sentences id="notes" title={words.sections.notes} texts={compared.notes} />
      </main>
      <footer>{words.head.madeBy(page.version)}</footer>
    </>
  );
}

function Sides({ compared }: { compared: CompareReport }) {
  const { words, language } = useView();
  const { a, b } = compared;
  const rows: [string, (side: ComparedSide) => string | null][] = [
    [words.compare.name, (side) => side.name],
    [words.columns.started, (side) => side.started_at && moment(side.started_at, language)],
    [words.columns.app, (side) => side.app],
    [words.columns.server, (side) => side.server],
    [words.compare.runtime, (side) => side.runtime],
    [words.columns.setting, (side) =>
      side.workers === null ? null : `${side.workers} x ${side.threads ?? 1}`],
    [words.compare.slo, (side) => side.slo],
    [words.compare.machine, (side) => machineText(side.machine, words)],
  ];
  return (
    <Section id="sides" title={words.compare.sides}>
      <WideTable title={words.compare.sides} name="sides">
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
  return `${cores} ${words.predict.cores}, ${bytes(memory_bytes)}, ${cpu_model}, ${kernel}`;
}

function Figures({ compared }: { compared: CompareReport }) {
  const { words } = useView();
  const t = words.columns;
  if (compared.figures.length === 0) return null;
  return (
    <Section id="figures" title={words.compare.figures}>
      <WideTable title={words.compare.figures} name="figures">
        <thead>
          <tr>
            <th scope="col">{t.figure}</th>
            {["A", "B", t.change, t.ratio].map((head) => (
              <th scope="col" key={head} class="figure">{head}</th>
            ))}
            <th scope="col">{t.verdict}</th>
          </tr>
        </thead>
        <tbody>
          {compared.figures.map((it) => {
            const format = figureFormat(it.figure);
            return (
              <tr key={it.figure}>
                <th scope="row"><Outside text={words.figure(it.figure)} /></th>
                <td class="figure">{format(it.a)}</td>
                <td class="figure">{format(it.b)}</td>
                <td class="figure">{it.ratio === null ? "–" : change(it.ratio)}</td>
                <td class="figure">{it.ratio === null ? "–" : ratio(it.ratio)}
                  {it.ratio_interval &&
                    ` (${interval(it.ratio_interval, ratio, words.between)})`}</td>
                <td>{it.change === null ? "–" : (
                  <span class={`outcome ${it.change}`}>{words.changes[it.change]}</span>)}
                  {it.within_blocks && <span class="note"> {words.compare.withinBlocks}</span>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </WideTable>
      <DataTable table={() => compareTable(compared, words)} title={words.compare.figures} />
    </Section>
  );
}
