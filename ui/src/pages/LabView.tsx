// A published experiment, measured here and set beside what was published.

import { useMemo, useState } from "preact/hooks";

import { drawLab, labFigureName, labFigures, labRows, labTable, runName, type LabFigure } from
  "../charts/lab";
import type { LabResult, Page } from "../data";
import { interval, number, ratio } from "../figures";
import { Choice } from "../parts/Choice";
import { Figure } from "../parts/Figure";
import { Frame } from "../parts/Header";
import { Outside, Pairs } from "../parts/Outside";
import { Titled, Warnings } from "../parts/Rest";
import { Section } from "../parts/Section";
import { WideTable } from "../parts/WideTable";
import { inLanguage } from "../language";
import { useView, useWords } from "../view";
import { fill } from "../words";
import { machineText } from "./CompareView";

export function LabView({ page, lab: stored }: { page: Page; lab: LabResult }) {
  const { words, language } = useView();
  const lab = useMemo(() => inLanguage(stored, language), [stored, language]);
  const facts: [string, string][] = [
    [words.source, lab.source],
    [words.machine_here, machineText(lab.machine, words) ?? "–"],
    [words.machine_there, lab.published_machine],
    [words.rule, lab.rule],
  ];
  return (
    <Frame about={<p><Outside text={lab.lab} /></p>} version={page.version}>
      <section class="answer facts">
        <h1><Outside text={lab.title} /></h1>
        <p class="lead">
          {lab.is_quick && words.quick}{" "}
          {lab.scale !== null && lab.scale !== 1 &&
            fill(words.scale, { factor: ratio(lab.scale) })}
        </p>
        <Pairs rows={facts} />
      </section>
      <Conclusions lab={lab} />
      <Runs lab={lab} />
      <Failed lab={lab} />
      <Warnings warnings={lab.warnings} />
    </Frame>
  );
}

function Runs({ lab }: { lab: LabResult }) {
  const words = useWords();
  const figures = labFigures(lab, words);
  const [asked, ask] = useState<LabFigure | null>(null);
  const figure = asked ?? figures[0];
  if (figure === undefined) return null;
  const name = labFigureName(figure, words);
  return (
    <Figure
      id="runs"
      name="lab"
      title={words.runs}
      label={fill(words.lab_label, { figure: name, runs: labRows(lab, figure, words).length })}
      controls={<Choice label={words.figure} value={figure} choose={(it) => ask(it as LabFigure)}
        options={figures.map((it) => [it, labFigureName(it, words)])} />}
      legend={[
        { text: words.measured_here, colour: "var(--series-1)", as: "symbol", symbol: "●" },
        { text: words.published, colour: "var(--series-2)", as: "symbol", symbol: "◇" },
      ]}
      draw={(look) => drawLab(lab, figure, look)}
      of={[lab, figure]}
      table={() => labTable(lab, figure, words)}
    />
  );
}

function Conclusions({ lab }: { lab: LabResult }) {
  const words = useWords();
  if (lab.conclusions.length === 0) return null;
  return (
    <Section id="conclusions" title={words.conclusions}>
      {lab.conclusions.map((conclusion, i) => (
        <article class="conclusion card" key={i} data-conclusion={conclusion.holds}>
          <h3>
            <span class={`outcome ${conclusion.holds}`}>
              {words[conclusion.holds]}
            </span>{" "}
            <Outside text={conclusion.says} />
          </h3>
          <WideTable title={conclusion.says}>
            <thead>
              <tr>
                <th scope="col">{words.what}</th>
                {[words.measured_here, "95 %", words.published].map((head) => (
                  <th scope="col" key={head} class="figure">{head}</th>
                ))}
                <th scope="col">{words.needed}</th>
                <th scope="col">{words.holds}</th>
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
                    bound(words.at_least_value, it.at_least),
                    bound(words.at_most_value, it.at_most),
                  ].filter((text) => text !== null).join(", ") || "–"}</td>
                  <td><span class={`outcome ${it.holds}`}>{words[it.holds]}</span></td>
                </tr>
              ))}
            </tbody>
          </WideTable>
        </article>
      ))}
    </Section>
  );
}

function bound(sentence: string, value: number | null): string | null {
  return value === null ? null : fill(sentence, { value: number(value) });
}

function Failed({ lab }: { lab: LabResult }) {
  const words = useWords();
  const failed = lab.runs.filter((run) => run.failure !== null);
  return (
    <Titled id="failures" title={words.failures}
      columns={[
        { key: "run", label: words.run },
        { key: "failure", label: words.why },
      ]}
      rows={failed.map((run) => [runName(run, words), run.failure])} />
  );
}
