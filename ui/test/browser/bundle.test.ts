// What the program puts into its document: one classic script that can stand inline and runs under
// a policy without eval, one style sheet, both small.

import { expect, test } from "vitest";

import { bundle } from "../document";

const { script, style } = bundle();

test("both together are well under a megabyte", () => {
  expect(script.length + style.length).toBeLessThan(1_000_000);
});

test("neither can end the element that it stands in", () => {
  expect(script.toLowerCase()).not.toContain("</script");
  expect(script).not.toContain("<!--");
  expect(style.toLowerCase()).not.toContain("</style");
});

test("the script makes no code from text and loads nothing", () => {
  expect(script).not.toMatch(/\beval\(|new Function\(|\bimport\(|importScripts|document\.write/);
  expect(script).not.toMatch(/createElement\("(script|link|iframe)"\)/);
  expect(script).not.toContain("XMLHttpRequest");
  expect(style).not.toMatch(/@import|url\(/);
});

test("the only addresses in it are names of things, and the few it asks of serve", () => {
  const addresses = new Set(script.match(/https?:\/\/[^"'`\s)]+/g) ?? []);
  for (const address of addresses) expect(address).toMatch(/^http:\/\/www\.w3\.org\//);
});
