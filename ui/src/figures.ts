// Figures as people read them: three significant digits, the unit beside them. The rules are those
// of `src/report/figures.rs`: the page and the terminal print a figure alike.

import { fill } from "./words";

/** Of 95 %: from, to. */
export type Interval = [number, number];

/** `412`, `41.2`, `4.12`: three significant digits, at most two decimals. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "?";
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

/** As `number`, without zeros at the end: for axes and settings. */
export function short(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "?";
}

/** Requests a second: `412/s`. */
export function rate(perSecond: number): string {
  return `${number(perSecond)}/s`;
}

/** A ratio around one, always with two decimals: `1.53`. */
export function ratio(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : "?";
}

/** The change that a ratio means: `+53 %`, `-4 %`, `0 %`. */
export function change(value: number): string {
  const percent = Math.round((value - 1) * 100);
  if (!Number.isFinite(percent)) return "?";
  if (percent === 0) return "0 %";
  return `${percent > 0 ? "+" : ""}${percent} %`;
}

/** A share as a percentage: `97 %`; below ten with a decimal: `0.3 %`; what is not none never reads
 * as none: `<0.01 %`. */
export function percent(share: number): string {
  const value = share * 100;
  if (!Number.isFinite(value)) return "?";
  if (value === 0) return "0 %";
  if (value >= 9.95) return `${value.toFixed(0)} %`;
  if (value >= 0.095) return `${value.toFixed(1)} %`;
  if (value > 0 && value < 0.005) return "<0.01 %";
  return `${value.toFixed(2)} %`;
}

/** A quantile as its axis names it: `90 %`, `99.9 %`, never rounded up to 100 %. */
export function quantile(value: number): string {
  return `${Number((value * 100).toFixed(6))} %`;
}

/** A short time such as a latency: `0.52 ms`, `3.8 ms`, `38 ms`, `1.24 s`. */
export function latency(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  if (seconds >= 0.9995) return `${seconds.toFixed(2)} s`;
  if (seconds >= 0.00995) return `${(seconds * 1e3).toFixed(0)} ms`;
  if (seconds >= 0.000995) return `${(seconds * 1e3).toFixed(1)} ms`;
  return `${(seconds * 1e3).toFixed(2)} ms`;
}

/** A latency at a tick of an axis: `1 ms`, `200 ms`, `2 s`. */
export function tick(seconds: number): string {
  return seconds >= 1 ? `${short(seconds)} s` : `${short(seconds * 1e3)} ms`;
}

/** A long time: `48 s`, `6 min 12 s`, `2 h 5 min`. */
export function span(seconds: number): string {
  const total = Number.isFinite(seconds) ? Math.round(Math.max(0, seconds)) : 0;
  const [h, m, s] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  if (h > 0) return m === 0 ? `${h} h` : `${h} h ${m} min`;
  if (m > 0) return s === 0 ? `${m} min` : `${m} min ${s} s`;
  return `${s} s`;
}

/** Memory: `412 MiB`, `23.5 GiB`. */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return "?";
  if (value >= 1024 ** 3) return `${(value / 1024 ** 3).toFixed(1)} GiB`;
  if (value >= 1024 ** 2) return `${(value / 1024 ** 2).toFixed(0)} MiB`;
  if (value >= 1024) return `${(value / 1024).toFixed(0)} KiB`;
  return `${value.toFixed(0)} B`;
}

/** Busy cores: `1.84`. */
export function cores(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : "?";
}

/** A whole number with its thousands apart: `12 345`. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Each once, the least first. */
export function distinct(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** An RFC 3339 time as the reader's clock shows it; the text itself where it isn't one. */
export function moment(text: string, language: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  return time.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}

/** Both ends in one text; `between`: as the language puts them together. */
export function interval(
  bounds: Interval,
  format: (value: number) => string,
  between: string,
): string {
  return fill(between, { low: format(bounds[0]), high: format(bounds[1]) });
}
