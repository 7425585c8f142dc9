// From the element that the program wrote to the values that the page shows.

import type { Page } from "./data";

/** A page of this kind. */
export type PageOf<Kind extends string> = Extract<Page, Record<Kind, unknown>>;

export class CannotShow extends Error {}

/** Base64 of gzip of JSON, as `src/report/page/` writes it. */
export async function decode(text: string): Promise<Page> {
  const binary = atob(text.trim());
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return checked(JSON.parse(await new Response(stream).text()));
}

/** Refuses what another version of the program described differently. */
export function checked(value: unknown): Page {
  const format = (value as { format?: unknown } | null)?.format;
  if (format !== 2) throw new CannotShow(`format ${String(format)}, expected 2`);
  return value as Page;
}
