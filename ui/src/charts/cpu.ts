// What each process of the server used, over a trial.

import * as Plot from "@observablehq/plot";

import type { TrialDetail, TrialRow } from "../data";
import { cores, short } from "../figures";
import { isolated } from "../outside";
import type { Table } from "../table";
import { fill, type Words } from "../words";
import { GRID, series, tagged, warmUp, type Drawn, type Look } from "./common";
import { secondsPlot } from "./seconds";

export type Process = TrialDetail["monitor"]["processes"][number];

export interface CpuPoint {
  at_s: number;
  pid: number;
  name: string;
  cores: number;
  colour: string;
}

/** Workers in their order, then the master and whatever else there is. */
export function processesOf(detail: TrialDetail): Process[] {
  const rank = { worker: 0, master: 1, other: 2 };
  return [...detail.monitor.processes].sort(
    (a, b) => rank[a.role] - rank[b.role] || (a.index ?? 0) - (b.index ?? 0) || a.pid - b.pid,
  );
}

export function processName(process: Process, words: Words): string {
  const { role, index, name } = process;
  if (role === "worker" && index !== null) return fill(words.worker, { index });
  return role === "master" ? words.master : name;
}

export function processColour(process: Process, place: number): string {
  return process.role === "worker" ? series(place) : "var(--muted)";
}

export function cpuRows(detail: TrialDetail): CpuPoint[] {
  return processesOf(detail).flatMap((process, place) =>
    detail.monitor.at_s.map((at_s, i) => ({
      at_s: at_s + 0.5,
      pid: process.pid,
      name: process.name,
      cores: process.cores[i] ?? 0,
      colour: processColour(process, place),
    })),
  );
}

export function cpuTable(trial: TrialRow, detail: TrialDetail, words: Words): Table {
  const processes = processesOf(detail);
  const { monitor } = detail;
  return {
    name: `trial-${trial.id}-cpu`,
    columns: [
      { key: "at_s", label: words.second, format: short },
      ...processes.map((process) => ({
        key: `${process.role}_${process.pid}_cores`,
        label: `${processName(process, words)} (${process.pid})`,
        format: cores,
      })),
      { key: "busy_cores", label: words.machine_busy, format: cores },
      { key: "steal_cores", label: words.steal, format: cores },
      { key: "throttled_cores", label: words.throttled, format: cores },
      { key: "queue", label: words.connections },
    ],
    rows: monitor.at_s.map((at_s, i) => [
      at_s,
      ...processes.map((process) => process.cores[i] ?? null),
      ...[monitor.busy_cores, monitor.steal_cores, monitor.throttled_cores, monitor.queue].map(
        (list) => list[i] ?? null,
      ),
    ]),
  };
}

/** The processes on top of each other. `most`: the machine's cores, where they are known. */
export function drawCpu(
  trial: TrialRow,
  detail: TrialDetail,
  most: number | null,
  look: Look,
): Drawn {
  const rows = cpuRows(detail);
  return secondsPlot(detail, look, {
    height: 220,
    y: { label: look.words.busy_cores, zero: true, nice: true, ticks: 4,
      ...(most === null ? {} : { domain: [0, most] }) },
    marks: [
      Plot.gridY({ ...GRID, ticks: 4 }),
      Plot.areaY(rows, Plot.stackY({ x: "at_s", y: "cores", z: "pid", fill: "colour",
        fillOpacity: 0.85, stroke: "var(--card)", strokeWidth: 0.75,
        ...tagged("process", rows, (row) => ({ pid: row.pid })) })),
      ...warmUp(trial.warm_up_s, look.words),
      Plot.tip(rows, Plot.pointerX(Plot.stackY({ x: "at_s", y: "cores", z: "pid",
        title: (row: CpuPoint) => `${isolated(row.name)} (${row.pid})\n${cores(row.cores)}` }))),
    ],
  });
}

/** Each process on its own line: whether the work is spread evenly. */
export function drawWorkers(trial: TrialRow, detail: TrialDetail, look: Look): Drawn {
  const rows = cpuRows(detail);
  return secondsPlot(detail, look, {
    height: 190,
    y: { label: look.words.busy_cores, zero: true, nice: true, ticks: 4 },
    marks: [
      Plot.gridY({ ...GRID, ticks: 4 }),
      Plot.line(rows, { x: "at_s", y: "cores", z: "pid", stroke: "colour", strokeWidth: 1.5,
        ...tagged("process", rows, (row) => ({ pid: row.pid })) }),
      ...warmUp(trial.warm_up_s, look.words),
      Plot.tip(rows, Plot.pointer({ x: "at_s", y: "cores",
        title: (row: CpuPoint) => `${isolated(row.name)} (${row.pid})\n${cores(row.cores)}` })),
    ],
  });
}
