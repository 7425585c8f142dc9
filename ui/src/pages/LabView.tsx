// A published experiment, measured here and set beside what was published.

import { useMemo } from "preact/hooks";
import { useState } from "preact/hooks";

import { drawLab, labFigures, labRows, labTable, runName, type LabFigure } from
  "../charts/lab";
import type { LabResult, Page } from "../data";
import { interval, number, ratio } from "../figures";
import { Figure } from "../parts/Figure";
import { Header } from "../parts/Header";
import { Outside } from "../parts/Outside";
import { Titled, Warnings } from "../parts/Rest";
import { Section } from "../parts/Section";
import { WideTable } from "../parts/WideTable";
import { inLanguage } from "../language";
import { useView, useWords } from "../view";
import { machineText } from "./CompareView";

export function LabView({ page, lab: stored }: { page: Page; lab: LabResult }) {
  const { words, language } = useView();
  const lab = useMemo(() => inLanguage(stored, language), [stored, language]);
  const t = words.lab;
  const facts: [string, string][] = [
    [t.source, lab.source],
    [t.machineHere, machineText(lab.machine, words) ?? "–"],
    [t.machineThere, lab.published_machine],
    [t.rule, lab.rule],
  ];
  return (
    <>
      <Header><p><Outside text={lab.lab} /></p></Header>
      <main id="main" tabIndex={-1}>
        <section class="answer facts">
          <h1><Outside text={lab.title} /></h1>
          <p class="lead">
            {lab.is_quick && t.quick}{" "}
            {lab.scale !== null && lab.scale !== 1 && t.scale(ratio(lab.scale))}
          </p>
          <dl>
            {facts.map(([name, value]) => (
              <div key={name}><dt>{name}</dt><dd><Outside text={value} /></dd></div>
            ))}
          </dl>
        </section>
        <Conclusions lab={lab} />
        <Runs lab={lab} />
        <Failed lab={lab} />
        <Warnings warnings={lab.warnings} />
      </main>
      <footer>{words.head.madeBy(page.version)}</footer>
    </>
  );
}

function Runs({ lab }: { lab: LabResult }) {
  const words = useWords();
  const figures = labFigures(lab, words);
  const [asked, ask] = useState<LabFigure | null>(null);
  const figure = asked ?? figures[0];
  if (figure === undefined) return null;
  const name = words.lab.figures[figure];
  return (
    <Figure
      id="runs"
      name="lab"
      title={words.lab.runs}
      label={words.labels.lab(name, labRows(lab, figure, words).length)}
      controls={
        <label>
          {words.actions.shown}{" "}
          <select value={figure}
            onChange={(event) => ask(event.currentTarget.value as LabFigure)}>
            {figures.map((it) => (
              <option value={it} key={it}>{words.lab.figures[it]}</option>
            ))}
          </select>
        </label>
      }
      legend={[
        { text: words.lab.measured, colour: "var(--series-1)", as: "symbol", symbol: "●" },
        { text: words.lab.published, colour: "var(--series-2)", as: "symbol", symbol: "◇" },
      ]}
      draw={(look) => drawLab(lab, figure, look)}
      of={[lab, figure]}
      table={() => labTable(lab, figure, words)}
    />
  );
}

function Conclusions({ lab }: { lab: LabResult }) {
  const words = useWords();
  const t = words.columns;
  if (lab.conclusions.length === 0) return null;
  return (
    <Section id="conclusions" title={words.lab.conclusions}>
      {lab.conclusions.map((conclusion, i) => (
        <article class="conclusion card" key={i} data-conclusion={conclusion.holds}>
          <h3>
            <span class={`outcome ${conclusion.holds}`}>
              {words.verdicts[conclusion.holds]}
            </span>{" "}
            <Outside text={conclusion.says} />
          </h3>
          <WideTable title={conclusion.says}>
            <thead>
              <tr>
                <th scope="col">{t.what}</th>
                {[words.lab.measured, "95 %", words.lab.published].map((head) => (
                  <th scope="col" key={head} class="figure">{head}</th>
                ))}
                <th scope="col">{t.needed}</th>
                <th scope="col">{t.holds}</th>
              </tr>
            </thead>
            <tbody>
              {conclusion.evidence.map((it) => (
                <tr key={it.what}>
                  <th scope="row"><Outside text={it.what} /></th>
                  <td class="figure">{it.value === null ? "–" : number(it.value)}</td>
                  <td class="figure">
                    {it.interval === null ? "–" : interval(it.interval, number, words.between)}
                  </td>
                  <td class="figure">{it.published === null ? "–" : number(it.published)}</td>
                  <td>{[
                    it.at_least === null ? null : words.lab.atLeast(number(it.at_least)),
                    it.at_most === null ? null : words.lab.atMost(number(it.at_most)),
                  ].filter((text) => text !== null).join(", ") || "–"}</td>
                  <td><span class={`outcome ${it.holds}`}>{words.verdicts[it.holds]}</span></td>
                </tr>
              ))}
            </tbody>
          </WideTable>
        </article>
      ))}
    </Section>
  );
}

function Failed({ lab }: { lab: LabResult }) {
  const words = useWords();
  const failed = lab.runs.filter((run) => run.failure !== null);
  if (failed.length === 0) return null;
  return (
    <Titled id="failures" title={words.sections.failures} table={{
      name: "failures",
      columns: [
        { key: "run", label: words.columns.run },
        { key: "failure", label: words.columns.why },
      ],
      rows: failed.map((run) => [runName(run, words), run.failure]),
    }} />
  );
}
