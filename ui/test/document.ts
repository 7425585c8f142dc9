// The document as the program assembles it (`src/report/page/`): one file, nothing loaded. With
// SWEETSPOT set, the program itself makes it, from a real session (`make record`) or from
// SWEETSPOT_STORE.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

import type { Page } from "../src/data";
import type { PageOf } from "../src/decode";
import { words } from "./words";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

export function bundle(): { script: string; style: string } {
  return {
    script: readFileSync(join(dist, "page.js"), "utf8"),
    style: readFileSync(join(dist, "page.css"), "utf8"),
  };
}

export function packed(page: Page): string {
  return gzipSync(JSON.stringify(page)).toString("base64");
}

/** `data` null: as `serve` hands it out, with its wider policy. */
export function html(data: string | null): string {
  const { script, style } = bundle();
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; ` +
    `img-src data:${data === null ? "; connect-src 'self'" : ""}`;
  const element = data === null ? ""
    : `<script type="application/octet-stream;base64" id="data">${data}</script>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width,initial-scale=1">` +
    `<meta http-equiv="Content-Security-Policy" content="${policy}">` +
    `<title>sweetspot</title><style>${style}</style></head><body>` +
    `<main id="static"><h1>Plain tables</h1></main><div id="page"></div>` +
    `${element}<script id="words" type="application/json">${JSON.stringify(words)}</script>` +
    `<script>${script}</script></body></html>`;
}

const folder = mkdtempSync(join(tmpdir(), "sweetspot-page-"));
let files = 0;

/** The address of a file with this document. */
export function fileOf(text: string): string {
  files += 1;
  const path = join(folder, `${files}.html`);
  writeFileSync(path, text);
  return pathToFileURL(path).href;
}

export function fileOfPage(page: Page): string {
  return fileOf(html(packed(page)));
}

/** The store that the program is asked about: a copy of the recorded one. */
export function store(): string {
  const { SWEETSPOT_STORE } = process.env;
  if (SWEETSPOT_STORE) return SWEETSPOT_STORE;
  const recorded = fileURLToPath(new URL("recorded/demo.db.gz", import.meta.url));
  files += 1;
  const path = join(folder, `${files}.db`);
  writeFileSync(path, gunzipSync(readFileSync(recorded)));
  return path;
}

/** A report that the program wrote, and what it put into it; null where there is no program. */
export function ofProgram(): { address: string; page: PageOf<"session"> } | null {
  const { SWEETSPOT } = process.env;
  if (!SWEETSPOT) return null;
  files += 1;
  const path = join(folder, `${files}.html`);
  execFileSync(SWEETSPOT, ["report", "last", "-q", "--store", store(), "-o", `html=${path}`]);
  const found = /id="?data"?[^>]*>([^<]*)</.exec(readFileSync(path, "utf8"));
  const page = JSON.parse(gunzipSync(Buffer.from(found?.[1] ?? "", "base64")).toString()) as PageOf<"session">;
  return { address: pathToFileURL(path).href, page };
}
