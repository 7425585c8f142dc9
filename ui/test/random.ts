// Chance that is the same every time: what a fixture is made from.

export type Random = () => number;

/** Mulberry32: numbers from 0 to 1. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Around one, with about this relative spread. */
export function around(random: Random, spread: number): number {
  return 1 + spread * (random() + random() + random() - 1.5) * 1.15;
}

export function round(value: number, digits = 4): number {
  return Number(value.toPrecision(digits));
}
